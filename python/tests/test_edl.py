# SPDX-License-Identifier: Apache-2.0
"""The module against an agent that says whatever the test wants; tests/unit/test_libedl.c asks the same of the library."""
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from typing import Any, List, Optional, Tuple

import edl
from edl import _call
from edl._patience import Patience

HEAD = "HTTP/1.1 {}\r\nContent-Type: application/json\r\n"
HELD = "held"  # nothing is said until the client goes
UNREAD = "unread"  # refused before it is read, as too large
HANG_S = 120.0


def says(value: Any, status: str = "200 OK") -> str:
    body = json.dumps(value)
    return HEAD.format(status) + f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n{body}"


def refuses(status: str, detail: str = "x") -> str:
    return says({"detail": detail, "remedy": "do this"}, status)


def task(number: int) -> str:
    chunks = [{"path": "/data/a", "offset": 4096, "records": 10}]
    return says({"task": {"id": number, "pass": 1, "lease": 9, "chunks": chunks}})


def peer(rank: int) -> Any:
    return {"rank": rank, "index": 4, "incarnation": 12, "node": "n1", "address": "10.0.0.1", "ports": [7164]}


class Agent:
    """Each connection gets the next of the answers."""

    def __init__(self, *answers: str) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self._folder.name, "socket")
        self.asked: List[Tuple[str, Optional[Any]]] = []
        self._answers = answers
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(self.path)
        self._socket.listen(8)
        self._thread = threading.Thread(target=self._play, daemon=True)
        self._thread.start()

    def _play(self) -> None:
        for answer in self._answers:
            connection, _ = self._socket.accept()
            with connection:
                if answer == UNREAD:
                    body = '{"detail": "too large"}'
                    head = HEAD.format("413 Content Too Large")
                    connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
                    continue
                self._read(connection)
                if answer == HELD:
                    connection.recv(1)
                else:
                    connection.sendall(answer.encode())
        self._socket.close()

    def _read(self, connection: socket.socket) -> None:
        with connection.makefile("rb") as stream:
            method, target, _ = stream.readline().decode().split(" ")
            size = 0
            for line in iter(stream.readline, b"\r\n"):
                if line.lower().startswith(b"content-length:"):
                    size = int(line.split(b":")[1])
            body = stream.read(size)
        self.asked.append((f"{method} {target}", json.loads(body) if body else None))

    def __enter__(self) -> "Agent":
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self._thread.join(HANG_S)
            assert not self._thread.is_alive(), "not all answers were asked for"
        self._folder.cleanup()

    def client(self, patience: float = HANG_S) -> edl.Client:
        return edl.Client(self.path, patience)


class Beside(Agent):
    """Connections are answered beside each other; a question for a task is, when the test says so."""

    def __init__(self, *answers: str) -> None:
        self.go_on = threading.Event()
        self.came = threading.Event()
        super().__init__(*answers)

    def _play(self) -> None:
        threads = []
        for answer in self._answers:
            connection, _ = self._socket.accept()
            threads.append(threading.Thread(target=self._answer, args=(connection, answer)))
            threads[-1].start()
        for thread in threads:
            thread.join()
        self._socket.close()

    def _answer(self, connection: socket.socket, answer: str) -> None:
        with connection:
            self._read(connection)
            if self.asked[-1][0].endswith("/lease"):
                self.came.set()
                self.go_on.wait(2 * HANG_S)
            connection.sendall(answer.encode())


class Stopping(Agent):
    """Stops its caller within the first call for longer than that one waits. It says the first answer as the caller
    goes on, or meanwhile."""

    def __init__(self, *answers: str, meanwhile: bool = False) -> None:
        self.callers: "queue.Queue[int]" = queue.Queue()
        self._meanwhile = meanwhile
        super().__init__(*answers)

    def _read(self, connection: socket.socket) -> None:
        super()._read(connection)
        if len(self.asked) == 1:
            caller = self.callers.get(timeout=120)
            os.kill(caller, signal.SIGSTOP)
            goes_on = threading.Timer(8, os.kill, (caller, signal.SIGCONT))
            goes_on.start()
            if not self._meanwhile:
                goes_on.join()


