"""junit.xml: one test case per gate, so that CI systems show verdicts as tests."""

import re
from pathlib import Path
from xml.etree import ElementTree

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
        case = ElementTree.SubElement(suite, "testcase", classname="stilltrue.gates", name=_legal(one.gate))
        if one.verdict != "pass":
            tag = "failure" if one.verdict == "fail" else "skipped"
            ElementTree.SubElement(case, tag, message=_legal(one.reason))
    path = folder / "junit.xml"
    ElementTree.indent(suite)
    path.write_bytes(ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True) + b"\n")
    return path


def _legal(text: str) -> str:
    """The text without the characters that XML 1.0 can't hold."""
    return re.sub("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
