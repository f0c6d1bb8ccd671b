#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Readers of GET /events, and whether each of them has the history.

    history_check.py HOST:PORT TOKEN-FILE DATABASE READERS

So many readers of each kind (server-sent events, long polls) follow from the first event on, over every restart of the
scheduler. A line N on standard input says that the history goes to revision N at least; who waits at its end sees so with
the next event. Then every reader must hold exactly what the database holds: nothing missing, nothing twice, nothing else."""
import http.client
import json
import sqlite3
import sys
import threading

END = threading.Event()
LAST = [0]


class Reader(threading.Thread):
    def __init__(self, name, server, token):
        super().__init__(daemon=True)
        self.name = name
        self.server = server
        self.token = token
        self.events = []
        self.connections = 0
        self.error = None

    def after(self):
        return self.events[-1]["revision"] if self.events else 0

    def over(self):
        return END.is_set() and self.after() >= LAST[0]

    def take(self, event):
        if event["revision"] != self.after() + 1:
            self.error = "%s: event %d behind %d" % (self.name, event["revision"], self.after())
        self.events.append(event)

    def run(self):
        while not self.over() and self.error is None:
            connection = http.client.HTTPConnection(self.server, timeout=40)
            try:
                self.connections += 1
                self.read(connection)
            except (OSError, http.client.HTTPException):
                END.wait(0.02)  # the scheduler is being restarted: nobody listens yet
            finally:
                connection.close()

    def ask(self, connection, path, headers):
        connection.request("GET", path, headers=dict(headers, Authorization="Bearer " + self.token))
        answer = connection.getresponse()
        if answer.status == 503:
            raise http.client.HTTPException("busy")
        if answer.status != 200:
            self.error = "%s: %d %s" % (self.name, answer.status, answer.read())
        return answer


class Poll(Reader):
    def read(self, connection):
        while not self.over() and self.error is None:
            answer = self.ask(connection, "/events?after=%d&wait=5&limit=7" % self.after(), {})
            for event in json.loads(answer.read())["events"]:
                self.take(event)


class Stream(Reader):
    def read(self, connection):
        headers = {"Accept": "text/event-stream"}
        if self.events:
            headers["Last-Event-ID"] = str(self.after())
        answer = self.ask(connection, "/events?after=0", headers)
        message = {}
        while not self.over() and self.error is None:
            line = answer.readline()
            if not line.endswith(b"\n"):
                return  # cut off within a message: it comes again
            line = line[:-1].decode()
            if line and not line.startswith(":"):
                key, _, value = line.partition(": ")
                message[key] = value
            elif not line and "data" in message:
                event = json.loads(message["data"])
                if int(message["id"]) != event["revision"]:
                    self.error = "%s: id %s of event %d" % (self.name, message["id"], event["revision"])
                self.take(event)
                message = {}


def stored(database):
    rows = sqlite3.connect("file:%s?mode=ro" % database, uri=True).execute(
        "SELECT revision, time_us, event, job_id, node, text FROM event ORDER BY revision")
    return [dict(zip(("revision", "time_us", "event", "job_id", "node", "text"), row)) for row in rows]


def main(server, token_file, database, n):
    with open(token_file, encoding="utf-8") as file:
        token = file.read().strip()
    readers = [kind("%s-%d" % (kind.__name__.lower(), i), server, token) for kind in (Stream, Poll) for i in range(int(n))]
    for reader in readers:
        reader.start()
    print("reading", flush=True)
    LAST[0] = int(sys.stdin.readline())
    END.set()
    failures = 0
    for reader in readers:
        reader.join(120)
    history = stored(database)
    if not history or history[-1]["revision"] < LAST[0]:
        print("FAIL: the database has no event %d" % LAST[0])
        failures += 1
    for reader in readers:
        if reader.is_alive():
            reader.error = "%s: has not seen the end, is at %d" % (reader.name, reader.after())
        if reader.error is None and reader.events != history[:len(reader.events)]:
            reader.error = "%s: not what the database holds" % reader.name
        if reader.error is not None:
            print("FAIL:", reader.error)
            failures += 1
        print("%s: %d events over %d connections" % (reader.name, len(reader.events), reader.connections))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
