# SPDX-License-Identifier: Apache-2.0
"""For how long something is tried, without the time in which this process stood still (shared/patience.h says why)."""
from __future__ import annotations

import time
from typing import Callable

LATE_S = 2.0  # a busy machine wakes nobody later


class Patience:
    """An amount that waits spend: each what it took, or what was planned for it if it took much longer."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.left = max(seconds, 0.0)
        self.spent = 0.0  # of it, by waits
        self._clock = clock
        self._began = 0.0
        self._planned = 0.0

    def plan(self, most: float) -> float:
        """A wait begins now, of `most` or of what is left: how long it is to take."""
        self._began = self._clock()
        self._planned = min(most, self.left)
        return self._planned

    def spend(self) -> None:
        """It is over, before its time or not."""
        took = max(self._clock() - self._began, 0.0)
        if took - self._planned > LATE_S:
            took = self._planned
        self.spent += took
        self.use(took)

    def use(self, seconds: float) -> None:
        """So much was spent by a wait that somebody else measured."""
        self.left = max(self.left - seconds, 0.0)

    @property
    def over(self) -> bool:
        return self.left <= 0.0
