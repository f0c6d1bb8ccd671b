#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds many connections to the socket of a node's processes (EDL_SOCKET), of one kind:

    socket_siege.py silent NUMBER SOCKET     nothing is ever sent; one that is ended is opened again
    socket_siege.py bodies NUMBER SOCKET     a body of 16 MiB, but for its last byte
    socket_siege.py storm NUMBER SOCKET      as bodies, and one that is ended is begun again
    socket_siege.py polls NUMBER SOCKET      a call that waits for news of the service "quiet"; one that is answered is made again
    socket_siege.py patience NUMBER SOCKET   as silent, until all were ended by the other side; none is opened again

Writes one line of JSON to standard output when all were opened and nothing more can be sent, and another one at each line of
standard input, whose end ends it: how many are held, how many were opened and ended, bytes sent, and how often each status came."""
import collections
import errno
import json
import selectors
import socket
import sys
import time

BODY_BYTES = 16 << 20
BODIES = b"PUT /jobs/self/dataset HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % BODY_BYTES
SERVICE = "GET /services/quiet%s HTTP/1.1\r\nHost: x\r\nConnection: %s\r\n\r\n"
PIECE = b" " * 65536


def ask_for_news(path):
    """The call that waits for another version of the service than there is now."""
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(path)
        one.sendall((SERVICE % ("", "close")).encode())
        answer = b"".join(iter(lambda: one.recv(65536), b""))
    version = json.loads(answer[answer.index(b"\r\n\r\n"):])["version"]
    return (SERVICE % (f"?after={version}&wait=30", "keep-alive")).encode()


class Connection:
    def __init__(self, path, head, body_bytes):
        self.head = head
        self.left = body_bytes
        self.heard = b""
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            self.socket.connect(path)
        except BlockingIOError:
            self.socket.close()
            raise

    def send(self):
        """how many bytes went out; 0: there are no more"""
        data = self.head or PIECE[: self.left]
        if not data:
            return 0
        sent = self.socket.send(data)
        if self.head:
            self.head = self.head[sent:]
        else:
            self.left -= sent
        return sent


class Siege:
    def __init__(self, kind, number, path):
        self.kind, self.number, self.path = kind, number, path
        self.call = (b"", 0)  # what is sent before the body, and the size of that
        if kind in ("bodies", "storm"):
            self.call = (BODIES, BODY_BYTES - 1)
        elif kind == "polls":
            self.call = (ask_for_news(path), 0)
        self.selector = selectors.DefaultSelector()
        self.selector.register(sys.stdin, selectors.EVENT_READ)
        self.held = set()
        self.opened = self.ended = self.sent = 0
        self.statuses = collections.Counter()
        self.retry_after = 0

    def open(self):
        try:
            one = Connection(self.path, *self.call)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EMFILE, errno.ECONNREFUSED):
                raise
            return False
        self.opened += 1
        self.held.add(one)
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if self.call[0] else 0)
        self.selector.register(one.socket, events, one)
        return True

    def drop(self, one):
        self.held.discard(one)
        self.selector.unregister(one.socket)
        one.socket.close()
        self.ended += 1

    def hear(self, one):
        data = one.socket.recv(65536)
        one.heard = (one.heard + data)[:4096]
        if one.heard.startswith(b"HTTP/1.1 ") and b"\r\n\r\n" in one.heard:
            self.statuses[one.heard[9:12].decode()] += 1
            self.retry_after += b"\r\nRetry-After:" in one.heard
            self.drop(one)
        elif not data:
            self.drop(one)

    def turn(self, one, events):
        try:
            if events & selectors.EVENT_READ:
                self.hear(one)
            elif events & selectors.EVENT_WRITE:
                sent = one.send()
                self.sent += sent
                if sent == 0:
                    self.selector.modify(one.socket, selectors.EVENT_READ, one)
        except BlockingIOError:
            pass
        except OSError:
            self.drop(one)

    def tell(self):
        print(json.dumps({"held": len(self.held), "opened": self.opened, "ended": self.ended, "sent": self.sent,
                          "retry_after": self.retry_after, "statuses": self.statuses}), flush=True)

    def run(self):
        again = self.kind in ("silent", "polls", "storm")
        told = False
        last = time.monotonic()
        while True:
            for _ in range(50):
                room = len(self.held) < self.number if again else self.opened < self.number
                if not room or not self.open():
                    break
            before = self.sent
            for key, events in self.selector.select(0.05):
                if key.data is not None:
                    self.turn(key.data, events)
                elif sys.stdin.readline():
                    self.tell()
                else:
                    return
            if self.sent != before and self.kind == "bodies" or self.opened < self.number:
                last = time.monotonic()
            done = not self.held if self.kind == "patience" else time.monotonic() - last > 0.5
            if not told and done:
                told = True
                self.tell()


if __name__ == "__main__":
    Siege(sys.argv[1], int(sys.argv[2]), sys.argv[3]).run()
