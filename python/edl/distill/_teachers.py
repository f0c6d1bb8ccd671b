# SPDX-License-Identifier: Apache-2.0
"""Which teachers there are, and what proves that one may ask them."""
from __future__ import annotations

import os
import threading
from typing import List, Optional, Sequence, Tuple

import edl

from . import _wire
from ._links import shared_out
from ._pump import Address, Pump

_LOOK_S = 10.0
_AGAIN_S = 2.0


def read_address(text: str) -> Address:
    host, separator, port = text.strip().rpartition(":")
    if not separator or not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise ValueError(f"{text!r} is no teacher: write HOST:PORT, as 10.0.0.1:9292")
    return host.strip("[]"), int(port)


def secret_of_file() -> bytes:
    """Of the file that EDL_TEACHER_SECRET_FILE names, as hex digits; empty without it: both ends are on one machine."""
    path = os.environ.get("EDL_TEACHER_SECRET_FILE")
    if not path:
        return b""
    with open(path, encoding="ascii") as file:
        return bytes.fromhex(file.read().strip())


def in_job() -> bool:
    return bool(os.environ.get("EDL_SOCKET"))


def own_secret() -> bytes:
    """A teacher's: of its job, or of the file."""
    return _wire.service_secret(edl.Client().secret()) if in_job() and not os.environ.get("EDL_TEACHER_SECRET_FILE") else secret_of_file()


def most_links(teachers: int, students: int, require: int) -> int:
    """Of one student, to teachers that have other work too."""
    return max(require, -(-teachers // students) + 1)


class Fixed:
    """Teachers that a person has named."""

    def __init__(self, addresses: Sequence[Address]) -> None:
        self.addresses = list(addresses)
        self.what = ", ".join(f"{host}:{port}" for host, port in addresses)

    def secret(self) -> bytes:
        return own_secret()

    def follow(self, pump: Pump, student: str) -> None:
        pump.name_teachers(self.addresses)

    def close(self) -> None:
        pass


class Service:
    """Teachers of a service of the cluster, followed by a thread as they come and go."""

    def __init__(self, name: str, require: int) -> None:
        self.what, self._require = f"the service {name}", require
        self._service = name
        self._over = threading.Event()
        self._thread: Optional[threading.Thread] = None

    def secret(self) -> bytes:
        if os.environ.get("EDL_TEACHER_SECRET_FILE"):
            return secret_of_file()
        return edl.Client().service_secret(self._service)

    def _name(self, pump: Pump, client: edl.Client, student: str, teachers: Sequence[Address]) -> None:
        students, me = [student], student
        try:
            own = client.me
            students = [str(peer.index) for peer in client.hosts(own.role).peers] or students
            me = str(own.index) if str(own.index) in students else student
        except edl.Error:
            pass
        owned, others = shared_out(me, students, teachers)
        pump.name_teachers(owned, others, most_links(len(teachers), len(students), self._require))

    def _run(self, pump: Pump, student: str) -> None:
        client, known = edl.Client(), None
        while not self._over.is_set():
            try:
                known = client.service(self._service) if known is None else client.service_after(known, _LOOK_S)
            except edl.Timeout:
                pass  # other students may have come or gone
            except edl.NotFound:  # nobody serves under that name yet
                known = None
                pump.name_teachers([])
                self._over.wait(_AGAIN_S)
                continue
            except edl.Error as error:
                if self._over.is_set():
                    break
                pump.fail(error)
                break
            assert known is not None
            self._name(pump, client, student, [(peer.address, peer.ports[0]) for peer in known.peers if peer.ports])

    def follow(self, pump: Pump, student: str) -> None:
        self._thread = threading.Thread(target=self._run, args=(pump, student), name="edl-distill-teachers", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._over.set()
