# SPDX-License-Identifier: Apache-2.0
"""Why a loop over records was left: by a break, or by an exception in its body.

A generator is closed in both cases, and is not told which. But an exception that leaves the body has put a traceback on
the frame of the loop, at the instruction that the frame is at; a break has not. Before Python 3.12 nothing shows which
exception it is while it is on its way. Then `sys.excepthook` tells of it, or the program goes on and so has caught it.
"""
from __future__ import annotations

import dis
import gc
import inspect
import os
import sys
import weakref
from types import FrameType, TracebackType
from typing import Any, NamedTuple, Optional, Protocol

_YIELDS = ("YIELD_VALUE", "YIELD_FROM", "SEND", "RESUME")


class Raised(NamedTuple):
    """An exception in the body of a loop: where, for people, and which; None: that is not known yet."""

    where: str
    error: Optional[BaseException]


def _trace_of(frame: FrameType) -> Optional[TracebackType]:
    """Of the exception that is leaving the frame where it is."""
    for found in gc.get_referrers(frame):
        if isinstance(found, TracebackType) and found.tb_frame is frame and found.tb_lasti == frame.f_lasti:
            return found
    return None


def _is_closed(frame: FrameType) -> bool:
    """Whether it is a generator of the program's own around the loop, which is being closed where it yields."""
    code = frame.f_code
    return bool(code.co_flags & inspect.CO_GENERATOR) and dis.opname[code.co_code[frame.f_lasti]] in _YIELDS


def _where(trace: TracebackType) -> str:
    places = []
    step: Optional[TracebackType] = trace
    while step is not None:
        places.append(f"{os.path.basename(step.tb_frame.f_code.co_filename)}:{step.tb_lineno}")
        step = step.tb_next
    return places[0] if len(places) == 1 else f"{places[0]}, in {places[-1]}"


def raised() -> Optional[Raised]:
    """The exception by which the loop around the caller is being left; None: it was left on purpose."""
    frame: Optional[FrameType] = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__package__") == __package__:
        frame = frame.f_back
    while frame is not None:
        trace = _trace_of(frame)
        if trace is None:
            return None
        if not _is_closed(frame):
            errors = [one for one in gc.get_referrers(trace) if isinstance(one, BaseException) and one.__traceback__ is trace]
            return Raised(_where(trace), errors[0] if errors else None)
        frame = frame.f_back
    return None


# ---- exceptions that end the program ----


class Watcher(Protocol):
    def ended_by(self, error: BaseException) -> None:
        """The program of this thread ends with it."""


_watchers: "weakref.WeakSet[Any]" = weakref.WeakSet()


def watch(watcher: Watcher) -> None:
    """It is told of an exception that ends the program, once that is printed."""
    if not _watchers:
        before = sys.excepthook

        def hook(kind: Any, error: Any, trace: Any) -> None:
            before(kind, error, trace)
            for one in list(_watchers):
                one.ended_by(error)

        sys.excepthook = hook
    _watchers.add(watcher)
