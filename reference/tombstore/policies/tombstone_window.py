"""The original's recall: retired facts aren't scored but still use up the vector window (SPEC 10.1 no. 3)."""

from tombstore.policies import Policy, stored, write_tombstone


def make() -> Policy:
    """As ``tombstone``, except that a retired neighbor takes a window position that nobody then reads."""
    return Policy(retire=write_tombstone, window=stored)
