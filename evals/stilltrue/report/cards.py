"""The scenario families' cards as Markdown, made from the data: what is in each, where seen, what it can't show."""

from stilltrue.report.markdown import escaped, table
from stilltrue.scenarios import Suite, counts


def cards(suite: Suite) -> str:
    """One page: a table of all families, then a card for each."""
    counted = [(family, counts(family)) for family in suite.families]
    head = ("family", "corrections", "scenarios", "queries", "facts", "question")
    rows = [
        (one.family, one.corrections, str(one.scenarios), str(one.queries), str(one.facts), one.question)
        for _, one in counted
    ]
    totals = [str(sum(getattr(one, what) for _, one in counted)) for what in ("scenarios", "queries", "facts")]
    lines = [
        "# Cards of the scenario families",
        "",
        "Made by `stilltrue list scenarios --markdown`; a test compares. What holds for all of them stands in",
        "[CARD.md](../CARD.md). Facts: those that the scenarios tell themselves, backgrounds apart.",
        "",
        *table(head, [*rows, ("all", "", *totals, "")]),
    ]
    for family, one in counted:
        lines += [
            "",
            f"## {one.family}",
            "",
            escaped(one.question),
            "",
            f"* **Size:** {one.scenarios} scenarios, {one.queries} queries, {one.facts} facts.",
            f"* **Languages:** {_listed(one.languages)}.",
            f"* **Domains:** {_listed(one.domains)}.",
            f"* **Corrections:** {one.corrections}. **Must reveal:** {_listed(family.reveals)}.",
            f"* **Seen in:** {_listed(one.seen_in) or 'no public report known'}.",
            f"* **Weaknesses:** {escaped(family.weaknesses)}",
        ]
    return "\n".join(lines) + "\n"


def _listed(values: tuple[str, ...]) -> str:
    return escaped(", ".join(values))
