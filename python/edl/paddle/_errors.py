# SPDX-License-Identifier: Apache-2.0
"""Errors that name the line of the user's program, and calls whose arguments are checked first."""
from __future__ import annotations

import difflib
import functools
import inspect
import os
import sys
from typing import Any, Callable, Iterable, List, Mapping, Optional, Set, TypeVar

HERE = os.path.dirname(os.path.abspath(__file__))
LISTED_MAX = 40
Function = TypeVar("Function", bound=Callable[..., Any])


def place_of_user() -> str:
    """FILE:LINE of the innermost frame that is not of this package; empty if there is none."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        inside = os.path.dirname(os.path.abspath(file)) == HERE
        if not inside and not file.startswith("<") and os.path.basename(file) != "functools.py":
            return f"{file}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return ""


class ConfigError(Exception):
    """A configuration says what cannot be done. The text names file, line and remedy."""

    def __init__(self, text: str, remedy: str = "", place: Optional[str] = None) -> None:
        where = place_of_user() if place is None else place
        text = f"{where}: {text}" if where else text
        super().__init__(f"{text}; {remedy}" if remedy else text)


def nearest(name: str, known: Iterable[str]) -> str:
    """A remedy: the known name that is like this one, else all of them, or the page that has them."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, 1)
    if near:
        return f"did you mean {near[0]}?"
    return "there are: " + ", ".join(names) if len(names) <= LISTED_MAX else "edl-trainer-config(5) lists the names"


_told: Set[str] = set()


def without_effect(what: str, why: str) -> None:
    """Names, once, what can be said and changes nothing here: it is about speed or memory, never about what is trained."""
    if what not in _told:
        _told.add(what)
        place = place_of_user()
        print(f"{place + ': ' if place else ''}{what} is without effect here: {why}", file=sys.stderr)


def checked(function: Function) -> Function:
    """The function with an error of ours for an argument that it does not have."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            signature.bind(*args, **kwargs)
        except TypeError:
            unknown = [name for name in kwargs if name not in signature.parameters]
            if not unknown:
                raise ConfigError(f"{function.__name__}{signature} cannot be called so",
                                  "give what has no default, and nothing twice") from None
            raise ConfigError(f"{function.__name__} has no argument {unknown[0]} here",
                              nearest(unknown[0], signature.parameters)) from None
        return function(*args, **kwargs)

    return call  # type: ignore[return-value]


def refused(name: str, remedy: str) -> Callable[..., Any]:
    """A name of Paddle's that nothing here stands for: whoever calls it is told."""

    def call(*args: Any, **kwargs: Any) -> Any:
        raise ConfigError(f"{name} is not supported", remedy)

    call.__name__ = name
    call.is_refused = True  # type: ignore[attr-defined]
    return call


def working(names: Mapping[str, Any]) -> List[str]:
    """Those of the names that do something: an error proposes no other."""
    return [name for name, value in names.items()
            if not name.startswith("_") and not (callable(value) and getattr(value, "is_refused", False))]
