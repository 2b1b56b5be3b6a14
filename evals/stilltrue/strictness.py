"""What is legal in a suite and still makes it a poor ruler: each as one line, for ``stilltrue validate --strict``."""

from collections.abc import Iterator

from stilltrue.records import Family
from stilltrue.scenarios import Suite

FEWEST_SCENARIOS = 6


def warnings(suite: Suite) -> list[str]:
    """Everything to mend before figures of this suite are published."""
    by_hand = [family for family in suite.families if family.generated is None]
    return [*(line for family in by_hand for line in _of_family(family)), *_repeated(by_hand)]


def _of_family(family: Family) -> Iterator[str]:
    if len(family.scenarios) < FEWEST_SCENARIOS:
        number = len(family.scenarios)
        yield f"{family.family}: {number} scenarios, expected at least {FEWEST_SCENARIOS} for an interval worth having"
    if not family.weaknesses:
        yield f"{family.family}: no `weaknesses`: say what the family can't show"
    for scenario in family.scenarios:
        asks = [step.ask for step in scenario.steps if step.ask]
        for number, ask in enumerate(asks, start=1):
            if not (ask.gold or ask.forbidden or ask.implied):
                yield f"{family.family}/{scenario.id}#{number}: neither gold nor forbidden: nothing can be scored"


def _repeated(families: list[Family]) -> Iterator[str]:
    """Texts that two scenarios share: whoever copies one scenario to make another measures the same thing twice."""
    first: dict[str, str] = {}
    for family in families:
        for scenario in family.scenarios:
            here = f"{family.family}/{scenario.id}"
            told = {one.text for step in scenario.steps if (one := step.remember or step.update)}
            for text in sorted(told):
                if (there := first.setdefault(text, here)) != here:
                    yield f"{here}: tells a fact that {there} tells too: {text!r}"
