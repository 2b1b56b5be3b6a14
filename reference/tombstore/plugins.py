"""Finds a plug-in by name: a module's ``make`` in the kind's package, an entry point, or ``package.module:make``."""

import pkgutil
from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any


class UnknownPlugin(LookupError):
    """No plug-in of that name."""

    def __str__(self) -> str:
        return str(self.args[0])


def names(package: str) -> list[str]:
    """The plug-ins of a kind: the modules in its package, then the entry points of the group of that name."""
    built_in = _built_in(package)
    return [*built_in, *sorted({entry.name for entry in entry_points(group=package)} - set(built_in))]


@cache  # a package's modules don't change while a program runs; every store that is opened asks for them
def _built_in(package: str) -> tuple[str, ...]:
    folder = import_module(package).__path__
    return tuple(sorted(module.name for module in pkgutil.iter_modules(folder) if not module.name.startswith("_")))


def make(package: str, name: str, **options: Any) -> Any:
    """Call the plug-in's ``make(**options)``. Raises UnknownPlugin with a suggestion, TypeError for wrong options."""
    return _maker(package, name)(**options)


def _maker(package: str, name: str) -> Any:
    if ":" in name:
        module, _, attribute = name.partition(":")
        try:
            return getattr(import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise UnknownPlugin(f"can't load {name}: {error}") from error
    # Built-in names first: nothing installed can change what they mean, and entry points take long to look up.
    if name in _built_in(package):
        return import_module(f"{package}.{name}").make
    known = names(package)
    if name not in known:
        raise UnknownPlugin(f"unknown {_kind(package)} {name!r}{_suggestion(name, known)}; known: {', '.join(known)}")
    (entry, *_) = entry_points(group=package, name=name)
    return entry.load()


def check(package: str, name: str) -> None:
    """Raises UnknownPlugin, with a suggestion, when there is no plug-in of that name. Makes nothing."""
    _maker(package, name)


def summaries(package: str) -> Iterator[tuple[str, str]]:
    """Each built-in plug-in's name and the first sentence of its documentation."""
    for name in _built_in(package):
        yield name, (import_module(f"{package}.{name}").__doc__ or "").strip().split("\n")[0]


def _kind(package: str) -> str:
    folder = package.rpartition(".")[2]
    return folder[:-3] + "y" if folder.endswith("ies") else folder.removesuffix("s")


def _suggestion(name: str, known: list[str]) -> str:
    close = get_close_matches(name, known, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
