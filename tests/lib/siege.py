#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The parts of a siege (tests/integration/167-siege.sh) that stand in no other file: some who attack, and those who are
to notice nothing of it.

    siege.py worker FILE                                a process of a job: each second a task, by EDL_SOCKET
    siege.py people TLS PLAIN ANN OPERATOR SECONDS      one submits, one reads, each second, each time anew
    siege.py rings HOST:PORT TOKEN SECONDS              tokens made and taken away, the audit log, keys
    siege.py documents HOST:PORT TOKEN SECONDS          job documents that take long to read, and callers who leave
    siege.py smuggle SECONDS WHERE...                   heads that two readers read differently
    siege.py stolen HOST:PORT CREDENTIAL PROCESS NODE SECONDS
    siege.py dataset FILE BODY...                       a process of a job: large data sets, one after the other

TLS and PLAIN are HOST:PORT; ANN, OPERATOR and TOKEN are files. Each that attacks prints one line of JSON at its end, and
people one of figures. A worker adds a line of JSON to FILE for each call, a dataset one for each answer."""
import collections
import http.client
import itertools
import json
import os
import socket
import ssl
import sys
import threading
import time

import stolen_node

CALL_S = 20  # a call that is not answered by then has failed; a machine that is busy keeps it
PAUSE_S = 0.1
THREADS = 8
UNVERIFIED = ssl.create_default_context()
UNVERIFIED.check_hostname = False
UNVERIFIED.verify_mode = ssl.CERT_NONE


def split(address):
    host, _, port = address.rpartition(":")
    return host, int(port)


class Unix(http.client.HTTPConnection):
    def __init__(self, path, timeout=CALL_S):
        super().__init__("edl", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def ask_once(connection, method, path, body=None, headers=None):
    """status and body; what is wrong with the connection is status 0"""
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read()
    except (OSError, http.client.HTTPException) as error:
        return 0, repr(error).encode()
    finally:
        connection.close()


def ask(connect, *call):
    """asks until it is answered, as clients do: who is told to come again, or cut off, asks again; the tries come back too"""
    began = time.monotonic()
    tries = []
    while True:
        status, body = ask_once(connect(), *call)
        took = time.monotonic() - began
        if 200 <= status < 300 or took > CALL_S:
            return status, body, took, tries
        tries.append(status if status else body.decode()[:60])
        time.sleep(PAUSE_S)


# --- those who are to notice nothing ---


def worker(file):
    path = os.environ["EDL_SOCKET"]
    with open(file, "a", buffering=1, encoding="utf-8") as out:

        def call(method, target, body=None):
            text = None if body is None else json.dumps(body)
            status, answer, took, tries = ask(lambda: Unix(path), method, target, text)
            said = {"call": target, "status": status, "ms": int(took * 1000), "tries": tries}
            print(json.dumps(said), file=out)
            return json.loads(answer or "{}") if 200 <= status < 300 else {}

        print(json.dumps({"began": os.environ["EDL_INCARNATION"]}), file=out)
        tasks = [{"chunks": [{"path": f"/data/{i}", "offset": 0, "records": 1}]} for i in range(5000)]
        call("PUT", "/jobs/self/dataset", {"digest": "d", "tasks": tasks})
        while True:
            began = time.monotonic()
            task = call("POST", "/jobs/self/tasks/lease", {"known": []}).get("task")
            if task:
                print(json.dumps({"task": task["id"], "lease": task["lease"]}), file=out)
                named = {"task": task["id"], "pass": task["pass"], "lease": task["lease"]}
                call("POST", "/jobs/self/tasks/finish", named)
            call("POST", "/processes/self/progress", {"fraction": 0.5})
            time.sleep(max(0, began + 1 - time.monotonic()))


class Person(threading.Thread):
    def __init__(self, token, seconds, connect, calls):
        super().__init__()
        with open(token, encoding="ascii") as file:
            self.token = file.read().strip()
        self.end = time.monotonic() + seconds
        self.connect = connect
        self.calls = calls
        self.waits, self.failed, self.tries = [], [], collections.Counter()

    def run(self):
        for number in itertools.count():
            began = time.monotonic()
            if began >= self.end:
                return
            method, path, body, headers = self.calls(number)
            headers = {"Authorization": "Bearer " + self.token, **headers}
            status, answer, took, tries = ask(self.connect, method, path, body, headers)
            self.waits.append(took * 1000)
            self.tries.update(str(t) for t in tries)
            if not 200 <= status < 300:
                self.failed.append([status, answer.decode()[:200]])
            time.sleep(max(0, began + 1 - time.monotonic()))

    def figures(self):
        waits = sorted(self.waits)
        return {
            "calls": len(waits),
            "failed": self.failed,
            "tries": self.tries,
            "median_ms": round(waits[len(waits) // 2]),
            "longest_ms": round(waits[-1]),
        }


def submission(number):
    role = {"role": "trainer", "command": ["true"], "min": 1, "max": 1, "cpu": "10m"}
    job = {"name": f"in-{number}", "roles": [role]}
    return "POST", "/jobs", json.dumps(job), {"Idempotency-Key": f"ann-{number}"}


def reading(number):
    return "GET", ("/jobs/ann-n1", "/nodes", "/metrics")[number % 3], None, {}


def people(tls, plain, ann, operator, seconds):
    def over_tls():
        return http.client.HTTPSConnection(*split(tls), timeout=CALL_S, context=UNVERIFIED)

    def in_plain():
        return http.client.HTTPConnection(*split(plain), timeout=CALL_S)

    both = {
        "submit": Person(ann, float(seconds), over_tls, submission),
        "read": Person(operator, float(seconds), in_plain, reading),
    }
    for one in both.values():
        one.start()
    for one in both.values():
        one.join()
    return {name: one.figures() for name, one in both.items()}


# --- those who attack ---


def together(seconds, work):
    """work(tell) again and again in some threads; how often what was told"""
    told = collections.Counter()
    end = time.monotonic() + float(seconds)

    def run():
        while time.monotonic() < end:
            work(lambda what: told.update([str(what)]))

    threads = [threading.Thread(target=run) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return told


def rings(address, token, seconds):
    with open(token, encoding="ascii") as file:
        headers = {"Authorization": "Bearer " + file.read().strip()}
    keys = itertools.count()

    def work(tell):
        connection = http.client.HTTPConnection(*split(address), timeout=CALL_S)

        def call(method, path, body=None):
            more = {"Idempotency-Key": f"ring-{next(keys)}"} if method == "DELETE" else {}
            connection.request(method, path, body, {**headers, **more})
            answer = connection.getresponse()
            tell(answer.status)
            return json.loads(answer.read())

        try:
            while time.monotonic() < end:
                made = call("POST", "/tokens", '{"ttl_s": 3600}')
                call("DELETE", f"/tokens/{made.get('id', 1)}")
                call("GET", "/audit?limit=1000")
                call("GET", "/tokens")
        except (OSError, ValueError, http.client.HTTPException):
            tell("closed")
        finally:
            connection.close()

    end = time.monotonic() + float(seconds)
    return together(seconds, work)


def worst(most):
    """documents of at most so many bytes, each slow to read in a way of its own; none is a job"""

    def fill(begin, piece, end):
        pieces = ((piece % i if "%" in piece else piece) for i in itertools.count())
        text, size = [begin], len(begin) + len(end)
        for one in pieces:
            size += len(one)
            if size > most:
                return "".join(text) + end
            text.append(one)

    return [
        fill("", "%%TAG !%06x! a\n", "--- a"),
        fill('{"env":{"A":"1"', ',"A%06x":"0123456789"', "}}"),
        fill("a: 1\n", "a%06x: 0123456789\n", ""),
        fill("a:\n", "- &a%06x 01234567\n", ""),
        fill('{"a":"', "a", '"}'),
    ]


def documents(address, token, seconds):
    headers = {"Content-Type": "application/yaml"}
    with open(token, encoding="ascii") as file:
        headers["Authorization"] = "Bearer " + file.read().strip()
    bodies = itertools.cycle(worst(255 << 10) + worst(924000)[:1])
    leaves = itertools.cycle((False, False, True))

    def work(tell):
        connection = http.client.HTTPConnection(*split(address), timeout=CALL_S)
        try:
            connection.request("POST", "/jobs", next(bodies), headers)
            tell("left" if next(leaves) else connection.getresponse().status)
        except (OSError, http.client.HTTPException):
            tell("closed")
        finally:
            connection.close()

    return together(seconds, work)


def arrays(address, token, seconds):
    """arrays of 1,000 jobs, submitted and killed: they are to leave memory as fast as they come"""
    with open(token, encoding="ascii") as file:
        headers = {"Authorization": "Bearer " + file.read().strip(), "Content-Type": "application/json"}
    numbers = itertools.count()

    role = {"command": ["true"], "min-instance": 1, "max-instance": 1, "resources": {"requests": {"cpu": "500"}}}

    def work(tell):
        name = f"flood-{next(numbers)}"
        document = {"metadata": {"name": name}, "spec": {"array": "0-999", "trainer": role}}
        connection = http.client.HTTPConnection(*split(address), timeout=CALL_S)
        status, _ = ask_once(connection, "POST", "/jobs", json.dumps(document).encode(), headers)
        tell(status)
        if status == 201:
            tell(f"killed {ask_once(connection, 'DELETE', '/arrays/' + name, None, headers)[0]}")
        else:
            time.sleep(PAUSE_S)

    return together(seconds, work)


NEXT = b"GET /jobs/self/hidden HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST /jobs HTTP/1.1\r\nHost: x\r\n"
HEADS = [
    POST + b"Content-Length : 44\r\n\r\n" + NEXT,
    POST + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + NEXT,
    POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n" + NEXT,
    POST + b"Content-Length: 44\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + NEXT,
    POST + b"X: a\nContent-Length: 44\r\n\r\n" + NEXT,
    b"GET /jobs/self HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n" + NEXT,
    b"GET /jobs/self\0/hidden HTTP/1.1\r\nHost: x\r\n\r\n" + NEXT,
    b"GET /" + b"a" * 20000,
    b"X: y\r\n" * 2000,
    b"\x16\x03\x01" + b"\xff" * 500,
]


def smuggle(seconds, *where):
    cases = itertools.cycle(itertools.product(where, HEADS))

    def work(tell):
        address, head = next(cases)
        link = socket.socket(socket.AF_UNIX if address.startswith("/") else socket.AF_INET)
        link.settimeout(CALL_S)
        try:
            link.connect(address if address.startswith("/") else split(address))
            link.sendall(head)
            answer = link.recv(65536)
            tell(answer[9:12].decode() if answer.startswith(b"HTTP/1.1 ") else "closed")
        except OSError:
            tell("closed")
        finally:
            link.close()

    return together(seconds, work)


def stolen(address, credential, process, node, seconds, each=50):
    kinds = itertools.cycle(stolen_node.KINDS)
    held = collections.defaultdict(collections.deque)
    stolen_node.TIMEOUT_S = 3  # who is left to wait by then waits for himself

    def work(tell):
        kind, links = next(kinds), held[threading.get_ident()]
        try:
            call = stolen_node.head(kind, process, credential, node)
            link, status, _ = stolen_node.hold(UNVERIFIED, split(address), *call)
            links.append(link)
            tell(f"{kind} {status}")
        except OSError:
            tell("kept out")
        if len(links) > each:
            links.popleft().close()

    return together(seconds, work)


def dataset(file, *bodies):
    path = os.environ["EDL_SOCKET"]
    texts = []
    for name in bodies:
        with open(name, "rb") as body:
            texts.append(body.read())
    with open(file, "a", buffering=1, encoding="utf-8") as out:
        for text in itertools.cycle(texts):
            status, answer = ask_once(Unix(path, 60), "PUT", "/jobs/self/dataset", text)
            print(json.dumps([status, answer.decode()[:200]]), file=out)
            if status != 200:
                time.sleep(PAUSE_S)


# --- what a worker wrote ---


def worked(file):
    with open(file, encoding="utf-8") as lines:
        said = [json.loads(line) for line in lines]
    calls = [one for one in said if "call" in one]
    return {
        "began": sum("began" in one for one in said),
        "calls": len(calls),
        "failed": [one for one in calls if not 200 <= one["status"] < 300],
        "tries": sum(len(one["tries"]) for one in calls),
        "again": [one for one in said if one.get("lease", 1) > 1],
        "finished": sum(one["call"].endswith("/finish") and one["status"] == 200 for one in calls),
        "longest_ms": max(one["ms"] for one in calls),
    }


PARTS = {part.__name__: part for part in (worker, people, rings, documents, arrays, smuggle, stolen, dataset, worked)}

if __name__ == "__main__":
    print(json.dumps(PARTS[sys.argv[1]](*sys.argv[2:])), flush=True)
