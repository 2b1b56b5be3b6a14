"""Fact IDs are ULIDs: their order is the order of writing, also within a millisecond and when the clock steps back."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tombstore import parse_instant, ulids

MILLISECOND = 1_000_000


def test_an_id_has_26_characters_of_crockfords_base_32() -> None:
    new = ulids()(parse_instant("2026-03-01T00:00:00Z"))
    assert len(new) == 26
    assert set(new) <= set("0123456789ABCDEFGHJKMNPQRSTVWXYZ")


@pytest.mark.parametrize(
    ("at", "time_part"),
    [
        (0, "0000000000"),
        (MILLISECOND, "0000000001"),
        (31 * MILLISECOND, "000000000Z"),
        (32 * MILLISECOND, "0000000010"),
        (1_469_918_176_385 * MILLISECOND, "01ARYZ6S41"),  # the example of the ULID specification
        ((2**48 - 1) * MILLISECOND, "7ZZZZZZZZZ"),
        (2**48 * MILLISECOND, "7ZZZZZZZZZ"),  # as far as 48 bits reach
        (-1, "0000000000"),
    ],
)
def test_the_first_ten_characters_are_the_milliseconds(at: int, time_part: str) -> None:
    assert ulids(seed=1)(at)[:10] == time_part


def test_ids_of_one_millisecond_increase() -> None:
    new = ulids()
    made = [new(5 * MILLISECOND) for _ in range(1000)]
    assert made == sorted(set(made))


def test_ids_go_on_increasing_when_the_clock_steps_back() -> None:
    new = ulids()
    assert new(9 * MILLISECOND) < new(3 * MILLISECOND) < new(9 * MILLISECOND) < new(10 * MILLISECOND)


def test_a_seed_makes_the_same_ids_again_and_another_seed_others() -> None:
    def made(seed: int) -> list[str]:
        new = ulids(seed)
        return [new(at * MILLISECOND) for at in range(20)]

    assert made(1) == made(1)
    assert not set(made(1)) & set(made(2))


def test_two_sources_without_a_seed_differ() -> None:
    assert ulids()(MILLISECOND) != ulids()(MILLISECOND)


@pytest.mark.usefixtures("restless_threads")
def test_threads_that_share_a_source_never_get_the_same_id() -> None:
    new = ulids()
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(new, [MILLISECOND] * 20_000))
    assert len(set(made)) == 20_000
