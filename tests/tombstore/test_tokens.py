"""The original's tokens (SPEC 3.3): lower-cased ASCII runs of two or more characters, without 37 stop words."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tombstore.tokens import STOP_WORDS, tokenize


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        ("The billing moved to Polar.", ["billing", "moved", "polar"]),
        ("port port PORT", ["port", "port", "port"]),  # repeats stay, in order
        ("v2.10.3", ["v2", "10"]),
        ("a b c 1 2 xy", ["xy"]),
        ("it is what it is", ["what"]),
        ("café naïve", ["caf", "na", "ve"]),  # accents split words
        ("数据库 база", []),
        ("snake_case-and/or", ["snake", "case"]),
        ("rollback Rollbacks", ["rollback", "rollbacks"]),  # no stemming
        ("\u0130stanbul", ["istanbul"]),  # U+0130 becomes a plain i
        ("\u212aelvin", ["kelvin"]),  # the Kelvin sign lower-cases to ASCII
        ("don't", ["don"]),
        ("e\u0301t\u00c9", []),
        ("one\x00two\nthree", ["one", "two", "three"]),
        ("\u0661\u0662 \uff41\uff42", []),  # digits and letters of other alphabets
    ],
)
def test_tokens(text: str, tokens: list[str]) -> None:
    assert tokenize(text) == tokens


def test_the_stop_words_are_the_originals_37() -> None:
    listed = (
        "a an the is it in on at to for of and or but not with this that was are be by as from up has had have its my"
        " me we he she they you i"
    )
    assert frozenset(listed.split()) == STOP_WORDS
    assert tokenize(listed) == tokenize(listed.upper()) == []


@given(st.text())
def test_tokens_come_in_order_out_of_the_lower_cased_text(text: str) -> None:
    tokens, lowered = tokenize(text), text.replace("\u0130", "i").lower()
    assert all(re.fullmatch("[a-z0-9]{2,}", token) and token not in STOP_WORDS for token in tokens)
    place = 0
    for token in tokens:
        place = lowered.index(token, place) + len(token)


@given(st.text(), st.text())
def test_a_space_between_two_texts_joins_their_tokens(one: str, other: str) -> None:
    assert tokenize(f"{one} {other}") == tokenize(one) + tokenize(other)
