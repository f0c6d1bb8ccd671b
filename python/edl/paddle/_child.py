# SPDX-License-Identifier: Apache-2.0
"""edl-trainer as a child process: its lines, one by one, and its error when it fails."""
from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from typing import Iterator, List

from ._errors import ConfigError

ERROR_BYTES = 4096


def program() -> str:
    """Where edl-trainer is: EDL_TRAINER, or in PATH."""
    found = shutil.which(os.environ.get("EDL_TRAINER") or "edl-trainer")
    if found is None:
        raise ConfigError("there is no edl-trainer, which trains", "apt-get install edl-trainer; EDL_TRAINER names "
                          "one elsewhere")
    return found


def _why(errors: bytes) -> str:
    """The last line of standard error, without the stamp that a log line begins with."""
    lines = errors.decode(errors="replace").strip().splitlines() or ["it said nothing"]
    return lines[-1].partition("edl-trainer: ")[2] or lines[-1]


def lines(arguments: List[str]) -> Iterator[str]:
    """Runs edl-trainer; yields what it prints as it comes. When the caller stops reading, it is ended."""
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen([program()] + arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=errors, text=True)
        assert child.stdout is not None
        try:
            for line in child.stdout:
                yield line.rstrip("\n")
            status = child.wait()
        finally:
            if child.poll() is None:
                child.terminate()
                child.wait()
            with contextlib.suppress(OSError):
                child.stdout.close()
        if status != 0:
            errors.seek(max(0, errors.seek(0, os.SEEK_END) - ERROR_BYTES))
            raise ConfigError(f"edl-trainer ended with status {status}: {_why(errors.read())}")
