#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Walks the API by its own description: every operation gets a good call and every bad one that its description
makes possible, and every answer is held to its schema.

    openapi_walk.py HOST:PORT ADMIN-TOKEN-FILE JOIN-TOKEN-FILE

The scheduler is one without nodes: the walk is its only client, and the agent of two nodes that do not exist. What a
good call is cannot be read from a description, so GOOD has one for each operation; an operation that is not there
fails the walk."""
import hashlib
import http.client
import json
import sys
import threading
import time

import jsonschema

ARCHIVE = b"what is in it is for nodes to look at"
ARCHIVE_SHA256 = hashlib.sha256(ARCHIVE).hexdigest()
JOB = {"metadata": {"name": "walked"}, "spec": {"fault_tolerant": True, "trainer": {
    "entrypoint": "exec sleep 1000", "min-instance": 1, "max-instance": 2,
    "workspace": "sha256:" + ARCHIVE_SHA256,
    "resources": {"requests": {"cpu": "100m"}}}}}
YAML_JOB = b"metadata: {name: third}\nspec:\n  image: some/image\n  trainer: {entrypoint: 'true', min-instance: 1, resources: {requests: {cpu: 100m}}}\n"
OLDER_JOB = {"name": "older", "entry": "true", "parallelism": 1, "pservers": 0, "cpu": 1,
             "image": "some/image", "after": ["walked"]}
MANY_JOBS = {"name": "many", "array": "0-2", "after": ["walked"], "deadline": "1h", "autoclean": False,
             "trainer": {"entrypoint": "true", "resources": {"requests": {"cpu": "100m"}}}}
STEPS = {"step": 7, "steps": 7, "samples": 448, "compute_us": 900, "wait_us": 100, "age_us": 0}
OFFER = {"address": "127.0.0.1", "cpu_millicores": 1000, "memory_bytes": 1 << 30, "gpus": 0,
         "port_first": 30000, "port_last": 30100}
NOTE = "\"},{\\\n\x1b[31m\u00e9\U0001f600</script>\x7f"
CHUNKS = [{"path": "/data/a", "offset": 0, "records": 10}]


class Walk:
    def __init__(self, server, tokens):
        self.server = server
        self.tokens = tokens
        self.calls = 0
        self.failures = 0
        self.lease = {}
        self.running = None
        self.steps = None
        self.made_token = None
        self.document = json.loads(self.call("GET", "/openapi.json")[2])
        self.begin()

    # --- a job that runs on a node ---

    def must(self, *args, **more):
        status, _, text = self.call(*args, **more)
        if status >= 300:
            sys.exit("FAIL: %s: %d %s" % (args, status, text))
        return json.loads(text)

    def begin(self):
        for role in ("viewer", "user", "operator"):
            self.must("POST", "/users", token=self.tokens["admin"], body={"name": "a-" + role, "role": role})
            made = self.must("POST", "/tokens", token=self.tokens["admin"], body={"user": "a-" + role})
            self.tokens[role] = made["token"]
        for name, who in (("n1", "node"), ("n2", "other_node")):
            joined = self.must("POST", "/nodes/join", token=self.tokens["join"], body=dict(OFFER, node=name))
            self.tokens[who] = joined["credential"]
        self.must("PUT", "/workspaces/" + ARCHIVE_SHA256, token=self.tokens["user"], body=ARCHIVE)
        self.must("POST", "/jobs", token=self.tokens["admin"], body=JOB)
        self.report()
        orders, until = {"processes": []}, time.monotonic() + 60  # the plan may come behind the report's answer
        while not orders["processes"] and time.monotonic() < until:
            orders = self.must("GET", "/nodes/n1/orders", token=self.tokens["node"])
        self.running = {key: orders["processes"][0][key] for key in ("job_id", "role", "index", "incarnation")}
        self.process = "%(job_id)d.%(role)s.%(index)d.%(incarnation)d" % self.running
        for self.steps in (dict(STEPS, samples=-1), "none", dict(STEPS, age_us=1e9), STEPS):  # what is not in order is left out
            told = self.must("GET", "/jobs/walked", token=self.tokens["viewer"])
            if "steps" in told:
                self.fail("steps: %s" % told["steps"])
            self.report()
        told = self.must("GET", "/jobs/walked", token=self.tokens["viewer"])
        if told["steps"] != {"step": 7, "steps": 7, "samples": 448, "samples_per_s": 0, "compute_us": 900, "wait_us": 100}:
            self.fail("steps: %s" % told["steps"])
        self.on_behalf("/jobs/walked/metrics", {"cost": 0.5})
        told = self.must("GET", "/jobs/walked/metrics", token=self.tokens["viewer"])
        if told != {"metrics": {"cost": 0.5}}:
            self.fail("figures: %s" % told)
        policy = self.must("GET", "/policy", token=self.tokens["viewer"])
        if policy["policy"] not in [one["name"] for one in policy["known"]]:
            self.fail("policy: %s" % policy)

    def report_body(self, node="n1"):
        body = dict(OFFER, boot_id="walk", processes=[], machine={"reads_files": True, "sessions": True})
        if node == "n1" and self.running is not None:
            body["processes"] = [dict(self.running, state="running", pid=1234, steps=self.steps)]
        return body

    def report(self):
        """nodes that are silent are lost"""
        for name, who in (("n1", "node"), ("n2", "other_node")):
            body = self.report_body(name)
            status, _, text = self.call("POST", "/nodes/%s/report" % name, token=self.tokens[who], body=body)
            if status == 409:
                self.must("POST", "/nodes/%s/report" % name, token=self.tokens[who],
                          body=dict(body, session=json.loads(text)["session"]))

    def on_behalf(self, path, body):
        return self.must("POST", path, token=self.tokens["node"], headers={"X-EDL-Process": self.process}, body=body)

    def last_pass(self):
        """every task is finished, and the model is to be saved"""
        while True:
            answer = self.on_behalf("/jobs/walked/tasks/lease", {"wait": 0})
            if "finished" in answer:
                return {"saved": True}
            keep_lease(self, answer)
            self.on_behalf("/jobs/walked/tasks/finish", self.lease)

    def lease_again(self):
        keep_lease(self, self.on_behalf("/jobs/walked/tasks/lease", {"wait": 0}))
        return self.lease

    def all_arrive(self, _):
        """every process that the nodes were ordered"""
        for name, who in (("n1", "node"), ("n2", "other_node")):
            for order in self.must("GET", "/nodes/%s/orders" % name, token=self.tokens[who])["processes"]:
                if order["job_id"] == self.running["job_id"]:
                    key = "%(job_id)d.%(role)s.%(index)d.%(incarnation)d" % order
                    self.must("POST", "/jobs/walked/rendezvous", token=self.tokens[who], headers={"X-EDL-Process": key}, body={"wait": 0, "note": NOTE})

    def notes(self, answer):
        """each member has brought one, and it comes back as it was; what is none is refused"""
        if [member["note"] for member in answer["members"]] != [NOTE] * answer["world_size"]:
            self.fail("notes: %s" % answer)
        for note, wanted in (("x" * 1025, 413), ("\u00e9" * 513, 413), (7, 400), ("a\0b", 400)):
            status, _, text = self.call("POST", "/jobs/walked/rendezvous", token=self.tokens["node"],
                                        headers={"X-EDL-Process": self.process}, body={"after": 1, "wait": 0, "note": note})
            pointers = [one["pointer"] for one in json.loads(text).get("errors", [])]
            if status != wanted or (pointers != ["/note"] and note != "a\0b"):
                self.fail("the note %.20r: %d %s" % (note, status, text))

    def asked_read(self):
        """the number of what the node is asked for, once it is"""
        after = ""
        while True:
            orders = self.must("GET", "/nodes/n1/orders?wait=20" + after, token=self.tokens["node"])
            if orders.get("reads"):
                return str(orders["reads"][0]["read"])
            after = "&after=%d" % orders["version"]

    def answer_read(self):
        """as its agent"""
        number = self.asked_read()
        status, _, text = self.call("POST", "/nodes/n1/reads/%s?state=end&offset=0" % number, token=self.tokens["node"], body=b"walked")
        if status != 204:
            self.fail("an answer of the node: %d %s" % (status, text))

    def ask_read(self):
        """somebody waits for a log; the number of that"""
        threading.Thread(target=self.call, daemon=True,
                         args=("GET", "/jobs/walked/processes/trainer/0/log", self.tokens["admin"])).start()
        return self.asked_read()

    def open_session(self):
        """one in the process that runs"""
        return {"session": self.must("POST", "/jobs/walked/sessions", token=self.tokens["admin"], body={"kind": "shell"})["session"]}

    def read_session(self):
        """what the node sends stays until the person has come for it"""
        names = self.open_session()
        sent = lambda: self.call("POST", "/nodes/n1/sessions/%(session)s/in" % names, token=self.tokens["node"], body=b"walked")
        return {"names": names, "meanwhile": sent}

    def answers(self, method, route):
        """how many good ones have begun"""
        text = self.call("GET", "/metrics", token=self.tokens["admin"])[2]
        start = 'edl_http_requests_total{method="%s",route="%s",code="2xx"} ' % (method, route)
        return next(line[len(start):] for line in text.splitlines() if line.startswith(start))

    def read_from_person(self):
        """the session is ended once its node has come"""
        names, route = self.open_session(), "/nodes/{node}/sessions/{session}/out"
        before = self.answers("GET", route)
        def end():
            while self.answers("GET", route) == before:
                time.sleep(0.02)
            ended = self.must("DELETE", "/sessions/%(session)s" % names, token=self.tokens["admin"])
            if ended["state"] != "ended" or ended["cause"] != "killed":
                self.fail("a session that was ended: %s" % ended)
        return {"names": names, "meanwhile": end}

    def push(self):
        return dict(self.running, offset=0, next_offset=6, text="walked")

    def fail(self, text):
        print("FAIL:", text, file=sys.stderr)
        self.failures += 1

    def call(self, method, path, token=None, body=None, headers=None, announced=None):
        """status, headers and text of the answer; announced: the length of a body of which nothing is sent"""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        sent = {"Content-Type": "application/json"}
        if token is not None:
            sent["Authorization"] = "Bearer " + token
        if announced is not None:
            sent["Content-Length"] = str(announced)
            sent["Expect"] = "100-continue"
        sent.update(headers or {})
        connection = http.client.HTTPConnection(self.server, timeout=60)
        self.calls += 1
        try:
            connection.request(method, path, body=data, headers=sent)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode(errors="replace")
        finally:
            connection.close()

    def check(self, operation, what, status, headers, text):
        """the answer is one of those described, word by word"""
        name = "%s, %s: %s" % (operation["operationId"], what, status)
        described = operation["responses"].get(str(status), operation["responses"]["default"])
        content = described.get("content", {})
        media = (headers.get("Content-Type") or "").split(";")[0]
        for header in described.get("headers", {}):
            if headers.get(header) is None and '"dry_run":true' not in text:  # a forecast is of nothing that is there
                self.fail("%s: no %s" % (name, header))
        if headers.get("X-Request-Id") is None:
            self.fail("%s: no X-Request-Id" % name)
        if not content:
            if text:
                self.fail("%s: a body that is not described: %s" % (name, text[:200]))
            return
        if media not in content:
            self.fail("%s: %s instead of %s" % (name, media, list(content)))
            return
        if not media.endswith("json"):
            return
        schema = dict(content[media]["schema"], components=self.document["components"])
        errors = jsonschema.Draft202012Validator(schema).iter_errors(json.loads(text))
        for error in errors:
            self.fail("%s: %s: %s" % (name, error.json_path, error.message[:300]))

    def expect(self, wanted, what, method, path, operation, **more):
        status, headers, text = self.call(method, path, **more)
        if status not in wanted:
            self.fail("%s, %s: status %d instead of %s: %s" % (operation["operationId"], what, status, wanted, text[:300]))
        self.check(operation, what, status, headers, text)
        return status, headers, text

    # --- good calls ---

    def target(self, path, **names):
        for name, value in dict({"job": "walked", "node": "n1", "user": "walker", "group": "walkers", "token": "1", "array": "many", "asset": "page.css", "library": "chart.min.js", "name": "walked.trainer", "sha256": "0" * 64, "role": "trainer", "index": "0", "read": "1", "session": "0" * 32, "scheduler": "n2"}, **names).items():
            path = path.replace("{%s}" % name, value)
        return path

    def who(self, operation):
        """a token that is good for it, and the headers that go with it"""
        callers = operation["x-edl-callers"]
        if "process" in callers:
            return self.tokens["node"], {"X-EDL-Process": self.process}
        if "node" in callers:
            return self.tokens["node"], {}
        if "anybody" in callers:
            return None, {}
        if "login" in callers:
            made = self.must("POST", "/tokens", token=self.tokens["admin"], body={"user": "a-user", "login": True})
            return made["token"], {}
        return self.tokens["admin"], {}

    def good(self, method, path, operation):
        token, headers = self.who(operation)
        self.report()
        for made in GOOD[operation["operationId"]](self):
            self.good_call(method, path, operation, made, token, dict(headers, **made.get("headers", {})))

    def good_call(self, method, path, operation, made, token, headers):
        meanwhile = threading.Thread(target=made.get("meanwhile", lambda: None))
        meanwhile.start()
        wanted = [made["status"]] if "status" in made else [int(s) for s in operation["responses"] if s != "default"]
        status, headers, text = self.expect(wanted, "good", method,
                                            self.target(path, **made.get("names", {})) + made.get("query", ""), operation, token=token,
                                            headers=headers, body=made.get("body"))
        meanwhile.join()
        if "after" in made and status < 300:
            made["after"](self, json.loads(text) if text else None)

    # --- bad calls ---

    def bad(self, method, path, operation):
        token, headers = self.who(operation)
        known = self.target(path)
        public = "anybody" in operation["x-edl-callers"]
        body = {} if "requestBody" in operation else None
        if not public:
            self.expect([401], "no credentials", method, known, operation, body=body, headers=headers)
            self.expect([401], "a wrong token", method, known, operation, body=body, headers=headers, token="0" * 64)
            self.wrong_callers(method, known, operation, body)
        self.expect([400], "an unknown query key", method, known + "?surely_unknown=1", operation, token=token,
                    headers=headers, body=body)
        for name in ("job", "node", "user", "group", "token", "array", "asset", "name", "session"):
            if "{%s}" % name in path and (name == "name" or not ("node" in operation["x-edl-callers"] or "process" in operation["x-edl-callers"])):
                self.expect([404], "an unknown " + name, method, self.target(path, **{name: "nobody"}), operation,
                            token=token, headers=headers, body=body)
        if "requestBody" in operation:
            most = operation["requestBody"]["x-edl-max-bytes"]
            self.expect([413], "an oversized body", method, known, operation, token=token, headers=headers,
                        announced=most + 1)
            for broken in (b"{", b"[]", b"\xff\xfe", b'{"a":1,"a":2}', b"\"text\"", b"[" * 10000):
                self.expect([404] if "{session}" in path else [400, 413, 422], "a malformed body", method, known, operation, token=token, headers=headers, body=broken)
        parameters = {p["name"] for p in operation["parameters"]}
        if "If-Match" in parameters:
            for tag, wanted in (('"something else"', [412]), ("no tag", [400])):
                self.expect(wanted, "If-Match", method, known, operation, token=token, headers=dict(headers, **{"If-Match": tag}), body=body)
        if "If-None-Match" in parameters:
            self.expect([304], "what the caller has", method, known, operation, headers=dict(headers, **{"If-None-Match": "*"}))
            self.expect([200], "what the caller has not", method, known, operation, headers=dict(headers, **{"If-None-Match": '"x", no tag'}))
        if "Last-Event-ID" in parameters:
            self.expect([400], "no revision", method, known, operation, token=token, headers=dict(headers, **{"Last-Event-ID": "x"}))
            self.expect([410], "a revision that is not there", method, known, operation, token=token, headers=dict(headers, **{"Last-Event-ID": "999999"}))
        if "Idempotency-Key" in parameters:
            self.expect([400], "a bad key", method, known, operation, token=token,
                        headers=dict(headers, **{"Idempotency-Key": "two words"}), body=body)

    def wrong_callers(self, method, path, operation, body):
        """whoever is not named may not"""
        order = ["viewer", "user", "operator", "admin"]
        callers = operation["x-edl-callers"]
        least = min([order.index(c) for c in callers if c in order], default=len(order))
        for who in ("viewer", "user", "operator"):
            if who in self.tokens and order.index(who) < least:
                self.expect([401, 403], "as " + who, method, path, operation, body=body, token=self.tokens[who])
        if "join" not in callers:
            self.expect([401, 403], "with a join token", method, path, operation, body=body, token=self.tokens["join"])
        headers = {"X-EDL-Process": self.process}
        self.expect([401, 403], "as another node", method, path, operation, body=body, headers=headers, token=self.tokens["other_node"])
        if operation["operationId"] == "getSecret": # who may do everything is told no secret for all that
            self.expect([403], "as an admin", method, path, operation, body=body, headers=headers, token=self.tokens["admin"])
        if "node" not in callers and "process" not in callers:
            self.expect([401, 403], "as a node", method, path, operation, body=body, headers=headers, token=self.tokens["node"])

    def walk(self):
        operations = [(method.upper(), path, operation) for path, methods in self.document["paths"].items()
                      for method, operation in methods.items()]
        unknown = {o["operationId"] for _, _, o in operations} ^ set(GOOD)
        if unknown:
            self.fail("no good call here, or not described: %s" % sorted(unknown))
            return
        for name, schema in self.document["components"]["schemas"].items():
            try:
                jsonschema.Draft202012Validator.check_schema(schema)
            except jsonschema.SchemaError as error:
                self.fail("the schema %s: %s" % (name, error.message))
        operations.sort(key=lambda o: list(GOOD).index(o[2]["operationId"]))
        for method, path, operation in operations:
            # bad calls want something to be bad about: what is removed is removed behind them
            for call in (self.bad, self.good) if method == "DELETE" else (self.good, self.bad):
                call(method, path, operation)
        print("%d operations, %d calls, %d failures" % (len(operations), self.calls, self.failures))


def keep_lease(walk, answer):
    task = answer["task"]
    walk.lease = {"task": task["id"], "pass": task["pass"], "lease": task["lease"]}


def keep_token(walk, answer):
    walk.made_token = answer["id"]


# In the order in which they are called: a task is leased before it is finished, the job is killed at the end.
GOOD = {
    "getHealth": lambda w: [{}],
    "getReadiness": lambda w: [{}],
    "getVersion": lambda w: [{}],
    "getApi": lambda w: [{}],
    "getPage": lambda w: [{}],
    "getPageLibrary": lambda w: [{"names": {"library": "chart.min.js"}}],
    "getPageAsset": lambda w: [{}, {"names": {"asset": "page.js"}}, {"names": {"asset": "icon.svg"}}],
    "getMetrics": lambda w: [{}],
    "getClusterMetrics": lambda w: [{}],
    "getBackup": lambda w: [{}],
    "getCluster": lambda w: [{}],
    "getPolicy": lambda w: [{}],
    "submitJob": lambda w: [
        {"query": "?dry_run=1", "body": dict(JOB, metadata={"name": "second"})},
        {"query": "?dry_run=1&ports=own", "body": dict(JOB, metadata={"name": "third"})},
        {"query": "?dry_run=1", "body": dict(MANY_JOBS, name="forecast")},
        {"body": dict(JOB, metadata={"name": "second"})},
        {"headers": {"Content-Type": "application/yaml"}, "body": YAML_JOB},
        {"body": OLDER_JOB}, {"body": MANY_JOBS}],
    "listJobs": lambda w: [{}, {"query": "?array=many"}, {"query": "?state=all&limit=1"}, {"query": "?limit=1&cursor=1"},
                           {"query": "?order=newest&fold=1&state=queued,over&user=admin&name=A"}],
    "getJob": lambda w: [{}],
    "listProcesses": lambda w: [{"query": "?state=all"}],
    "explainJob": lambda w: [{}, {"names": {"job": "second"}}],
    "listJobEvents": lambda w: [{"query": "?after=0&limit=1"}],
    "listResizes": lambda w: [{"query": "?after=0"}],
    "getJobHistory": lambda w: [{}, {"query": "?bins=500"}, {"names": {"job": "second"}}],
    "readLogs": lambda w: [{"query": "?role=trainer&index=0"}],
    "listEvents": lambda w: [{"query": "?after=0&wait=1"}, {"query": "?limit=1"}],
    "listHosts": lambda w: [{"query": "?role=trainer"}],
    "meet": lambda w: [{"body": {"wait": 0}, "after": Walk.all_arrive}, {"body": {"note": "too late"}, "after": Walk.notes}, {"body": {"generation": 1, "wait": 0}}],
    "getGeneration": lambda w: [{}],
    "getSecret": lambda w: [{}],
    "listServices": lambda w: [{}],
    "getService": lambda w: [{"names": {"name": "walked.trainer"}}, {"query": "?after=1&wait=5"}],
    "getServiceSecret": lambda w: [{"names": {"name": "walked.trainer"}}],
    "setDataset": lambda w: [{"body": {"digest": "d", "tasks": [{"chunks": CHUNKS}, {"chunks": CHUNKS}]}}],
    "getDataset": lambda w: [{}],
    "getTasks": lambda w: [{}],
    "leaseTask": lambda w: [{"body": {"wait": 0}, "after": keep_lease}],
    "failTask": lambda w: [{"body": dict(w.lease, returned=True)}],
    "finishTask": lambda w: [{"body": w.lease_again()}],
    "modelSaved": lambda w: [{"body": dict(w.last_pass(), saved=False)}, {"body": {"saved": True}}],
    "serverRecovered": lambda w: [{"body": {"source": "checkpoint", "lost": 661, "of": 10140}}],
    "setFigures": lambda w: [{"body": {"loss": 0.5}}],
    "getFigures": lambda w: [{}],
    "putWorkspace": lambda w: [{"names": {"sha256": ARCHIVE_SHA256}, "body": ARCHIVE},
                             {"names": {"sha256": hashlib.sha256(b"other").hexdigest()}, "body": b"other"}],
    "getWorkspace": lambda w: [{"names": {"sha256": ARCHIVE_SHA256}}],
    "listWorkspaces": lambda w: [{}],
    "getCaller": lambda w: [{}],
    "addUser": lambda w: [{"body": {"name": "walker", "role": "viewer"}}],
    "listUsers": lambda w: [{}, {"query": "?limit=1"}],
    "getUser": lambda w: [{}],
    "addGroup": lambda w: [{"body": {"name": "walkers", "guaranteed_permille": 250, "weight": 2}}],
    "listGroups": lambda w: [{}, {"query": "?limit=1&cursor=a"}],
    "getGroup": lambda w: [{}],
    "changeGroup": lambda w: [{"body": {"guaranteed_permille": 300}}, {"body": {"weight": 1}}],
    "changeUser": lambda w: [{"body": {"role": "operator"}}, {"body": {"role": "user", "group": "walkers"}},
                             {"body": {"group": ""}}],
    "removeGroup": lambda w: [{}],
    "addToken": lambda w: [{"body": {"user": "walker", "note": "of the walk", "ttl_s": 3600}, "after": keep_token},
                          {"body": {"user": "walker", "browser": True, "ttl_s": 60}}],
    "login": lambda w: [{"body": {}, "after": lambda w, answer: answer["user"] == "a-user" and not answer["login"] or w.fail("login: %s" % answer)}],
    "listTokens": lambda w: [{}],
    "removeToken": lambda w: [{"names": {"token": str(w.made_token)}}],
    "removeUser": lambda w: [{}, {"query": "?forget=1"}],
    "listUsage": lambda w: [{}, {"query": "?user=admin"}],
    "getAllocationHistory": lambda w: [{}, {"query": "?by=job&resource=gpus&bins=1"},
                                       {"query": "?by=user&resource=cpu&since_us=1&until_us=1800000000000000"}],
    "listAudit": lambda w: [{"query": "?after=0&limit=10"}],
    "listSchedulers": lambda w: [{}],
    # one that is alone has no others: unit tests have the good answers
    "addStandby": lambda w: [{"body": {"name": "n2"}, "status": 409}],
    "joinStandby": lambda w: [{"status": 401}],
    "removeStandby": lambda w: [{"status": 409}],
    "listNodes": lambda w: [{}, {"query": "?limit=1&cursor=a"}],
    "getNode": lambda w: [{}],
    "listNodeProcesses": lambda w: [{}],
    "listNodeEvents": lambda w: [{}, {"query": "?before=9&limit=1"}],
    "joinNode": lambda w: [{"body": dict(OFFER, node="walked-node")}],
    "reportNode": lambda w: [{"body": w.report_body()}],
    "getOrders": lambda w: [{"query": "?wait=0"}],
    "pushLogs": lambda w: [{"body": w.push()}, {"body": dict(w.push(), keep=True)},
                         {"body": dict(w.push(), marks=[[3, 1700000000000000]])}],
    "listFiles": lambda w: [{"query": "?pattern=*&sums=0", "meanwhile": w.answer_read}],
    "readFile": lambda w: [{"query": "?path=a&folder=output&offset=1&bytes=2", "meanwhile": w.answer_read}],
    "readWholeLog": lambda w: [{"meanwhile": w.answer_read},
                             {"query": "?times=1&offset=1&bytes=9&since_us=5", "meanwhile": w.answer_read}],
    "askEndedJobs": lambda w: [{"body": {"jobs": [w.running["job_id"], 999999]}, "after": lambda w, answer: answer == {"ended": [999999]} or w.fail("ended: %s" % answer)}],
    "pushFile": lambda w: [{"names": {"read": w.ask_read()}, "query": "?state=end&offset=0", "body": b"walked"}],
    "openSession": lambda w: [{"body": {"kind": "exec", "process": "trainer-0", "command": ["id"], "pty": {"rows": 0, "columns": 0}}},
                            {"body": {"kind": "forward", "port": 8888}}, {"body": {"kind": "ssh", "key": "ssh-ed25519 AAAA"}}],
    "listSessions": lambda w: [{}],
    "getSession": lambda w: [{"names": w.open_session()}],
    "sendToSession": lambda w: [{"names": w.open_session(), "body": b"walked"}],
    "readSession": lambda w: [w.read_session()],
    "sendFromNode": lambda w: [{"names": w.open_session(), "body": b"walked"}],
    "readFromPerson": lambda w: [w.read_from_person()],
    "endSession": lambda w: [{"names": w.open_session()}],
    "changeNode": lambda w: [{"query": "?dry_run=1", "body": {"state": "cordoned"}}, {"body": {"state": "cordoned"}},
                             {"body": {"state": "ready"}}],
    "changeJob": lambda w: [{"query": "?dry_run=1", "body": {"min": 1, "max": 1}}, {"body": {"priority": 5}}, {"body": {"time_limit": "2h"}}],
    "killArray": lambda w: [{"body": {"reason": "there are too many"}}],
    "killJob": lambda w: [{"body": {"reason": "the walk is over"}}],
    "makeJoinToken": lambda w: [{}, {"body": {"node": "coming", "ttl_us": 1000000}, "after": keep_token}],
    "listJoinTokens": lambda w: [{}],
    "revokeJoinToken": lambda w: [{"names": {"token": w.made_token}}],
    "removeNode": lambda w: [{"names": {"node": "n2"}}],
}


def main(server, *token_files):
    tokens = {}
    for who, path in zip(("admin", "join"), token_files):
        with open(path, encoding="utf-8") as file:
            tokens[who] = file.read().strip()
    walk = Walk(server, tokens)
    walk.walk()
    return 1 if walk.failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
