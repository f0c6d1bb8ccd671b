#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plays one side of the calls between agent and scheduler as a recorded version has it, against the other side as it is now.

    wire_play.py agent RECORD VARIANT SERVER JOIN-TOKEN       a node of that version; the job that it is to run is there
    wire_play.py scheduler RECORD VARIANT WORKSPACE           a scheduler; prints the port it listens on

RECORD is one of tests/wire. VARIANT is what another version makes of it: "as-it-was"; "more" has a field that nobody knows in
every object; "less" only those fields that the schema of the calls requires (openapi.json on standard input). "far" speaks
version 9 alone, and has to be refused. "replicated" is of a cluster with several schedulers: answers have a term and addresses,
which the other side may not know; reports of a node that has heard of a term carry it. The agent's side ends when its process was ordered, stopped and forgotten; the
scheduler's when it has seen that. Every recorded answer's, and request's, fields have to be there with their types."""
import copy
import http.client
import http.server
import json
import sys
import threading

FREE = ("labels", "env")  # any name is a good one there
SCHEMAS = {"join": "NodeJoin", "report": "NodeReport", "processes": "ProcessReport", "logs": "LogPush"}
TERM = 7
ANSWERS = {"join": "NodeJoined", "report": "ReportHeard", "orders": "Orders", "processes": "Order"}


def more(value, name=""):
    if isinstance(value, list):
        return [more(v) for v in value]
    if not isinstance(value, dict):
        return value
    grown = {k: v if k in FREE else more(v, k) for k, v in value.items()}
    grown["of_a_later_version"] = {"kind": ["of", 1, None]}
    return grown


def less(value, schema, names):
    """only what the schema requires; of its list of processes the same"""
    required = SCHEMA["components"]["schemas"][names[schema]]["required"]
    kept = {k: v for k, v in value.items() if k in required}
    if "processes" in kept:
        kept["processes"] = [less(p, "processes", names) for p in kept["processes"]]
    return kept


def vary(value, call, names):
    value = copy.deepcopy(value)
    if variant == "more":
        return more(value)
    if variant == "less" and call in names:
        return less(value, call, names)
    if variant == "far":
        value.update(wire=9, wire_oldest=9)
    if variant == "replicated" and call in ("join", "report", "orders"):
        if names is ANSWERS:
            value.update(term=TERM, servers=["http://127.0.0.1:1"])
        elif call == "report":
            value.update(term=TERM)
    return value


def compare(recorded, now, where):
    """what was there has to be there, of the same type; numbers and texts are others"""
    if isinstance(recorded, dict):
        assert isinstance(now, dict), f"{where} is no object: {now}"
        for key, value in recorded.items():
            assert key in now, f"{where}/{key} is not there any more"
            if key not in FREE:
                compare(value, now[key], f"{where}/{key}")
    elif isinstance(recorded, list):
        assert isinstance(now, list), f"{where} is no list: {now}"
        for i, (a, b) in enumerate(zip(recorded, now)):
            compare(a, b, f"{where}/{i}")
    elif recorded is not None:
        assert isinstance(now, type(recorded)), f"{where} was {recorded!r}, is {now!r}"


def states(row):
    return [p["state"] for p in row["request"]["processes"]]


def report_of(*wanted):
    return next(r for r in rows if r["call"] == "report" and states(r) == list(wanted))


def orders_of(desired, first):
    return next(r for r in rows if r["call"] == "orders" and [p["desired"] for p in r["answer"]["processes"]] == desired
                and all(("argv" in p) == first for p in r["answer"]["processes"]))


# --- a node of that version ---


