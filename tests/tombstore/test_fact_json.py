"""A fact's JSON goes in and out as GrayMatter wrote it, byte for byte: keys, order, number and string forms."""

import json
import math
from array import array
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tombstore import Fact, InvalidFact, MemoryStore, fact_from_json, fact_to_json, parse_instant
from tombstore.clock import ZERO_TIME

V0_9_0 = (
    '{"id":"01K39Z8E8QKX6TJ6X3Y7V0Z9QW","agent_id":"ann","text":"We use Lemon Squeezy for billing.",'
    '"created_at":"2026-08-22T09:15:00.123456789Z","accessed_at":"2026-08-22T10:00:00.5Z","access_count":3,"weight":1}'
)
V0_10 = (
    '{"id":"01K39Z8E8QKX6TJ6X3Y7V0Z9QW","agent_id":"ann","text":"We use Lemon Squeezy for billing.",'
    '"created_at":"2026-08-22T09:15:00Z","accessed_at":"2026-08-22T10:00:00Z","access_count":0,"weight":0.125,'
    '"embedding":[0.1,-0.25,2.4285715],"superseded_by":"01K3A0M2V4B7N8P9Q0R1S2T3V4"}'
)
V0_14 = (
    '{"id":"01K39Z8E8QKX6TJ6X3Y7V0Z9QW","agent_id":"__shared__","text":"Releases go out on Tuesdays.",'
    '"created_at":"2026-08-25T00:00:00Z","accessed_at":"2026-08-25T00:00:00Z","access_count":0,"weight":1,'
    '"confidence":"verified","pinned_at":"0001-01-01T00:00:00Z"}'
)
V0_19 = (
    '{"id":"01K39Z8E8QKX6TJ6X3Y7V0Z9QW","agent_id":"ann","text":"alias: billing = invoices, payments",'
    '"created_at":"2026-09-06T00:00:00Z","accessed_at":"2026-09-06T00:00:00Z","access_count":0,"weight":1,'
    '"superseded_by":"agent","confidence":"inferred","kind":"alias","alias_source":"usage","pinned":true,'
    '"pinned_at":"2026-09-07T08:00:00.25Z"}'
)
HEAD = '{"id":"f1","agent_id":"ann","text":"'
TAIL = (
    '","created_at":"2026-03-01T00:00:00Z","accessed_at":"2026-03-01T00:00:00Z","access_count":0,"weight":1,'
    '"pinned_at":"0001-01-01T00:00:00Z"'
)
MIDNIGHT = parse_instant("2026-03-01T00:00:00Z")


def written(**fields: Any) -> str:
    values = {"id": "f1", "agent_id": "ann", "text": "", "created_at": MIDNIGHT, "accessed_at": MIDNIGHT}
    return fact_to_json(Fact(**{**values, **fields}))


@pytest.mark.parametrize("line", [V0_9_0, V0_10, V0_14, V0_19], ids=["0.9.0", "0.10", "0.14", "0.19"])
def test_a_fact_of_each_version_goes_in_and_out_byte_for_byte(line: str) -> None:
    assert fact_to_json(fact_from_json(line)) == line
    assert fact_to_json(fact_from_json(line.encode())) == line


@pytest.mark.parametrize("line", [V0_9_0, V0_10, V0_14, V0_19], ids=["0.9.0", "0.10", "0.14", "0.19"])
def test_and_through_a_stores_file_too(line: str, store: MemoryStore) -> None:
    fact = fact_from_json(line)
    store.import_facts([fact])
    assert fact_to_json(store.get(fact.agent_id, fact.id)) == line


def test_a_fact_of_0_9_0_is_live_unpinned_and_content() -> None:
    fact = fact_from_json(V0_9_0)
    assert (fact.live, fact.pinned, fact.kind, fact.pinned_at) == (True, False, "", None)
    assert fact.created_at - parse_instant("2026-08-22T09:15:00Z") == 123_456_789
    assert (fact.access_count, fact.weight, fact.embedding) == (3, 1.0, None)


def test_a_new_fact_is_written_as_since_0_14_without_the_keys_that_are_empty() -> None:
    assert written(pinned_at=ZERO_TIME) == HEAD + TAIL + "}"


