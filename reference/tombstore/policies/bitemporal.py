"""Validity intervals with an opt-in filter: the store knows what is over, and plain recall doesn't ask."""

from tombstore.policies import Policy, stored, write_tombstone


def make() -> Policy:
    """Whoever recalls without an instant gets retired facts too; ``recall_as_of`` answers for any instant."""
    return Policy(retire=write_tombstone, eligible=stored, window=stored)
