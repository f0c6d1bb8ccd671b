# SPDX-License-Identifier: Apache-2.0
"""The command edl: it finds the scheduler and its token, and makes each call."""
from __future__ import annotations

import json
import subprocess
from typing import Any, List, Optional

TIMEOUT_S = 120  # edl itself gives up before


class CommandError(Exception):
    """What edl said, with its remedy."""


def command(*words: str, text: Optional[str] = None) -> str:
    """What `edl WORDS` prints; text: its standard input."""
    try:
        done = subprocess.run(["edl", *words], input=text, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except FileNotFoundError:
        raise CommandError("there is no command edl\ntry: apt-get install edl-client") from None
    except subprocess.TimeoutExpired:
        raise CommandError(f"edl {words[0]} does not end") from None
    if done.returncode != 0:
        raise CommandError(done.stderr.strip() or f"edl {words[0]} ended with {done.returncode}")
    return done.stdout


def told(*words: str, text: Optional[str] = None) -> Any:
    """The JSON of `edl WORDS --json`."""
    return json.loads(command(*words, "--json", text=text))


def hosts(job: str, role: str) -> "List[Any]":
    """Those processes of the role that are there, by index."""
    found = told("hosts", f"{job}.{role}")["hosts"]
    return list(found)
