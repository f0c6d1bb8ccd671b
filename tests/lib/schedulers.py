#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plays several schedulers of one cluster for one node, on ports of 127.0.0.1: one leads, others do what lines on stdin say.

    schedulers.py LEASE_S WORKSPACE ARGV-AS-JSON NAME...

Prints "NAME PORT" for each, then, as things happen, "NAME report TERM,STATE,.." for each report that reached it (the term that the
node knows, 0: none), "NAME orders" and "NAME call PATH". Lines on stdin, each answered by "ok":

    lead NAME TERM [unstored]   it takes reports and joins, in that term (0: it has none); unstored: as a sign of life only
    rogue NAME TERM             the same, but it orders that nothing runs
    standby NAME [LEADER]       503, and the address of LEADER in EDL-Leader
    frozen NAME                 it accepts connections and answers nothing, also to calls that came before
    dead NAME                   its port is closed, and each connection
    knows NAME...               these are listed in the answers of all
"""
import http.server
import json
import socket
import sys
import threading

LEASE_US = int(float(sys.argv[1]) * 1000000)
WORKSPACE, ARGV = sys.argv[2], json.loads(sys.argv[3])
lock = threading.Condition()
said = threading.Lock()


def say(*words):
    with said:
        print(*words, flush=True)


class Scheduler:
    def __init__(self, name):
        self.name, self.mode, self.term, self.leader, self.unstored = name, "dead", 0, None, False
        self.run = 0  # of which its numbers of orders are
        self.server, self.connections = None, set()
        self.claim = socket.socket()  # listens to nobody; nobody else gets the port while its scheduler is dead
        self.claim.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.claim.bind(("127.0.0.1", 0))
        self.port = self.claim.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def open(self):
        if self.server is not None:
            return
        me = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self):
                super().setup()
                me.connections.add(self.connection)

            def finish(self):
                me.connections.discard(self.connection)
                super().finish()

            def log_message(self, *unused):
                pass

            def go(self):
                text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                answer = me.answer(self.path, json.loads(text) if text else None)
                if answer is None:
                    self.close_connection = True
                    return
                status, body, leader = answer
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json" if status < 300 else "application/problem+json")
                self.send_header("Content-Length", str(len(data)))
                if leader:
                    self.send_header("EDL-Leader", leader)
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PUT = go

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            allow_reuse_address = True

            def handle_error(self, *unused):
                pass

        self.server = Server(("127.0.0.1", self.port), Handler)
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self):
        if self.server is None:
            return
        self.server.shutdown()
        self.server.server_close()
        self.server = None
        for connection in list(self.connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def facts(self, answer):
        if self.term > 0:
            answer["term"] = self.term
            answer["servers"] = [known[name].url for name in listed]
        return answer

    def orders(self):
        processes = []
        if self.mode == "lead":
            processes = [{"job_id": 1, "role": "trainer", "index": 0, "incarnation": 1, "desired": "run", "grace_us": 1000000, "job": "one",
                          "submitter": "admin", "argv": ARGV, "env": {}, "workspace": WORKSPACE, "cpu_millicores": 100,
                          "memory_bytes": 67108864, "gpus": 0, "ports": []}]
        return self.facts({"version": self.run, "processes": processes, "logs": []})

    def answer(self, path, body):
        if self.mode == "dead":  # told so while its port is still open
            return None
        call = path.split("?")[0].rsplit("/", 1)[1]
        if self.mode == "frozen":
            with lock:
                lock.wait_for(lambda: self.mode != "frozen")
            return None
        if call == "report":
            say(self.name, "report", ",".join([str(body.get("term", 0))] + [p["state"] for p in body["processes"]]))
        elif call not in ("join", "orders", "logs"):
            say(self.name, "call", path)
        if self.mode == "standby":
            return 503, {"title": "standby", "status": 503, "detail": "it does not lead"}, self.leader and known[self.leader].url
        if call == "join":
            return 201, self.facts({"node": "n1", "lease_us": LEASE_US}), None
        if call == "report":
            answer = {"lease_us": LEASE_US, "next_report_us": 5000, "orders_version": self.run}
            if self.unstored:
                answer["stored"] = False
            return 200, self.facts(answer), None
        if call == "orders":
            after = int(path.split("after=")[1].split("&")[0])
            say(self.name, "orders")
            run, mode = self.run, self.mode
            if after == run and "wait=0" not in path:
                with lock:
                    lock.wait_for(lambda: (self.run, self.mode) != (run, mode), timeout=20)
                if self.mode in ("dead", "frozen"):
                    return self.answer(path, body) if self.mode == "frozen" else None
            return 200, self.orders(), None
        if call == "logs":
            return 200, {}, None
        if "slow" in path and self.name != "c":  # it takes as long as this one leads
            with lock:
                lock.wait_for(lambda: self.mode != "lead")
            return self.answer(path, body) if self.mode == "frozen" else None
        return 200, {"from": self.name}, None


def do(word, *args):
    global listed
    if word == "knows":
        listed = list(args)
        return
    one = known[args[0]]
    with lock:
        one.mode = "lead" if word == "lead" else word
        one.term = int(args[1]) if word in ("lead", "rogue") else 0
        one.unstored = "unstored" in args
        one.leader = args[1] if word == "standby" and len(args) > 1 else None
        if word in ("lead", "rogue") and not one.unstored:
            one.run = 1000 * (list(known).index(one.name) + 1) + one.term
        lock.notify_all()
    if word == "dead":
        one.close()
    else:
        one.open()


known = {name: Scheduler(name) for name in sys.argv[4:]}
listed = list(known)
for scheduler in known.values():
    say(scheduler.name, scheduler.port)
for line in sys.stdin:
    do(*line.split())
    say("ok")
