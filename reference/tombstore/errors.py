"""What can go wrong with a store, each as a subclass of the builtin that a caller would catch."""


class NotAStore(ValueError):
    """The file is something else than a tombstore, was written by a newer version, or is damaged."""


class ReadOnlyStore(PermissionError):
    """A write was asked of a store that was opened read-only."""


class StoreBusy(TimeoutError):
    """Another process held the write lock for longer than the wait allowed."""


class FactNotFound(LookupError):
    """No fact matches the target or the ID."""
