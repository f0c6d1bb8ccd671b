# SPDX-License-Identifier: Apache-2.0
"""The process group of one generation: made when the generation begins, thrown away when it is over.

Nothing of torch.distributed ends a collective call whose peer is gone, but a connection that ends does. So the connections
that came while the group was made are cut as soon as the scheduler says that a member is gone.
"""
from __future__ import annotations

import datetime

import torch.distributed as dist

import edl

from . import _store
from ._sockets import Came
from ._watch import Watch


class Group:
    """The group of a world, torch's default one. RuntimeError: it could not be made, most likely as a member is gone."""

    def __init__(self, world: edl.World, timeout_s: float) -> None:
        timeout = datetime.timedelta(seconds=timeout_s)
        _store.serve(world, timeout)
        self._connections = Came(_store.server_port)
        self.watch = Watch(world, self._connections.cut)
        try:
            store = _store.connect(world, timeout, lambda: self.is_cut)
            dist.init_process_group("gloo", store=store, rank=world.rank, world_size=world.size, timeout=timeout)
            self._connections.all_here()
        except BaseException:
            self.close()  # else its watch would cut the connections of the next one
            raise

    @property
    def is_cut(self) -> bool:
        return self._connections.is_cut

    def close(self) -> None:
        """The watch ends, and the group with all of its connections."""
        self.watch.end()
        self._connections.end()
        if dist.is_initialized():
            dist.destroy_process_group()
