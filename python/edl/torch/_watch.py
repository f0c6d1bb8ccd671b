# SPDX-License-Identifier: Apache-2.0
"""A thread that learns when a generation is over, and ends what waits for a member that is gone."""
from __future__ import annotations

import threading
from typing import Callable

import edl

OVER_S = 20.0  # of one wait for the end of a generation
ASK_AGAIN_S = 0.5
CUT_EACH_S = 0.05


def is_lost(world: edl.World) -> bool:
    """Whether a member has ended. Who only came, or is being stopped and leaves with the others, is not lost."""
    try:
        live = {(peer.index, peer.incarnation) for peer in edl.hosts(edl.me().role).peers}
    except edl.Refused:  # this process is no member of anything any more
        return True
    except edl.Error:
        return False
    members = {(peer.index, peer.incarnation) for peer in world.members}
    return not members or not members <= live  # of a large world members are not told


class Watch:
    """Of one world, until `end`. cut: called again and again once a member is gone; while the group is being `formed`,
    at the end of its generation for any reason, as whoever left it may be waited for already."""

    def __init__(self, world: edl.World, cut: Callable[[], None]) -> None:
        self._world = world
        self._cut = cut
        self._ended = threading.Event()
        self.formed = False  #: set by the owner
        self.over = False  #: somebody came, is leaving or is gone
        self.lost = False  #: a member is gone
        threading.Thread(target=self._run, name="edl-watch", daemon=True).start()

    def _wait_until_over(self) -> None:
        while not self._ended.is_set():
            try:
                if self._world.over(timeout=OVER_S):
                    return
            except edl.Refused:  # nor is there a generation for this process
                return
            except (edl.Error, OSError):
                self._ended.wait(ASK_AGAIN_S)

    def _run(self) -> None:
        self._wait_until_over()
        self.over = True
        pause = 0.0
        while not self._ended.wait(pause):
            pause = CUT_EACH_S
            if not self.lost:
                self.lost = is_lost(self._world)
            if self.lost or not self.formed:
                self._cut()  # once is not enough: while a group is being made, connections still come
            else:
                pause = ASK_AGAIN_S

    def end(self) -> None:
        """Nothing is cut from here on, but by a cut that is under way."""
        self._ended.set()
