#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many connections that each ask one thing after another, without a pause.

    crowd.py [--body FILE] [--until STATUS] HOST:PORT TOKEN-FILE CONNECTIONS SECONDS METHOD PATH...

Connections ask for the paths in turn, for so many seconds, and further until an answer of that status has come (two minutes
at most). At the end: how many answers of each status there were, and the longest wait for
one, as a line of JSON."""
import argparse
import collections
import json
import selectors
import socket
import sys
import time

UNTIL_S = 120


class Client:
    def __init__(self, crowd, path):
        self.crowd = crowd
        self.request = crowd.request(path)
        self.open()

    def open(self):
        self.socket = socket.create_connection(self.crowd.address, timeout=10)
        self.socket.settimeout(None)
        self.crowd.selector.register(self.socket, selectors.EVENT_READ, self)
        self.ask()

    def ask(self):
        self.answer = b""
        self.asked = time.monotonic()
        self.socket.sendall(self.request)

    def close(self):
        self.crowd.selector.unregister(self.socket)
        self.socket.close()

    def status(self):
        """Of a whole answer; None: more is to come."""
        head, end, body = self.answer.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").lower().split("\r\n")
        length = [int(line.split(":")[1]) for line in lines if line.startswith("content-length:")]
        return int(lines[0].split()[1]) if end and len(body) >= sum(length) else None

    def hear(self):
        try:
            data = self.socket.recv(1 << 20)
        except OSError:
            data = b""
        if not data:
            self.crowd.count("closed", 0)
            self.close()
            self.open()
            return
        self.answer += data
        status = self.status()
        if status is not None:
            self.crowd.count(status, time.monotonic() - self.asked)
            self.ask()


class Crowd:
    def __init__(self, options):
        host, _, port = options.address.rpartition(":")
        self.address = (host, int(port))
        self.method = options.method
        with open(options.token_file, encoding="ascii") as file:
            self.token = file.read().strip()
        self.body = b""
        if options.body:
            with open(options.body, "rb") as file:
                self.body = file.read()
        self.selector = selectors.DefaultSelector()
        self.statuses = collections.Counter()
        self.longest = 0

    def request(self, path):
        head = (
            f"{self.method} {path} HTTP/1.1\r\nHost: crowd\r\nAuthorization: Bearer {self.token}\r\n"
            f"Content-Length: {len(self.body)}\r\n\r\n"
        )
        return head.encode() + self.body

    def count(self, status, seconds):
        self.statuses[str(status)] += 1
        self.longest = max(self.longest, seconds)

    def run(self, paths, connections, seconds, until):
        end = time.monotonic() + seconds
        clients = [Client(self, paths[i % len(paths)]) for i in range(connections)]
        hung = end + UNTIL_S
        while (now := time.monotonic()) < end or (until and not self.statuses[until] and now < hung):
            for key, _ in self.selector.select(max(0, end - now) or 1):
                key.data.hear()
        for client in clients:
            client.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--body")
    parser.add_argument("--until", metavar="STATUS")
    for name in ("address", "token_file"):
        parser.add_argument(name)
    parser.add_argument("connections", type=int)
    parser.add_argument("seconds", type=float)
    parser.add_argument("method")
    parser.add_argument("paths", nargs="+")
    options = parser.parse_args()
    crowd = Crowd(options)
    crowd.run(options.paths, options.connections, options.seconds, options.until)
    json.dump({"statuses": crowd.statuses, "longest_s": round(crowd.longest, 3)}, sys.stdout)
    print()


if __name__ == "__main__":
    main()
