"""ADR-007's choice: a marker on the fact, which is dropped before scoring, so that it can't displace a live one."""

from tombstore.policies import Policy, write_tombstone


def make() -> Policy:
    """Retired facts take no part in statistics, ranks, candidate windows or the cut."""
    return Policy(retire=write_tombstone)
