"""junit.xml: one test case per gate, so that CI systems show verdicts as tests."""

from pathlib import Path
from xml.etree import ElementTree

from stilltrue.report.tables import legal
from stilltrue.results import Results


def write(results: Results, folder: Path) -> Path:
    """Write the file."""
    verdicts = results.verdicts
    suite = ElementTree.Element(
        "testsuite",
        name="stilltrue",
        tests=str(len(verdicts)),
        failures=str(sum(one.verdict == "fail" for one in verdicts)),
        skipped=str(sum(one.verdict == "inconclusive" for one in verdicts)),
    )
    for one in verdicts:
        case = ElementTree.SubElement(suite, "testcase", classname="stilltrue.gates", name=legal(one.gate))
        if one.verdict != "pass":
            tag = "failure" if one.verdict == "fail" else "skipped"
            ElementTree.SubElement(case, tag, message=legal(one.reason))
    path = folder / "junit.xml"
    ElementTree.indent(suite)
    path.write_bytes(ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True) + b"\n")
    return path
