"""How texts become tokens, for every lexical signal: the original's rule (SPEC 3.3)."""

import re

# The original's list; "i" and "a" would fall to the length rule anyway.
STOP_WORDS = frozenset(
    "a an the is it in on at to for of and or but not with this that was are be by as from up has had have its my me we"
    " he she they you i".split()
)
_WORD = re.compile("[a-z0-9]{2,}")


def tokenize(text: str) -> list[str]:
    """Lower-cased runs of ASCII letters and digits, in order, with repeats, without stop words and single characters.

    Lower-casing goes code point by code point as in Go: U+0130 becomes a plain ``i``, without a combining dot.
    """
    lowered = text.replace("\u0130", "i").lower()
    return [token for token in _WORD.findall(lowered) if token not in STOP_WORDS]