class Test(unittest.TestCase):
    def test_self(self) -> None:
        found = {"EDL_JOB": "mnist", "EDL_JOB_ID": "12", "EDL_ROLE": "trainer", "EDL_INDEX": "3", "EDL_INCARNATION": "40"}
        me = edl.Self.read({**found, "EDL_PORTS": "7164,7165"})
        self.assertEqual((me.job, me.job_id, me.index, me.ports, me.dataset), ("mnist", 12, 3, (7164, 7165), ""))
        for name in found:
            with self.assertRaisesRegex(edl.NotInJob, f"{name} is not set.*edl submit"):
                edl.Self.read({key: value for key, value in found.items() if key != name})
        with self.assertRaises(edl.NotInJob):
            edl.Self.read({**found, "EDL_INDEX": "x"})
        os.environ.pop("EDL_SOCKET", None)
        with self.assertRaises(edl.NotInJob):
            edl.tasks()

    def test_several_tasks(self) -> None:
        def some(*ids: int) -> str:
            return says({"tasks": [{"id": i, "pass": 1, "lease": 9, "chunks": []} for i in ids]})

        def of_pass(code: str, detail: str) -> str:
            body = json.dumps({"detail": detail, "code": code})
            return f"HTTP/1.1 409 Conflict\r\nContent-Type: application/problem+json\r\n\r\n{body}"

        counted = says({"pass_ended": False, "results": [{"task": 5, "counted": True}, {"task": 6, "counted": False}]})
        answers = (
            [some(5, 6, 7), counted, says({"results": []})]
            + [of_pass("pass-before", "pass number smaller than master")]
            + [of_pass("pass-after", "pass number larger than master"), of_pass("no-more-task", "no more available task")]
            + [of_pass("all-tasks-failed", "all task finished"), of_pass("no-more-task", "x"), some(8)]
            + [says({"finished": True, "save_model": True})]
        )
        with Agent(*answers) as agent:
            client = agent.client()
            tasks = client.next_tasks(3, 0, pass_number=1)
            self.assertEqual([task.id for task in tasks], [5, 6, 7])
            self.assertEqual(agent.asked[-1][1], {"n": 3, "pass": 1, "known": [], "wait": 0})
            self.assertEqual(client.finish(tasks[:2]), [True, False])
            said = [{"task": i, "pass": 1, "lease": 9} for i in (5, 6)]
            self.assertEqual(agent.asked[-1], ("POST /jobs/self/tasks/finish", {"tasks": said}))
            with self.assertRaises(edl.BadAnswer):
                client.finish(tasks[2:])
            with self.assertRaisesRegex(edl.PassBefore, "^pass number smaller than master$"):
                client.next_tasks(2, pass_number=0)
            self.assertEqual(agent.asked[-1][1], {"n": 2, "pass": 0, "known": [7], "wait": 20})
            with self.assertRaisesRegex(edl.PassAfter, "^pass number larger than master$"):
                client.next_tasks(2, 0, pass_number=2)
            with self.assertRaisesRegex(edl.NoMoreTasks, "^no more available task$"):
                client.next_tasks(2, 0, pass_number=1)
            with self.assertRaisesRegex(edl.AllTasksFailed, "^all task finished$"):
                client.next_tasks(2, pass_number=1)
            self.assertEqual([task.id for task in client.next_tasks(2, pass_number=1)], [8])  # it had come back
            self.assertEqual(client.next_tasks(2), [])
            self.assertTrue(client.elected)

    def test_tasks(self) -> None:
        answers = (
            [refuses("404 Not Found"), says({"tasks": 1}), refuses("409 Conflict"), says({"wait": True}), task(5), task(6)]
            + [says({}), task(7), refuses("409 Conflict"), says({}), says({"finished": True, "save_model": True}), says({})]
            + [says({"finished": True, "save_model": False})]
        )
        lease = "POST /jobs/self/tasks/lease"
        with Agent(*answers) as agent:
            client = agent.client()
            self.assertFalse(client.dataset_exists())
            self.assertTrue(client.put_dataset("abc", [[edl.Chunk("/data/a", 7, 8)]]))
            chunk = {"path": "/data/a", "offset": 7, "records": 8}
            self.assertEqual(agent.asked[1][1], {"digest": "abc", "tasks": [{"chunks": [chunk]}]})
            self.assertFalse(client.put_dataset("other", []))
            five = client.next_task()
            assert five is not None
            self.assertEqual((five.id, five.pass_number, five.lease), (5, 1, 9))
            self.assertEqual(five.chunks, (edl.Chunk("/data/a", 4096, 10),))
            six = client.next_task(0)
            assert six is not None
            self.assertEqual(agent.asked[-1], (lease, {"known": [5], "wait": 0}))
            self.assertTrue(five.done())
            self.assertEqual(agent.asked[-1][1], {"task": 5, "pass": 1, "lease": 9})
            seven = client.next_task(0.1)
            assert seven is not None
            self.assertEqual(agent.asked[-1], (lease, {"known": [6], "wait": 1}))
            self.assertFalse(six.done())
            with self.assertRaises(RuntimeError), seven:
                raise RuntimeError("cannot read")
            self.assertEqual(agent.asked[-1][0], "POST /jobs/self/tasks/fail")
            self.assertEqual(agent.asked[-1][1]["reason"], "RuntimeError: cannot read")
            self.assertIs(agent.asked[-1][1]["returned"], False)
            self.assertEqual(list(client.tasks()), [])
            self.assertEqual(agent.asked[-1], (lease, {"known": [], "wait": 20}))
            self.assertTrue(client.elected)
            client.model_saved("/out/model")
            self.assertIsNone(client.next_task())
            self.assertFalse(client.elected)

    def test_threads_take_turns(self) -> None:
        with Beside(task(5), says({"wait": True}), says({}), task(6)) as agent:
            client = agent.client(5.0)
            agent.go_on.set()
            five = client.next_task()
            assert five is not None
            agent.go_on.clear()
            agent.came.clear()
            taken: List[Any] = []
            waiter = threading.Thread(target=lambda: taken.append(client.next_task()))
            waiter.start()  # is asked for, but the answer is not there
            self.assertTrue(agent.came.wait(HANG_S))
            self.assertTrue(five.done())
            timeouts: List[bool] = []

            def look() -> None:
                try:
                    client.next_task(0)
                except edl.Timeout:
                    timeouts.append(True)

            looker = threading.Thread(target=look, daemon=True)
            looker.start()  # nor is it for this one, which was not to wait
            looker.join(HANG_S)
            in_time = not looker.is_alive()
            agent.go_on.set()
            waiter.join(HANG_S)
            self.assertTrue(in_time, "a thread that was to look once waits for another one")
            self.assertTrue(timeouts)
            self.assertEqual([t.id for t in taken], [6])
            lease = "POST /jobs/self/tasks/lease"
            known = [body["known"] for what, body in agent.asked if what == lease and body is not None]
            self.assertEqual(known, [[], [5], []])  # done meanwhile: no longer in the same wait

    def test_what_is_no_socket(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "file")
            with open(file, "w"):
                pass
            wrong = {file: "file is not a socket", folder: "is not a socket", "socket": "absolute", "/" + "x" * 108: "107 bytes"}
            for path, why in wrong.items():
                with self.assertRaisesRegex(edl.NotInJob, f"{why}.*EDL_SOCKET"):
                    edl.Client(path)
            edl.Client(os.path.join(folder, "later"))  # of an agent that is being restarted
            os.environ["EDL_SOCKET"] = file
            try:
                with self.assertRaisesRegex(edl.NotInJob, "is not a socket"):
                    edl.Client()
            finally:
                del os.environ["EDL_SOCKET"]

    def test_one_without_a_word(self) -> None:
        with Agent(task(5), task(6), says({"finished": True}), task(7), says({}), task(8), says({})) as agent:
            client = agent.client()
            for _ in client.tasks():
                del _
            self.assertEqual([asked[1]["known"] for asked in agent.asked], [[], [], []])
            with self.assertRaises(SystemExit), client.next_task():  # type: ignore[union-attr]
                raise SystemExit
            self.assertIs(agent.asked[-1][1]["returned"], True)
            with client:
                held = client.next_task()
            self.assertIs(agent.asked[-1][1]["returned"], True)
            del held

    def test_world(self) -> None:
        joined = {"generation": 3, "rank": 1, "world_size": 2, "master": {"address": "10.0.0.1", "port": 7164}}
        both = {**joined, "members": [peer(0), {**peer(1), "note": "é\n"}]}
        over = [says({"generation": 3, "over": False}), says({"generation": 3, "over": True})]
        with Agent(says({"wait": True}), says(both), *over, says({"leaving": True}), says({"wait": True})) as agent:
            client = agent.client()
            for world in client.worlds(note="here"):
                self.assertEqual([member.note for member in world.members], ["", "é\n"])
                self.assertEqual((world.generation, world.rank, world.size), (3, 1, 2))
                self.assertEqual(world.members[1].ports, (7164,))
                self.assertEqual((world.master_address, world.master_port), ("10.0.0.1", 7164))
                self.assertFalse(world.over())
                self.assertTrue(world.over(None))
                self.assertEqual(agent.asked[-1][1], {"generation": 3, "wait": 20})
            self.assertEqual(agent.asked[-1][1], {"after": 3, "note": "here", "wait": 20})
            with self.assertRaises(edl.Timeout):
                client.join(3, 0)

    def test_hosts_and_services(self) -> None:
        def service(version: int) -> str:
            return says({"service": "teach.server", "job_id": 8, "version": version, "processes": [peer(0)]})

        hosts = {"role": "pserver", "want": 2, "hosts": [{**peer(0), "state": "preparing"}]}
        with Agent(says(hosts), service(7), service(7), service(8), refuses("404 Not Found", "none")) as agent:
            client = agent.client()
            self.assertEqual(client.hosts("pserver").peers[0].state, "preparing")
            first = client.service("teach")
            with self.assertRaises(edl.Timeout):
                client.service_after(first, 0)
            self.assertEqual(client.service_after(first).version, 8)
            self.assertEqual(agent.asked[3][0], "GET /services/teach.server?after=7&wait=20")
            with self.assertRaisesRegex(edl.NotFound, "none: do this"):
                client.service("../a b?")
            self.assertEqual(agent.asked[4][0], "GET /services/..%2Fa%20b%3F")

    def test_a_promise_is_kept_and_taken_back(self) -> None:
        said: List[float] = []
        third = threading.Event()

        def say(within: float) -> None:
            said.append(within)
            if len(said) == 3:
                third.set()
            if len(said) == 2 or said.count(0) == 1:
                raise edl.Unreachable("the agent is being restarted")

        with edl.KeepAlive(say, 0.06) as alive:
            self.assertTrue(third.wait(60))
        alive._thread.join(60)
        self.assertEqual(said, [0.06] * (len(said) - 2) + [0, 0])

    def test_what_is_told(self) -> None:
        stopping = [says({"stopping": False}), says({"stopping": True})]
        answers = [HEAD.format("204 No Content") + "\r\n", refuses("400 Bad Request", "17 members"), says({}), HEAD.format("204 No Content") + "\r\n"]
        with Agent(*answers, *stopping, refuses("403 Forbidden")) as agent:
            client = agent.client()
            client.progress(step=12)
            self.assertEqual(agent.asked[0], ("POST /processes/self/progress", {"step": 12}))
            with self.assertRaisesRegex(edl.Refused, "17 members"):
                client.progress()
            client.metrics(loss=0.5)
            client.alive(3)
            self.assertEqual(agent.asked[3], ("POST /processes/self/alive", {"within_s": 3}))
            self.assertEqual([client.checkpoint_done(), client.checkpoint_done()], [False, True])
            with self.assertRaises(edl.Refused) as caught:
                client.checkpoint_done()
            self.assertEqual(caught.exception.status, 403)

    def test_secret(self) -> None:
        with Agent(says({"secret": "00ff" * 16})) as agent:
            self.assertEqual(agent.client().secret(), b"\x00\xff" * 16)
            self.assertEqual(agent.asked, [("GET /jobs/self/secret", None)])

    def test_bad_answers(self) -> None:
        joined = {"generation": 1, "rank": 0, "world_size": 1, "master": {"address": "a", "port": 1}}
        head = HEAD.format("200 OK")
        chunk = {"path": "a", "offset": 0, "records": 1}
        one = {"id": 1, "pass": 1, "lease": 1, "chunks": [chunk]}
        cases: List[Tuple[str, str, type]] = [
            ("next_task", says({}), edl.BadAnswer),
            ("next_task", says([]), edl.BadAnswer),
            ("next_task", head + "\r\n{", edl.BadAnswer),
            ("next_task", head + "\r\n" + "[" * 100000, edl.BadAnswer),
            ("next_task", says({"wait": 1}), edl.BadAnswer),
            ("next_task", says({"task": 7}), edl.BadAnswer),
            ("next_task", says({"task": {**one, "id": -1}}), edl.BadAnswer),
            ("next_task", says({"task": {**one, "id": True}}), edl.BadAnswer),
            ("next_task", says({"task": {**one, "chunks": {}}}), edl.BadAnswer),
            ("next_task", says({"task": {**one, "chunks": [{**chunk, "records": 1 << 32}]}}), edl.BadAnswer),
            ("next_task", says({"task": {**one, "chunks": [{**chunk, "path": 7}]}}), edl.BadAnswer),
            ("join", says({**joined, "generation": 0}), edl.BadAnswer),
            ("join", says({**joined, "rank": 1}), edl.BadAnswer),
            ("join", says({**joined, "members": [peer(1)]}), edl.BadAnswer),
            ("join", says({**joined, "master": {"address": "a", "port": 65536}}), edl.BadAnswer),
            ("join", says({**joined, "members": [{**peer(0), "note": 7}]}), edl.BadAnswer),
            ("hosts", says({"want": 1, "hosts": [7]}), edl.BadAnswer),
            ("hosts", says({"want": 1, "hosts": [{**peer(0), "ports": [70000]}]}), edl.BadAnswer),
            ("checkpoint_done", says({"stopping": 1}), edl.BadAnswer),
            ("secret", says({}), edl.BadAnswer),
            ("secret", says({"secret": "0a" * 31}), edl.BadAnswer),
            ("secret", says({"secret": "0A" * 32}), edl.BadAnswer),
            ("secret", says({"secret": " " + "0a" * 31 + "0"}), edl.BadAnswer),
            ("secret", refuses("404 Not Found"), edl.NotFound),
            ("next_task", head + "Content-Length: 99999999999\r\n\r\n{", edl.BadAnswer),
            ("next_task", refuses("409 Conflict"), edl.Stale),
            ("next_task", refuses("500 Internal Server Error"), edl.Refused),
            ("next_task", refuses("302 Found"), edl.Refused),
            # without patience these are the end of it
            ("next_task", refuses("503 Service Unavailable"), edl.Unreachable),
            ("next_task", head + 'Content-Length: 40\r\n\r\n{"finished"', edl.Unreachable),
            ("next_task", head + 'Transfer-Encoding: chunked\r\n\r\n5\r\n{"a', edl.Unreachable),
            ("next_task", "HTTP/1.1 200 O", edl.Unreachable),
            ("next_task", "", edl.Unreachable),
            ("next_task", "SSH-2.0-OpenSSH_9.2\r\n", edl.Unreachable),
            ("checkpoint_done", HELD, edl.Unreachable),
        ]
        for name, answer, kind in cases:
            with self.subTest(call=name, answer=answer[:200]), Agent(answer) as agent:
                began = time.monotonic()
                with self.assertRaises(kind) as caught:
                    client = agent.client(0.0 if kind is edl.Unreachable else HANG_S)
                    getattr(client, name)(*([0, 0] if name == "join" else [0] if name == "next_task" else []))
                self.assertIs(type(caught.exception), kind)
                self.assertLess(time.monotonic() - began, HANG_S)

    def test_too_large_without_a_length(self) -> None:
        most = _call.ANSWER_MAX_BYTES
        try:
            _call.ANSWER_MAX_BYTES = 1000
            with Agent(HEAD.format("200 OK") + "\r\n" + "[" * 2000) as agent, self.assertRaises(edl.BadAnswer):
                agent.client().next_task(0)
            with Agent(HEAD.format("200 OK") + '\r\n{"wait": true}') as agent, self.assertRaises(edl.Timeout):
                agent.client().next_task(0)
        finally:
            _call.ANSWER_MAX_BYTES = most

    def test_it_is_waited_for(self) -> None:
        away = ["", refuses("503 Service Unavailable"), refuses("507 Insufficient Storage"), refuses("429 Too Many")]
        cut = HEAD.format("200 OK") + 'Content-Length: 9\r\n\r\n{"stop'
        with Agent(*away, cut, says({"stopping": True}), "", says({"wait": True})) as agent:
            client = agent.client(patience=1000)
            self.assertTrue(client.checkpoint_done())
            self.assertEqual(agent.asked, [agent.asked[0]] * 6)  # the same call each time
            with self.assertRaises(edl.Timeout):
                client.next_task(0)

    def test_time_that_a_process_stood_still_is_not_waited(self) -> None:
        done = "edl.Client(sys.argv[1], patience=6).checkpoint_done()"
        stopping = says({"stopping": True})
        cases = [  # all at once, as each takes as long as its process is stopped
            ("patience", done, Stopping(refuses("503 Service Unavailable"), stopping, meanwhile=True)),
            ("one call", done, Stopping(stopping)),
            ("limit", "edl.Client(sys.argv[1]).next_task(6)", Stopping(says({"wait": True}), task(1), meanwhile=True)),
        ]
        children = []
        for _, call, agent in cases:
            code = f"import sys, edl; sys.exit(0 if {call} else 3)"
            children.append(subprocess.Popen([sys.executable, "-c", code, agent.path]))
            agent.callers.put(children[-1].pid)
        ends = [child.wait(120) for child in children]
        self.assertEqual(list(zip([name for name, _, _ in cases], ends)), [(name, 0) for name, _, _ in cases])
        for _, _, agent in cases:
            with agent:
                pass

    def test_a_turn_is_waited_for_no_longer_than_the_limit(self) -> None:
        lock = threading.Lock()
        lock.acquire()
        limit = Patience(_call.LATE_S)  # nothing is left of it: an agent still answers at once
        with self.assertRaisesRegex(edl.Timeout, "for another thread"), _call._turn(lock, limit, "x"):
            self.fail("two threads ask at once")
        lock.release()
        with _call._turn(lock, limit, "x"):
            self.assertTrue(lock.locked())
        self.assertFalse(lock.locked())

    def test_patience_spends_what_was_waited(self) -> None:
        now = 100.0
        patience = Patience(10.0, lambda: now)
        for took, left in ((1.0, 9.0), (0.25, 8.75), (3.0, 5.75), (3.5, 4.75), (900.0, 3.75), (-5.0, 3.75)):
            self.assertEqual(patience.plan(1.0), 1.0)
            now += took
            patience.spend()
            self.assertEqual(patience.left, left)
        self.assertEqual(patience.plan(9.0), 3.75)
        now += 4.0
        patience.spend()
        self.assertTrue(patience.over)
        self.assertTrue(Patience(-1.0).over)

    def test_nobody_there(self) -> None:
        client = edl.Client("/nonexistent/socket", patience=0.1)
        with self.assertRaisesRegex(edl.Unreachable, "/nonexistent/socket"):
            client.hosts()
        client.progress(step=1)  # nothing depends on it

    def test_steps_are_added_up_and_told_once_a_second(self) -> None:
        with Agent(says({}), says({}), says({})) as agent:
            client = agent.client()
            begun = time.monotonic()
            client.step(4, step=41, compute=3e-6, wait=1e-6)
            n = 1
            while len(agent.asked) < 2 and time.monotonic() < begun + 30:
                client.step(4, compute=3e-6, wait=1e-6)
                n += 1
            self.assertGreater(time.monotonic() - begun, 0.9)
            client.step(4, compute=3e-6, wait=1e-6)
            n += 1
            client.steps.end()
            while len(agent.asked) < 3 and time.monotonic() < begun + 30:
                time.sleep(0.01)
        self.assertEqual({path for path, _ in agent.asked}, {"POST /processes/self/steps"})
        told = [body for _, body in agent.asked if body is not None]
        self.assertEqual((told[0]["step"], told[0]["steps"]), (41, 1))
        self.assertEqual(sum(body["steps"] for body in told), n)
        self.assertEqual(sum(body["samples"] for body in told), 4 * n)
        self.assertEqual(told[2]["step"], 40 + n)
        self.assertLessEqual(abs(sum(body["compute_us"] for body in told) - 3 * n), 3)
        self.assertLessEqual(abs(sum(body["wait_us"] for body in told) - n), 3)

    def test_steps_that_nobody_took_are_told_again(self) -> None:
        with Agent("", refuses("503 Service Unavailable"), says({}), says({})) as agent:
            client = agent.client()
            end = time.monotonic() + 30
            n = 0
            while len(agent.asked) < 3 and time.monotonic() < end:
                client.step(1)
                n += 1
            client.step(1)
            client.steps.end()
            while len(agent.asked) < 4 and time.monotonic() < end:
                time.sleep(0.01)
        told = [body["steps"] for _, body in agent.asked if body is not None]
        self.assertEqual(told[2] + told[3], n + 1)

    def test_steps_never_wait_and_raise_nothing(self) -> None:
        for answers, seconds in ((HELD,), 1.3), ((refuses("403 Forbidden"), says({})), 2.3):
            with Agent(*answers) as agent:
                client = agent.client()
                end = time.monotonic() + seconds
                while time.monotonic() < end:
                    client.step(1)
                self.assertEqual(len(agent.asked), 1)
                client.steps.end()
        gone = edl.Client("/nonexistent/socket")
        for _ in range(3):
            gone.step(1)
        gone.steps.end()

    def test_waits_are_no_work(self) -> None:
        with Agent(says({}), says({})) as agent:
            client = agent.client()
            client.step(1, step=7)
            with client.waiting():
                time.sleep(0.3)
            client.step(1)
            client.steps.end()
        body = agent.asked[1][1] or {}
        self.assertEqual(body["step"], 8)
        self.assertGreaterEqual(body["wait_us"], 300000)
        self.assertLess(body["compute_us"], 300000)

    def test_a_fork_tells_nothing_of_its_parent(self) -> None:
        with Agent(says({}), says({}), says({})) as agent:
            client = agent.client()
            for _ in range(3):
                client.step(1)
            child = os.fork()
            if child == 0:
                client.steps.end()
                os._exit(0)
            os.waitpid(child, 0)
            client.steps.end()
            client.step(1)
            client.steps.end()
        self.assertEqual([body["steps"] for _, body in agent.asked if body is not None], [1, 2, 1])

    def test_steps_that_cannot_be(self) -> None:
        client = edl.Client("/nonexistent/socket")
        nonsense = {"samples": -1}, {"samples": 1 << 53}, {"step": -1}, {"wait": -0.1}, {"wait": float("nan")}, {"compute": float("inf")}
        for bad in nonsense:
            with self.assertRaises(ValueError, msg=str(bad)):
                client.step(**{"samples": 1, **bad})  # type: ignore[arg-type]
        with self.assertRaises(TypeError):
            client.step(1.5)  # type: ignore[arg-type]
        self.assertEqual(client.steps._untold.steps, 0)

    def test_outside_of_a_job_steps_do_nothing(self) -> None:
        self.assertNotIn("EDL_SOCKET", os.environ)
        edl.step(32)
        with edl.waiting():
            pass
        edl.step(32, wait=0.5)
        with self.assertRaises(edl.NotInJob):
            edl.progress(step=1)

    def test_progress_is_tried_once(self) -> None:
        with Agent(refuses("503 Service Unavailable")) as agent:
            agent.client().progress(step=1)
            self.assertEqual(len(agent.asked), 1)
        with Agent(refuses("400 Bad Request", "no such figure")) as agent:
            with self.assertRaisesRegex(edl.Refused, "no such figure"):
                agent.client().progress(step=1)

    def test_a_reason_may_be_anything(self) -> None:
        with Agent(task(1), says({})) as agent:
            one = agent.client().next_task()
            assert one is not None
            self.assertTrue(one.failed("no \udc80 file\0"))
            self.assertEqual(agent.asked[1][1]["reason"], "no ? file?")  # type: ignore[index]

    def test_a_signal_ends_a_wait(self) -> None:
        def on_signal(*_: object) -> None:
            raise SystemExit

        before = signal.signal(signal.SIGALRM, on_signal)
        try:
            with Agent(HELD) as agent:
                began = time.monotonic()
                signal.setitimer(signal.ITIMER_REAL, 0.2)
                with self.assertRaises(SystemExit):
                    agent.client().next_task()
                self.assertLess(time.monotonic() - began, HANG_S)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def test_large_body(self) -> None:
        tasks = [[edl.Chunk("/data/with/a/long/name/of/its/own")]] * 20000
        with Agent(UNREAD, says({"tasks": 20000})) as agent:
            client = agent.client()
            # refused unread, which is heard all the same
            with self.assertRaisesRegex(edl.Refused, "too large"):
                client.put_dataset("abc", tasks)
            self.assertTrue(client.put_dataset("abc", tasks))


if __name__ == "__main__":
    unittest.main()
