# SPDX-License-Identifier: Apache-2.0
"""The JobServer: answers who the pods are, and changes how many there are."""
from __future__ import annotations

import argparse
import http.server
import json
import os
import sys
import threading
import time
import urllib.parse
from typing import Any, Dict, List, Tuple

from . import _pods
from ._command import CommandError, command, hosts

PORT = 8180
BODY_MAX = 1 << 16
FRESH_S = 0.5  # launchers ask every three seconds, each of them
IDLE_S = 30.0  # of a connection
QUERY, RUNTIME = "/rest/1.0/get/query_pods", "/rest/1.0/post/job_runtime_static"


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


class JobServer:
    """One job and its pods. However many ask, edl is asked twice a second at most."""

    def __init__(self, job_id: str) -> None:
        self.job_id = job_id
        self._lock = threading.Lock()
        self._stages = _pods.Stages(job_id, int(time.time()))
        self._asked_s = float("-inf")
        self._answer: Dict[str, Any] = {}

    def query(self) -> "Dict[str, Any]":
        """CommandError: there is no such job now."""
        with self._lock:
            if time.monotonic() >= self._asked_s + FRESH_S:
                pods = _pods.pods_of(hosts(_pods.job_name(self.job_id), _pods.ROLE))
                self._answer = {"job_id": self.job_id, "pods": pods, "job_stage_flag": self._stages.flag(pods)}
                self._asked_s = time.monotonic()
            return self._answer

    def change(self, pods: int) -> None:
        command("scale", _pods.job_name(self.job_id), str(pods), "--role", _pods.ROLE)


def change_for_ever(server: JobServer, given: argparse.Namespace) -> None:
    """A job that is not there, or not yet, is looked for again after the next interval."""
    for pods in _pods.sizes(given.pods, given.del_pods_one_step, given.add_pods_one_step):
        while True:
            time.sleep(given.time_interval_to_change)
            try:
                server.change(pods)
                say(f"{server.job_id}: {pods} pods")
                break
            except CommandError as error:
                say(f"{server.job_id}: no change: {error}")


def handler_of(server: JobServer) -> "type[http.server.BaseHTTPRequestHandler]":
    class Handler(http.server.BaseHTTPRequestHandler):
        timeout = IDLE_S

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def _answer(self, status: int, body: "Dict[str, Any]") -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self) -> None:
            url = urllib.parse.urlsplit(self.path)
            job_id = urllib.parse.parse_qs(url.query).get("job_id", [server.job_id])[0]
            if url.path != QUERY:
                self._answer(404, {"error": f"there is no call {url.path}; there are GET {QUERY} and POST {RUNTIME}"})
            elif _pods.job_name(job_id) != _pods.job_name(server.job_id):
                self._answer(404, {"error": f"this server is that of the job {server.job_id} (--job_id)"})
            else:
                try:
                    self._answer(200, server.query())
                except CommandError as error:
                    self._answer(404, {"error": str(error)})

        def do_POST(self) -> None:
            length = self.headers.get("Content-Length", "")
            if not length.isdigit() or int(length) > BODY_MAX:
                self.close_connection = True
                self._answer(400, {"error": f"a body of at most {BODY_MAX} bytes is wanted, with its Content-Length"})
                return
            self.rfile.read(int(length))  # what a job tells of its time is known to the scheduler
            if self.path == RUNTIME:
                self._answer(200, {})
            else:
                self._answer(404, {"error": f"there is no call {self.path}"})

    return Handler


def port_of_environment() -> int:
    """That of PADDLE_JOBSERVER, which its clients are told too."""
    try:
        return urllib.parse.urlsplit(os.environ.get("PADDLE_JOBSERVER", "")).port or PORT
    except ValueError:
        return PORT


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def seconds(text: str) -> float:
    number = float(text)
    if not 0 < number < 1e7:
        raise ValueError(text)
    return number


def parse(words: "List[str]") -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python3 -m edl.jobserver server", description="Answers who the pods of a job are, and changes how many there are.")
    add = parser.add_argument
    add("--node_ips", default="", help="comma-separated; counts pods where --pods does not: the scheduler places them")
    add("--pod_num_of_node", type=positive, default=1, help="pods of each of these nodes (1)")
    add("--gpu_num_of_node", type=int, default=8, help="is taken: the nodes' own GPUs count")
    add("--pods", type=positive, help="so many there are at first")
    add("--del_pods_one_step", type=positive, default=1, help="so many are taken away after an interval (1)")
    add("--add_pods_one_step", type=positive, default=1, help="so many are given after the next one (1)")
    add("--time_interval_to_change", type=seconds, default=900, help="seconds (900)")
    add("--job_id", default=os.environ.get("PADDLE_JOB_ID", "test_job_id_1234"), help="the job (test_job_id_1234, which the scheduler knows as test-job-id-1234)")
    add("--host", default="127.0.0.1", help="address to listen at: whoever reaches it may ask (127.0.0.1)")
    add("--port", type=int, default=port_of_environment(), help=f"that of PADDLE_JOBSERVER, else {PORT}")
    given = parser.parse_args(words)
    if given.pods is None:
        given.pods = max(1, len([ip for ip in given.node_ips.split(",") if ip])) * given.pod_num_of_node
    return given


def listen(where: "Tuple[str, int]", server: JobServer) -> http.server.ThreadingHTTPServer:
    try:
        return http.server.ThreadingHTTPServer(where, handler_of(server))
    except (OSError, OverflowError) as error:
        sys.exit(f"edl.jobserver: {where[0]}:{where[1]}: {error}\ntry: --port, and export PADDLE_JOBSERVER=http://{where[0]}:PORT for the clients")


def main(words: "List[str]") -> int:
    given = parse(words)
    server = JobServer(given.job_id)
    http_server = listen((given.host, given.port), server)
    say(f"http://{given.host}:{http_server.server_address[1]} tells the pods of {given.job_id}")
    threading.Thread(target=change_for_ever, args=(server, given), daemon=True).start()
    try:
        http_server.serve_forever()
    except KeyboardInterrupt:
        pass
    return 0
