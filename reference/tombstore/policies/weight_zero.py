"""The 0.9 defect: retiring sets the weight to 0 and reports success, and recall, which never reads weight, goes on."""

from tombstore.policies import Policy, stored, write_zero_weight


def make() -> Policy:
    """Retired facts come back until the next consolidation cycle prunes them, receipts and all."""
    return Policy(retire=write_zero_weight, eligible=stored, window=stored)