def test_unknown_keys_are_kept_behind_the_known_ones() -> None:
    line = HEAD + TAIL + ',"zeta":{"deep":[1,2.5,null,true,"\\u003cb\\u003e"]},"alpha":[]}'
    fact = fact_from_json(line)
    assert list(fact.extra) == ["zeta", "alpha"]
    assert fact.extra["zeta"] == {"deep": [1, 2.5, None, True, "<b>"]}
    assert fact_to_json(fact) == line


def test_missing_keys_take_gos_zero_values() -> None:
    fact = fact_from_json('{"id":"f1"}')
    assert (fact.agent_id, fact.text, fact.access_count, fact.weight) == ("", "", 0, 0.0)
    assert fact.created_at == fact.accessed_at == ZERO_TIME
    assert fact.live


def test_null_counts_as_missing_for_a_known_key_and_stays_for_an_unknown_one() -> None:
    fact = fact_from_json('{"id":"f1","text":null,"embedding":null,"pinned_at":null,"other":null}')
    assert (fact.text, fact.embedding, fact.pinned_at, fact.extra) == ("", None, None, {"other": None})


@pytest.mark.parametrize(
    ("weight", "text"),
    [
        (1.0, "1"),
        (0.0, "0"),
        (0.5, "0.5"),
        (0.1 + 0.2, "0.30000000000000004"),
        (1e-6, "0.000001"),
        (9.5e-7, "9.5e-7"),
        (1e-7, "1e-7"),
        (1.25e-10, "1.25e-10"),
        (5e-324, "5e-324"),
        (123456789.0, "123456789"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1.5e300, "1.5e+300"),
        (-1e-7, "-1e-7"),
        (-0.0, "-0"),
    ],
)
def test_a_number_has_the_shortest_form_as_go_writes_it(weight: float, text: str) -> None:
    assert f'"weight":{text}}}' in written(weight=weight)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, "0.1"),  # 0.10000000149011612 as a 64-bit number
        (1 / 3, "0.33333334"),
        (16777216.0, "16777216"),
        (1e-6, "0.000001"),  # as a 64-bit number slightly less, which would be 9.999999974752427e-07
        (1e-7, "1e-7"),
        (1e21, "1e+21"),
        (3.4028234663852886e38, "3.4028235e+38"),
        (1.401298464324817e-45, "1e-45"),
        (-0.0, "-0"),
        (1.0, "1"),
    ],
)
def test_an_embeddings_numbers_are_shortest_for_32_bits(value: float, text: str) -> None:
    assert f'"embedding":[{text}]}}' in written(embedding=array("f", [value]))


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ('<b>&"\\/', '\\u003cb\\u003e\\u0026\\"\\\\/'),
        ("\u2028\u2029", "\\u2028\\u2029"),
        ("\n\r\t", "\\n\\r\\t"),
        ("\x00\x1f", "\\u0000\\u001f"),
        ("\x7fé数🦭", "\x7fé数🦭"),
    ],
)
def test_a_string_is_escaped_as_go_does_it(text: str, inside: str) -> None:
    assert written(text=text, pinned_at=ZERO_TIME) == HEAD + inside + TAIL + "}"


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"caf\xe9", "caf\ufffd"),
        (b"\xe2\x82", "\ufffd\ufffd"),  # one for each byte, as in Go, not one for the broken sequence
        (b"\xed\xa0\x80", "\ufffd\ufffd\ufffd"),
        (b"\\ud800", "\ufffd"),  # an unpaired surrogate
        (b"\\ud83e\\uddad", "\U0001f9ad"),  # a pair
    ],
)
def test_what_is_not_unicode_becomes_the_replacement_character(raw: bytes, text: str, store: MemoryStore) -> None:
    fact = fact_from_json(HEAD.encode() + raw + TAIL.encode() + b',"other":["' + raw + b'"]}')
    assert (fact.text, fact.extra) == (text, {"other": [text]})
    store.import_facts([fact])
    assert store.get("ann", "f1") == fact


