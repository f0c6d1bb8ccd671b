# SPDX-License-Identifier: Apache-2.0
"""A thread that says again and again that this process is alive, as it has promised."""
from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Callable, Optional, Type

from ._call import Unreachable

PARTS = 6  # so often within the time: a busy machine may keep a few of them back
LEAVE_S = 1.0  # the longest wait at the end, for an agent that does not hear


class KeepAlive:
    """Until `stop`, or the end of a `with` block, or of the process. `say` is told the seconds of the promise."""

    def __init__(self, say: Callable[[float], None], within: float) -> None:
        self._say = say
        self._within = within
        self._over = threading.Event()
        self._try(within)  # what is wrong with it is raised here
        self._thread = threading.Thread(target=self._run, name="edl-alive", daemon=True)
        self._thread.start()

    def _try(self, within: float) -> bool:
        """False: the agent is being restarted. It knows what was promised, and counts anew."""
        try:
            self._say(within)
            return True
        except Unreachable:
            return False

    def _run(self) -> None:
        pause = self._within / PARTS
        while not self._over.wait(pause):
            try:
                self._try(self._within)
            except Exception:  # whatever it is, the next try may be heard: without one the process is killed
                pass
        while not self._try(0):
            time.sleep(pause)

    def stop(self) -> None:
        """The promise is taken back, later where the agent does not hear."""
        self._over.set()
        self._thread.join(LEAVE_S)

    def __enter__(self) -> "KeepAlive":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.stop()
