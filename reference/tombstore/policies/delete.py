"""Retiring removes the fact: recall is clean and nobody can follow a correction any more."""

from tombstore.policies import Policy, remove


def make() -> Policy:
    """Only the audit events remain of a retired fact."""
    return Policy(retire=remove)
