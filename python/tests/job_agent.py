# SPDX-License-Identifier: Apache-2.0
"""For tests: an agent with the data of one job, for the one process that the test is, which it puts into a job."""
import json
import os
import socketserver
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler
from typing import Any, Callable, Dict, List, Optional, Tuple
from unittest import mock

import edl
from edl import _checkpoint, _one_reader, _records

SECRET = "5e" * 32


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass

    def _answer(self) -> None:
        size = int(self.headers.get("Content-Length", 0))
        body = json.loads(self.rfile.read(size)) if size else None
        status, said = self.server.job.call(f"{self.command} {self.path}", body)  # type: ignore[attr-defined]
        data = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_PUT = do_POST = _answer

    def address_string(self) -> str:
        return "test"


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):  # its caller has ended
            super().handle_error(request, client_address)


class Job:
    """Tasks of a data set, dealt out for some passes; one is put back for each that fails or is returned.
    passes: None: as the data set says, or one."""

    def __init__(self, passes: Optional[int] = 1, secret: str = SECRET, index: int = 0, incarnation: int = 1) -> None:
        self.passes = 1 if passes is None else passes
        self.open_passes = passes is None
        self.says_passes = True  # False: as an older scheduler
        self.secret = secret
        self.dataset: Optional[Dict[str, Any]] = None
        self.pass_number = 0
        self.todo: List[int] = []
        self.held: List[int] = []
        self.done: List[Tuple[int, int]] = []  # pass and task
        self.lost: Dict[int, Tuple[Any, Any]] = {}  # of tasks that are done: records and chunks, as they were told
        self.failed: List[Tuple[int, str]] = []
        self.returned: List[int] = []
        self.stale: List[int] = []  # tasks whose end comes too late
        self.saver: Optional[bool] = None  # what one is told who asks whether it saves the model; None: an older scheduler
        self.asked: List[str] = []
        self._change = threading.Condition()
        self._folder = tempfile.TemporaryDirectory()
        path = os.path.join(self._folder.name, "socket")
        self._server = _Server(path, _Handler)
        self._server.job = self  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._environment = {
            "EDL_SOCKET": path, "EDL_JOB": "train", "EDL_JOB_ID": "7", "EDL_ROLE": "trainer", "EDL_INDEX": str(index),
            "EDL_INCARNATION": str(incarnation), "EDL_PASSES": str(self.passes),
            "EDL_OUTPUT_DIR": self._folder.name}

    def __enter__(self) -> "Job":
        self._thread.start()
        self._patches = [mock.patch.dict(os.environ, self._environment)]
        self._patches += [mock.patch.object(edl, name, value) for name, value in (
            ("_client", None), ("_data", _records.Data(lambda: edl.client())),
            ("_checkpoints", _checkpoint.Checkpoints(lambda: edl.client())))]
        self._patches.append(mock.patch.object(_one_reader, "_claimed", None))
        for patch in self._patches:
            patch.start()
        return self

    def __exit__(self, *_: object) -> None:
        for patch in reversed(self._patches):
            patch.stop()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self._folder.cleanup()

    def put(self, tasks: List[Any]) -> None:
        """As another process of the job."""
        self._put({"digest": "other", "tasks": tasks})

    def wait_for(self, call: str, n: int) -> None:
        """Until a call was made n times."""
        with self._change:
            assert self._change.wait_for(lambda: self.asked.count(call) >= n, 120)

    def comes(self, what: Callable[[], bool], timeout: float) -> bool:
        """Whether something happens in so many seconds."""
        with self._change:
            return self._change.wait_for(what, timeout)

    def _put(self, body: Dict[str, Any]) -> Tuple[int, Any]:
        if self.dataset is not None and self.dataset["digest"] != body["digest"]:
            return 409, {"detail": "another data set"}
        if self.dataset is None and self.open_passes:
            self.passes = body.get("passes", 1)
        self.dataset = body
        self.todo = list(range(len(body["tasks"])))
        return 200, self._known()

    def _known(self) -> Dict[str, Any]:
        known = {"tasks": len((self.dataset or {"tasks": []})["tasks"])}
        return {**known, "passes": self.passes} if self.says_passes else known

    def _lease(self, body: Dict[str, Any]) -> Tuple[int, Any]:
        for task in self.held:
            if task not in body["known"]:
                return self._task(task)
        if not self.todo and not self.held and self.pass_number < self.passes:
            self.pass_number += 1
            self.todo = list(range(len((self.dataset or {"tasks": []})["tasks"])))
        if self.pass_number >= self.passes:
            return 200, {"finished": True, "save_model": True}
        if not self.todo:
            self._change.wait(0.02)
            return 200, {"wait": True}
        self.held.append(self.todo.pop(0))
        return self._task(self.held[-1])

    def _task(self, task: int) -> Tuple[int, Any]:
        assert self.dataset is not None
        return 200, {"task": {"id": task, "pass": self.pass_number, "lease": 1, "chunks": self.dataset["tasks"][task]["chunks"]}}

    def _end(self, call: str, body: Dict[str, Any]) -> Tuple[int, Any]:
        task = body["task"]
        if task not in self.held or task in self.stale:
            if task in self.held:
                self.held.remove(task)
            return 409, {"detail": "stale"}
        self.held.remove(task)
        if call == "finish":
            self.done.append((self.pass_number, task))
            if "lost" in body:
                self.lost[task] = body["lost"], body["lost_chunks"]
        elif body["returned"]:
            self.returned.append(task)
            self.todo.insert(0, task)
        else:
            self.failed.append((task, body["reason"]))
        return 200, {}

    def call(self, call: str, body: Any) -> Tuple[int, Any]:
        with self._change:
            self.asked.append(call)
            try:
                return self._call(call, body)
            finally:
                self._change.notify_all()

    def _call(self, call: str, body: Any) -> Tuple[int, Any]:
        if call == "GET /jobs/self/dataset":
            return (404, {}) if self.dataset is None else (200, {"digest": self.dataset["digest"], **self._known()})
        if call == "PUT /jobs/self/dataset":
            return self._put(body)
        if call == "POST /jobs/self/tasks/lease":
            return self._lease(body)
        if call == "GET /jobs/self/secret":
            return 200, {"secret": self.secret}
        if call == "POST /jobs/self/save-model" and body == {"saved": False}:
            return (422, {"detail": "no call is needed"}) if self.saver is None else (200, {"save_model": self.saver})
        if call.startswith("POST /jobs/self/tasks/"):
            return self._end(call.rsplit("/", 1)[1], body)
        return 404, {"detail": call}
