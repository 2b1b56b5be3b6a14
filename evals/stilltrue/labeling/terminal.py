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
    "[?] {doubt} on/off   [n]ote   [b]ack   s[k]ip   [q]uit (every label is saved)"
)


class Terminal:
    """A labelling session. ``key`` waits for one key, ``ask`` for a line; both are injected.

    ``review`` goes through all pairs once, labelled ones too, instead of the open ones.
    """

    def __init__(
        self,
        sheet: Sheet,
        annotator: str,
        *,
        console: Console,
        key: Callable[[], str],
        ask: Callable[[str], str],
        review: bool = False,
    ) -> None:
        self._sheet = sheet
        self._annotator = annotator
        self._console = console
        self._key = key
        self._ask = ask
        self._review = review
        self._doubt = False
        self._note = ""

    def run(self) -> None:
        """Show one open pair after the other until none is open or the user quits; skipped ones come again."""
        place = self._next(-1)
        while place is not None:
            self._show(place)
            place = self._handled(place)

    def _next(self, place: int) -> int | None:
        """The open pair behind this one, or else the first open one."""
        open_ = self._sheet.assigned(self._annotator) if self._review else self._sheet.open(self._annotator)
        return next((one for one in open_ if one > place), open_[0] if open_ and not self._review else None)

    def _previous(self, place: int) -> int:
        """The pair before this one, labelled or not."""
        return max((one for one in self._sheet.assigned(self._annotator) if one < place), default=place)

    def _handled(self, place: int) -> int | None:
        """Which pair comes after this one; None to end."""
        while True:
            match self._key().lower():
                case key if key in KEYS:
                    if self._label(place, KEYS[key]):
                        return self._next(place)
                case "?":
                    self._doubt = not self._doubt
                    self._console.print(escape(self._state()))
                case "n":
                    self._note = self._ask("note: ").strip()
                    self._console.print(escape(self._state()))
                case "b":
                    return self._previous(place)
                case "k":
                    return self._next(place)
                case "q" | "\x03" | "\x04":
                    return None
                case key:
                    self._console.print(escape(f"{visible(key)!r} is no key here"), escape(self._help()), sep="\n")

    def _label(self, place: int, relation: Relation) -> bool:
        """Whether the label is set: an adjudication without a reason isn't."""
        if self._annotator == ADJUDICATED and not self._note:
            self._note = self._ask("reason: ").strip()
            if not self._note:
                self._console.print("not saved: whoever adjudicates writes a reason")
                return False
        given = Given(relation=relation, should_retire=relation in RETIRING, doubt=self._doubt, note=self._note)
        self._sheet.label(place, self._annotator, given)
        return True

    def _help(self) -> str:
        return HELP.format(doubt=self._doubt_is)

    @property
    def _doubt_is(self) -> str:
        """What a doubt of the adjudicator says is that the text allows both answers."""
        return "ambiguous" if self._annotator == ADJUDICATED else "doubt"

    def _state(self) -> str:
        """What the next label will carry."""
        note = f", note: {visible(self._note)}" if self._note else ""
        return f"{self._doubt_is} {'on' if self._doubt else 'off'}{note}"

    def _show(self, place: int) -> None:
        self._doubt, self._note = False, ""
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
        self._console.print(escape(self._help()))


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
