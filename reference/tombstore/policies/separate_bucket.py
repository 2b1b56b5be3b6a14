"""Retired facts move to an archive of their own, which recall doesn't read."""

from tombstore.policies import Policy, move_to


def make(*, suffix: str = "/retired") -> Policy:
    """Recall is clean; whoever lists or exports the agent's facts doesn't see what was retired."""
    return Policy(retire=move_to(suffix))
