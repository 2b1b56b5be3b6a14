"""Instants are whole nanoseconds, read and written as Go's RFC 3339; the clock that is injected stands still."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tombstore import ManualClock, format_instant, parse_instant
from tombstore.clock import HOUR, SECOND, ZERO_TIME, system_clock

YEAR_1 = parse_instant("0001-01-01T00:00:00Z")
YEAR_9999 = parse_instant("9999-12-31T23:59:59.999999999Z")


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:00.000000001Z", 1),
        ("1969-12-31T23:59:59.999999999Z", -1),
        ("1970-01-02T00:00:00+01:00", 23 * HOUR),
        ("1970-01-01T00:00:00-00:30", HOUR // 2),
        ("1970-01-01t00:00:01z", SECOND),
        ("1970-01-01T00:00:00.5Z", SECOND // 2),
        ("1970-01-01T00:00:00.1234567899Z", 123_456_789),  # what is finer than a nanosecond is cut off, as in Go
        ("2000-01-01T00:00:00Z", 946_684_800 * SECOND),
        ("0001-01-01T00:00:00Z", -62_135_596_800 * SECOND),
    ],
)
def test_an_rfc_3339_text_names_an_instant(text: str, nanoseconds: int) -> None:
    assert parse_instant(text) == nanoseconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-03-01",
        "2026-03-01T00:00:00",  # no zone
        "2026-03-01 00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-02-29T00:00:00Z",
        "2026-03-01T00:00:60Z",
        "2026-03-01T00:00:00.Z",
        "2026-03-01T00:00:00Z\n",
        "2026-03-01T00:00:00.\u0661Z",  # an Arabic digit
        "9999-12-31T23:59:59-01:00",  # year 10000 in UTC
        "0001-01-01T00:00:00+01:00",  # before year 1 in UTC
    ],
)
def test_anything_else_is_a_value_error_that_quotes_it(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(text))):
        parse_instant(text)


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (120_000_000, "1970-01-01T00:00:00.12Z"),
        (1, "1970-01-01T00:00:00.000000001Z"),
        (-1, "1969-12-31T23:59:59.999999999Z"),
        (ZERO_TIME, "0001-01-01T00:00:00Z"),
    ],
)
def test_an_instant_is_written_without_trailing_zeros(nanoseconds: int, text: str) -> None:
    assert format_instant(nanoseconds) == text


def test_a_fixed_number_of_digits_keeps_trailing_zeros() -> None:
    assert format_instant(120_000_000, digits=9) == "1970-01-01T00:00:00.120000000Z"
    assert format_instant(129_999_999, digits=2) == "1970-01-01T00:00:00.12Z"
    assert format_instant(999_999_999, digits=0) == "1970-01-01T00:00:00Z"


@given(st.integers(YEAR_1, YEAR_9999))
def test_every_instant_from_year_1_to_9999_survives_being_written_and_read(at: int) -> None:
    assert parse_instant(format_instant(at)) == at
    assert parse_instant(format_instant(at, digits=9)) == at


@given(st.integers(YEAR_1, YEAR_9999), st.integers(YEAR_1, YEAR_9999))
def test_nine_digits_sort_as_text_as_they_do_in_time(one: int, other: int) -> None:
    assert (format_instant(one, digits=9) < format_instant(other, digits=9)) == (one < other)


def test_a_manual_clock_moves_only_when_told() -> None:
    clock = ManualClock("2026-03-01T00:00:00Z")
    assert clock() == clock() == parse_instant("2026-03-01T00:00:00Z")
    clock.advance(hours=1.5, seconds=2)
    assert format_instant(clock()) == "2026-03-01T01:30:02Z"
    clock.advance(hours=-24)
    assert format_instant(clock()) == "2026-02-28T01:30:02Z"


def test_the_system_clock_counts_nanoseconds_since_1970() -> None:
    assert parse_instant("2024-01-01T00:00:00Z") < system_clock() < parse_instant("2200-01-01T00:00:00Z")
