"""One pair at a time on a terminal: a key a relation, back, skip, doubt, note; every label is saved at once."""

from collections.abc import Callable

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel

from stilltrue.labeling.sheet import ADJUDICATED, Given, Item, Sheet
from stilltrue.pairs import RETIRING, Relation

KEYS: dict[str, Relation] = {
    "s": "supersedes",
    "c": "contradicts",
    "r": "refines",
    "o": "coexists",
    "d": "duplicate",
    "u": "unrelated",
}
"""Keys of the relations; ``s`` and ``c`` retire the older fact."""

HELP = (
    "older must go:  [s]upersedes (the world changed)  [c]ontradicts (it was never right)\n"
    "both may stay:  [r]efines  c[o]exists  [d]uplicate  [u]nrelated\n"
    "[?] doubt on/off   [n]ote   [b]ack   s[k]ip   [q]uit (everything is saved)"
)


class Terminal:
    """A labelling session. ``key`` waits for one key, ``ask`` for a line; both are injected."""

    def __init__(
        self, sheet: Sheet, annotator: str, *, console: Console, key: Callable[[], str], ask: Callable[[str], str]
    ) -> None:
        self._sheet = sheet
        self._annotator = annotator
        self._console = console
        self._key = key
        self._ask = ask
        self._doubt = False
        self._note = ""

    def run(self) -> None:
        """Go through the open pairs, first those not seen yet, until all are labelled or skipped, or the user quits."""
        queue, place = self._sheet.open(self._annotator), 0
        while place < len(queue):
            self._show(queue[place])
            step = self._handled(queue[place])
            if step is None:
                return
            place = max(0, place + step)

    def _handled(self, place: int) -> int | None:
        """Where to go after this pair: 1 on, -1 back, None to quit."""
        while True:
            match self._key().lower():
                case key if key in KEYS:
                    self._label(place, KEYS[key])
                    return self._reset(1)
                case "?":
                    self._doubt = not self._doubt
                    self._console.print(f"doubt {'on' if self._doubt else 'off'}")
                case "n":
                    self._note = self._ask("note: ").strip()
                case "b":
                    return self._reset(-1)
                case "k":
                    return self._reset(1)
                case "q" | "\x03" | "\x04":
                    return self._reset(None)
                case _:
                    self._console.print(escape(HELP))

    def _reset(self, step: int | None) -> int | None:
        self._doubt, self._note = False, ""
        return step

    def _label(self, place: int, relation: Relation) -> None:
        given = Given(relation=relation, should_retire=relation in RETIRING, doubt=self._doubt, note=self._note)
        self._sheet.label(place, self._annotator, given)

    def _show(self, place: int) -> None:
        item, total = self._sheet.items[place], len(self._sheet.items)
        left = len(self._sheet.open(self._annotator))
        self._console.rule(f"pair {place + 1} of {total}, {left} open, for {escape(visible(self._annotator))}")
        for name, statement in (("older", item.older), ("newer", item.newer)):
            when = f"{statement.at:%Y-%m-%d %H:%M}" if statement.at else ""
            self._console.print(Panel(escape(visible(statement.text)), title=f"{name} {when}", title_align="left"))
        if self._annotator == ADJUDICATED:
            self._console.print(escape(told(item)))
        elif (before := item.labels.get(self._annotator)) is not None:
            self._console.print(f"labelled before: {before.relation}{', in doubt' if before.doubt else ''}")
        self._console.print(escape(HELP))


def told(item: Item) -> str:
    """What each annotator said, a line each, for whoever adjudicates."""
    return "\n".join(
        f"{visible(name)}: {label.relation}{', in doubt' if label.doubt else ''}"
        f"{f' ({visible(label.note)})' if label.note else ''}"
        for name, label in item.labels.items()
        if name != ADJUDICATED
    )


def visible(text: str) -> str:
    """The text without characters that would steer a terminal; line breaks stay."""
    return "".join(c if c.isprintable() or c == "\n" else f"\\x{ord(c):02x}" for c in text)
