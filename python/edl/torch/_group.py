# SPDX-License-Identifier: Apache-2.0
"""The process group of one generation: made when the generation begins, thrown away when it is over.

Nothing of torch.distributed ends a collective call whose peer is gone, but a connection that ends does. So the connections
that came while the group was made are cut as soon as the scheduler says that a member is gone.
"""
from __future__ import annotations

import datetime
import threading
from typing import FrozenSet, Optional

import torch.distributed as dist

import edl

from . import _store
from ._sockets import Connection, connections, cut
from ._watch import Watch


class Group:
    """The group of a world, torch's default one. RuntimeError: it could not be made, most likely as a member is gone."""

    def __init__(self, world: edl.World, timeout_s: float) -> None:
        timeout = datetime.timedelta(seconds=timeout_s)
        self.is_cut = False
        self._lock = threading.Lock()
        _store.serve(world, timeout)
        self._before = connections()
        self._own: Optional[FrozenSet[Connection]] = None  # None: they still come
        self.watch = Watch(world, self.cut)
        try:
            self._make(world, timeout)
        except BaseException:
            self.close()  # else its watch would cut the connections of the next one
            raise

    def _make(self, world: edl.World, timeout: datetime.timedelta) -> None:
        store = _store.connect(world, timeout, lambda: self.is_cut)
        dist.init_process_group("gloo", store=store, rank=world.rank, world_size=world.size, timeout=timeout)
        with self._lock:
            self._own = self._came()
        if self.is_cut:
            self.cut()

    def _came(self) -> FrozenSet[Connection]:
        """Not those of the server of this process's store, which are the others'."""
        return connections(_store.server_port) - self._before

    def cut(self) -> None:
        """Whatever waits in this group fails now; from any thread."""
        with self._lock:
            self.is_cut = True
            cut(self._came() if self._own is None else self._own)

    def close(self) -> None:
        """The watch ends, and the group with all of its connections."""
        self.watch.end()
        self.cut()
        with self._lock:
            self._own = frozenset()  # a cut that comes late would end connections of the next one
        if dist.is_initialized():
            dist.destroy_process_group()
