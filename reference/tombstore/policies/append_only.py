"""Corrections are appended and nothing is ever retired: the memory that the decision record starts from."""

from tombstore.policies import Policy, stored, write_nothing


def make() -> Policy:
    """Old and new come back side by side; a forget reports success and does nothing."""
    return Policy(retire=write_nothing, eligible=stored, window=stored)
