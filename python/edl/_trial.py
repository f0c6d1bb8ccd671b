# SPDX-License-Identifier: Apache-2.0
"""A trial of `edl search`: which values this process tries, and the metric that it tells of them."""
from __future__ import annotations

import atexit
import json
import os
import sys
import threading
import time
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple, Union

ParameterValue = Union[int, float, str, bool]

VARIABLE = "EDL_TRIAL"
CURVE = "_curve"
POINTS_MAX = 64  # beside the least and the largest one
TELL_EACH_S = 1.0


_Point = Tuple[int, float, float]  # the number of the telling, the resource, the value


class Trial(Mapping[str, ParameterValue]):
    """The values of one trial by their parameters' names: `trial["lr"]`, or `trial.lr`."""

    def __init__(self, told: Mapping[str, Any], defaults: Mapping[str, ParameterValue]) -> None:
        self._values: Dict[str, ParameterValue] = {**defaults, **told.get("parameters", {})}
        self.search: str = str(told.get("search", ""))  #: its name; "": this is no trial of a search
        self.number: int = int(told.get("trial", 0))
        self.rung: int = int(told.get("rung", 0))  #: from 0; one that goes on is a rung higher
        #: it ends when it has come so far, in the resource of the search; None: where it likes
        self.until: Optional[float] = told.get("until")
        self.resource: str = str(told.get("resource", ""))  #: what is counted: "epochs"; "": nothing
        self.metric: str = str(told.get("metric", ""))  #: the name that edl.progress is to tell

    def __getitem__(self, name: str) -> ParameterValue:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __getattr__(self, name: str) -> ParameterValue:
        try:
            return self.__dict__["_values"][name]
        except KeyError:
            raise AttributeError(f"the trial has no parameter {name!r}") from None

    def __repr__(self) -> str:
        return f"Trial({self.search!r}, {self.number}, {self._values!r})"


def told_of(environment: Optional[Mapping[str, str]] = None) -> Optional[Dict[str, Any]]:
    """What the search told this process; None: it is no trial. ValueError: that is none of ours."""
    text = (os.environ if environment is None else environment).get(VARIABLE)
    if text is None:
        return None
    told = json.loads(text)
    if not isinstance(told, dict) or not isinstance(told.get("parameters"), dict):
        raise ValueError(f"{VARIABLE} is no trial of edl search: {text[:100]}")
    return told


class Metric:
    """The figures of a trial, kept with its job: its last ones, and the way of its metric. The first ones go out at once,
    further ones once a second at most, and the last ones when the process ends."""

    def __init__(self, told: Mapping[str, Any], keep: Callable[[Dict[str, Any]], None]) -> None:
        self._name = told.get("metric", "")
        self._resource = told.get("resource", "")
        self._keep = keep
        self._figures: Dict[str, Any] = {}
        self._points: List[_Point] = []
        self._least: Optional[_Point] = None  # the best one may lie between two points
        self._most: Optional[_Point] = None
        self._every = 1  # so many tellings make a point
        self._told = 0
        self._unkept = False
        self._next = 0.0
        self._pid = os.getpid()
        self._lock = threading.RLock()  # a signal handler may come between
        atexit.register(self.end)

    def tell(self, figures: Mapping[str, Any]) -> None:
        """What is wrong with it is raised, as is Unreachable."""
        with self._lock:
            self._figures.update(figures)
            self._add_point(figures)
            self._unkept = True
            if time.monotonic() >= self._next:
                self._send()

    def end(self) -> None:
        """What was not kept yet is; the process ends, so that nobody could catch what goes wrong."""
        with self._lock:
            if not self._unkept or os.getpid() != self._pid:
                return
            try:
                self._send()
            except Exception as error:
                print(f"edl: the last figures of this trial were not kept: {error}", file=sys.stderr)

    def _add_point(self, figures: Mapping[str, Any]) -> None:
        value = figures.get(self._name)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return
        self._told += 1
        point = (self._told, figures.get(self._resource, self._told), value)
        if self._least is None or value < self._least[2]:
            self._least = point
        if self._most is None or value > self._most[2]:
            self._most = point
        if self._points and self._told % self._every != 0:
            self._points[-1] = point  # the newest is always there
            return
        self._points.append(point)
        if len(self._points) > POINTS_MAX:
            self._points = self._points[::2]
            self._every *= 2

    def _send(self) -> None:
        self._next = time.monotonic() + TELL_EACH_S
        extremes = {point for point in (self._least, self._most) if point is not None}
        self._keep({**self._figures, CURVE: [[at, value] for _, at, value in sorted({*self._points, *extremes})]})
        self._unkept = False
