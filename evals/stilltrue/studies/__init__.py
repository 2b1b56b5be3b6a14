"""Studies: one question each, answered with rows of figures."""
