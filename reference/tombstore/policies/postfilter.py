"""Filter after the cut: retired facts are scored and ranked like live ones and removed from the result at the end."""

from tombstore.policies import Policy, drop_retired, stored, write_tombstone


def make() -> Policy:
    """Nothing stale is returned, but the slots that retired facts took stay empty."""
    return Policy(retire=write_tombstone, eligible=stored, window=stored, after_cut=drop_retired)
