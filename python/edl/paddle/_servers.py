# SPDX-License-Identifier: Apache-2.0
"""Parameter servers that a person has started: where paddle.init says they are, and what proves who comes."""
from __future__ import annotations

import os
import secrets
import tempfile
from typing import Any, Dict, List

from ._errors import ConfigError

PORT = 20134  # as edl-paddle pserver
SECRET_BYTES = 32


def _count(given: Dict[str, Any], name: str, default: int, least: int) -> int:
    text = str(given.get(name, default))
    if not text.isdecimal() or not least <= int(text) <= 65535:
        raise ConfigError(f"paddle.init: {name} is {text!r}", f"a number from {least} to 65535 is possible", "")
    return int(text)


def secret_file() -> str:
    """The file that edl-paddle shares among the programs of one account; it is made if it is not there."""
    config = os.environ.get("XDG_CONFIG_HOME", "")
    folder = os.path.join(config if config.startswith("/") else os.path.expanduser("~/.config"), "edl")
    path = os.path.join(folder, "paddle-secret")
    if not os.path.exists(path):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        handle, made = tempfile.mkstemp(prefix="paddle-secret.", dir=folder)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(SECRET_BYTES) + "\n")
        try:
            os.link(made, path)  # whole at once, and never over another program's
        except FileExistsError:
            pass
        finally:
            os.unlink(made)
    return path


def trainer_id(given: Dict[str, Any]) -> int:
    return _count(given, "trainer_id", 0, 0)


def _has_port(host: str) -> bool:
    """10.0.0.1:7164 or [fd00::1]:7164, as a job may tell it; fd00::1 has none."""
    return host.count(":") == 1 or "]:" in host


def options(given: Dict[str, Any]) -> List[str]:
    """Options of edl-trainer that name the servers: each address with each of its ports."""
    port = _count(given, "port", PORT, 1)
    dense, sparse = _count(given, "ports_num", 1, 1), _count(given, "ports_num_for_sparse", 0, 0)
    hosts = [host for host in str(given.get("pservers", "127.0.0.1")).split(",") if host]
    if any(_has_port(host) for host in hosts):  # each of them is a server of its own
        dense, sparse = 1, 0
    servers = ",".join(server for host in hosts for server in
                       ([host] if _has_port(host) else [f"{host}:{port + i}" for i in range(dense + sparse)]))
    ret = [f"--servers={servers}", f"--ports_num={dense}", f"--ports_num_for_sparse={sparse}",
           f"--trainer_id={trainer_id(given)}"]
    if not os.environ.get("EDL_SOCKET"):
        ret.append(f"--secret-file={secret_file()}")
    return ret
