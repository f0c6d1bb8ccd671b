# SPDX-License-Identifier: Apache-2.0
"""Pods, as that JobServer tells them: a pod is a process, so the one that replaces it is another pod."""
from __future__ import annotations

from typing import Any, Dict, Iterator, List, Tuple

NAME_RULE = str.maketrans("_", "-")  # a name of a job has no "_", upstream's test_job_id_1234 has three
ROLE = "trainer"
TO_COME = ("assigned", "preparing", "running")

Pod = Dict[str, Any]


def job_name(job_id: str) -> str:
    return job_id.translate(NAME_RULE)


def pod_id(host: "Dict[str, Any]") -> str:
    return f"pod_{host['index']}_{host['incarnation']}"


def pods_of(hosts: "List[Dict[str, Any]]") -> "List[Pod]":
    return [{
        "pod_id": pod_id(host),
        "running": "1" if host["state"] == "running" else "0",
        "addr": host.get("address", ""),
        "pod_port": str(host["ports"][0]) if host.get("ports") else "",
        "trainer_ports": [str(port) for port in host.get("ports", [])[1:]],
        "gpus": [str(gpu) for gpu in host.get("gpus", [])],
    } for host in hosts if host["state"] in TO_COME]


class Stages:
    """Another flag whenever the pods are others. `begun` tells two runs of a server apart."""

    def __init__(self, job_id: str, begun: int) -> None:
        self._job_id = job_id
        self._begun = begun
        self._number = 0
        self._known: Tuple[str, ...] = ()

    def flag(self, pods: "List[Pod]") -> str:
        now = tuple(pod["pod_id"] for pod in pods)
        if now != self._known:
            self._known, self._number = now, self._number + 1
        return f"{self._job_id}_{self._begun}_{self._number}"


def sizes(pods: int, taken: int, given: int) -> "Iterator[int]":
    """How many pods there are after each interval, for ever: some are taken away, then some given."""
    less = max(1, pods - taken)
    while True:
        yield less
        yield less + given