def test_a_text_with_an_unpaired_surrogate_can_be_put(store: MemoryStore) -> None:
    assert store.put("ann", "half \ud83e of it").text == store.list_facts()[0].text == "half \ufffd of it"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("id", 7),
        ("agent_id", ["ann"]),
        ("text", 1.5),
        ("created_at", "yesterday"),
        ("created_at", 0),
        ("accessed_at", "2026-03-01"),
        ("accessed_at", "9999-12-31T23:59:59-01:00"),
        ("access_count", 1.5),
        ("access_count", True),
        ("access_count", "3"),
        ("access_count", 2**63),
        ("weight", "1"),
        ("weight", True),
        ("weight", math.nan),
        ("weight", 10**400),
        ("embedding", 1),
        ("embedding", [0.1, "x"]),
        ("embedding", [True]),
        ("embedding", [1e39]),
        ("embedding", [math.inf]),
        ("superseded_by", False),
        ("confidence", 1),
        ("kind", {}),
        ("alias_source", []),
        ("pinned", 1),
        ("pinned_at", "soon"),
        ("an_unknown_key", [{"inside": math.inf}]),
    ],
)
def test_a_value_of_another_type_or_range_is_refused_with_its_key(key: str, value: Any) -> None:
    record = {"id": "f1", "agent_id": "ann", "text": "t", key: value}
    with pytest.raises(InvalidFact, match=rf"\b{key}\b"):
        fact_from_json(record)
    with pytest.raises(InvalidFact, match=rf"\b{key}\b"):
        fact_from_json(json.dumps(record))


@pytest.mark.parametrize("value", ["", "{", "[]", "7", "null", '"text"', b"\xff", "[" * 100_000, 7, None, ["f1"]])
def test_what_is_no_json_object_is_refused(value: Any) -> None:
    with pytest.raises(InvalidFact, match="JSON"):
        fact_from_json(value)


@pytest.mark.parametrize("value", ["{}", '{"id":""}', '{"id":null}'])
def test_a_fact_needs_an_id(value: str) -> None:
    with pytest.raises(InvalidFact, match="id"):
        fact_from_json(value)


def test_an_invalid_fact_is_a_value_error() -> None:
    assert issubclass(InvalidFact, ValueError)


INSTANTS = st.integers(ZERO_TIME, parse_instant("9999-12-31T23:59:59Z"))
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
# Up to 2**53: a whole number beyond is read again as an integer, of which JSON holds the shortest form only.
NUMBERS = st.integers() | st.floats(-(2.0**53), 2.0**53)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | WORDS,
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(WORDS, inside, max_size=3),
    max_leaves=6,
)
EMBEDDINGS = st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=5)
KNOWN = {key for line in (V0_9_0, V0_10, V0_19) for key in json.loads(line)}


@st.composite
def facts(draw: st.DrawFn) -> Fact:
    return Fact(
        id=draw(WORDS.filter(lambda text: text and "\0" not in text)),
        agent_id=draw(WORDS.filter(bool)),
        text=draw(WORDS),
        created_at=draw(INSTANTS),
        accessed_at=draw(INSTANTS),
        access_count=draw(st.integers(-(2**63), 2**63 - 1)),
        weight=draw(st.floats(allow_nan=False, allow_infinity=False)) + 0.0,  # SQLite has no negative zero
        embedding=draw(st.none() | EMBEDDINGS.map(lambda numbers: array("f", numbers))),
        superseded_by=draw(WORDS),
        confidence=draw(WORDS),
        kind=draw(WORDS),
        alias_source=draw(WORDS),
        pinned=draw(st.booleans()),
        pinned_at=draw(st.none() | INSTANTS),
        extra=draw(st.dictionaries(WORDS.filter(lambda key: key not in KNOWN), JSON_VALUES, max_size=3)),
    )


@given(facts())
@example(Fact(id="f1", agent_id="ann", text="", created_at=0, accessed_at=0, embedding=array("f", [-0.0])))
def test_every_fact_survives_json_and_a_stores_file(fact: Fact) -> None:
    line = fact_to_json(fact)
    assert fact_from_json(line) == fact
    assert fact_to_json(fact_from_json(line)) == line
    assert json.loads(fact_to_json(fact, "  ")) == json.loads(line)
    with MemoryStore() as store:
        store.import_facts([fact])
        assert store.list_facts() == [fact]
        assert store.get(fact.agent_id, fact.id) == fact
        assert fact_to_json(store.list_facts()[0]) == line