class Node:
    def __init__(self, server, token):
        self.server, self.token, self.credential = server, token, None
        self.join = next(r for r in rows if r["call"] == "join")
        self.sent_us = 1000000

    def call(self, method, path, body, token):
        connection = http.client.HTTPConnection(self.server, timeout=40)
        connection.request(method, path, json.dumps(body) if body is not None else None,
                           {"Authorization": "Bearer " + token, "Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None

    def play(self, row, body):
        body = vary(body, row["call"], SCHEMAS)
        if row["call"] == "join":  # the rest of this program needs the recorded one
            body["credential"] = row["request"]["credential"]
        if "sent_us" in body:
            self.sent_us += 1000
            body["sent_us"] = self.sent_us
        token = self.token if row["call"] == "join" else self.join["request"]["credential"]
        status, answer = self.call(row["method"], row["path"], body, token)
        if variant == "far":
            assert status == 426, f"{row['path']}: {status} {answer}"
            assert "too new" in answer["detail"] and "upgrade the scheduler" in answer["remedy"], answer
            sys.exit(0)
        assert status == row["status"], f"{row['path']}: {status} {answer}"
        if row["answer"] is not None:
            compare(row["answer"], answer, row["path"])
        return answer

    def report(self, *wanted):
        row = report_of(*wanted)
        return self.play(row, row["request"])

    def orders(self, after, wanted, first):
        while True:
            status, answer = self.call("GET", f"/nodes/n1/orders?after={after}&wait=25", None, self.join["request"]["credential"])
            assert status == 200, answer
            after = answer["version"]
            if [p["desired"] for p in answer["processes"]] == wanted:
                compare(orders_of(wanted, first)["answer"], answer, "/orders")
                return after

    def run(self):
        self.play(self.join, self.join["request"])
        self.report()
        after = self.orders(0, ["run"], True)
        self.report("preparing")
        self.report("running")
        for row in rows:
            if row["call"] == "logs" and not row["request"].get("end"):
                self.play(row, row["request"])
        print("running", flush=True)  # now it can be killed
        after = self.orders(after, ["stop"], False)
        self.report("stopping")
        for row in rows:
            if row["call"] == "logs" and row["request"].get("end"):
                self.play(row, row["request"])
        self.report("exited")
        self.orders(after, [], False)
        self.report()


# --- a scheduler of that version ---


class Scheduler:
    """What it orders follows from what the node reported last; a poll waits until that changes."""
    SEQUENCE = [([], None), (["run"], True), (["run"], True), (["stop"], False), (["stop"], False), ([], None)]

    def __init__(self):
        self.changed = threading.Condition()
        self.seen = []  # of the process, in the order of reports
        self.failure = None
        self.reports = 0

    def desired(self):
        if not self.seen:
            return "run"
        return {"preparing": "run", "running": "stop", "stopping": "stop"}.get(self.seen[-1], "")

    def orders(self):
        wanted = [self.desired()] if self.desired() else []
        row = orders_of(wanted, "run" in wanted)
        answer = vary(row["answer"], "orders", ANSWERS)
        if variant == "less":  # one that is to run has these as well; the schema is also of those that are to stop
            for order, whole in zip(answer["processes"], row["answer"]["processes"]):
                order.update({k: whole[k] for k in ("job", "argv") if k in whole})
        for order in answer["processes"]:
            if "workspace" in order:
                order["workspace"] = workspace
        answer["version"] = len(self.seen) + 1
        return answer

    def take_report(self, body):
        row = next((r for r in rows if r["call"] == "report" and states(r) == [p["state"] for p in body["processes"]]), rows[1])
        wanted = copy.deepcopy(row["request"])
        for optional in ("machine", "machine_id"):
            wanted.pop(optional, None)
        compare(wanted, body, "/report")
        if variant == "replicated" and self.reports > 0:
            assert body.get("term") == TERM, f"/report/term is {body.get('term')}"
        self.reports += 1
        with self.changed:
            for process in body["processes"]:
                if process["state"] not in self.seen:  # "preparing" may come again: that is never news
                    self.seen.append(process["state"])
            if self.seen and self.seen[-1] == "exited" and not body["processes"]:
                self.seen.append("forgotten")
            self.changed.notify_all()
        answer = vary(report_of()["answer"], "report", ANSWERS)
        answer["orders_version"] = len(self.seen) + 1
        answer.setdefault("session", 0)
        return answer

    def answer(self, method, path, body):
        call = path.split("?")[0].rsplit("/", 1)[1]
        if call == "join":
            compare({k: v for k, v in rows[0]["request"].items() if k != "machine_id"}, body, "/join")
            return 201, vary(rows[0]["answer"], "join", ANSWERS)
        if call == "report":
            return 200, self.take_report(body)
        if call == "orders":
            after = int(path.split("after=")[1].split("&")[0]) if "after=" in path else 0
            with self.changed:
                self.changed.wait_for(lambda: len(self.seen) + 1 != after, timeout=20)
                return 200, self.orders()
        if call == "logs":
            compare({k: v for k, v in next(r for r in rows if r["call"] == "logs")["request"].items() if k != "keep"}, body, "/logs")
            return 204, None
        return 404, {"title": "not found", "status": 404}


def serve():
    scheduler = Scheduler()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def go(self):
            text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            try:
                status, answer = scheduler.answer(self.command, self.path, json.loads(text) if text else None)
            except AssertionError as failure:
                scheduler.failure = failure
                status, answer = 500, {"title": str(failure), "status": 500}
                with scheduler.changed:
                    scheduler.seen.append("failed")
                    scheduler.changed.notify_all()
            data = b"" if answer is None else json.dumps(answer).encode()
            self.send_response(status)
            if answer is not None:
                self.send_header("Content-Type", "application/json")
            if status != 204:
                self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = go

        def log_message(self, *unused):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    with scheduler.changed:
        done = scheduler.changed.wait_for(lambda: scheduler.failure or "forgotten" in scheduler.seen, timeout=120)
    assert done, f"it did not go on after {scheduler.seen}"
    if scheduler.failure:
        raise scheduler.failure
    # a short state may never have been there when a report was made
    assert [s for s in scheduler.seen if s not in ("preparing", "stopping")] == ["running", "exited", "forgotten"], scheduler.seen


side, record, variant = sys.argv[1:4]
with open(record, encoding="utf-8") as lines:
    rows = [json.loads(line) for line in lines]
SCHEMA = json.load(sys.stdin) if variant == "less" else None
if side == "agent":
    Node(*sys.argv[4:6]).run()
else:
    workspace = sys.argv[4]
    serve()
