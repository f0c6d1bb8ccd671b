# SPDX-License-Identifier: Apache-2.0
"""A scheduler that knows sessions only, and whose nodes say odd things: the name of the job says which.

Prints its port. Usage: odd_scheduler.py"""
import json
import socket
import struct
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DATA, EXIT, ERROR, READY, WINDOW = 1, 5, 6, 11, 12


def frame(kind, data=b"", channel=0, zero=0, size=None):
    return struct.pack(">BBHI", kind, zero, channel, len(data) if size is None else size) + data


def error(text, code, remedy=""):
    return frame(ERROR, json.dumps({"text": text, "remedy": remedy, "code": code}).encode())


OUT = frame(READY) + frame(DATA, b"out\n", 1)
SAID = {  # what the node says; None behind it: the connection is cut
    "exit-0": [OUT + frame(EXIT, b"\0\0")],
    "exit-7": [OUT + frame(EXIT, b"\0\7")],
    "killed-9": [OUT + frame(EXIT, b"\1\x09")],
    "pieces": [bytes([b]) for b in OUT + frame(EXIT, b"\0\3")],
    "unknown-frame": [OUT + frame(77, b"later") + frame(EXIT, b"\0\4")],
    "ended": [OUT],
    "forgotten": [OUT],
    "cut": [OUT, None],
    "not-ready": [OUT],
    "hangs": [OUT],
    "cut-in-frame": [OUT + frame(DATA, b"half", 1)[:-2], None],
    "no-frames": [b"HTTP/1.1 200 OK\r\n\r\n"],
    "zero-is-one": [frame(DATA, b"x", 1, zero=1)],
    "too-large": [frame(DATA, b"x", 1, size=32769)],
    "odd-exit": [OUT + frame(EXIT, b"\0")],
    "odd-exit-2": [OUT + frame(EXIT, b"\2\0")],
    "error-127": [error("no such program\x1b[31m", 127, "install it")],
    "error-0": [error("it says 0", 0)],
    "error-300": [error("it says 300", 300)],
    "error-no-json": [frame(ERROR, b"\xff\xfe{")],
    "odd-window": [OUT + frame(WINDOW, b"\xff\xff\xff\xff")],
    "short-window": [OUT + frame(WINDOW, b"\0")],
    "refused": [],
    "many-bytes": [frame(DATA, b"y" * 32768, 1)] * 100 + [frame(EXIT, b"\0\0")],
}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/problem+json" if status >= 400 else "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        if self.path.endswith("/in"):  # chunked: read until it ends or breaks, and say nothing
            while self.connection.recv(65536):
                pass
            self.close_connection = True
            return
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        name = self.path.split("/")[2]
        number = "" if name == "no-number" else "%032x" % list(SAID).index(name) if name in SAID else "../../x"
        self.answer(201, {"session": number, "job": name})

    def do_GET(self):
        name = list(SAID)[int(self.path.split("/")[2], 16)]
        if not self.path.endswith("/out"):
            if name == "forgotten":
                self.answer(404, {"status": 404, "detail": "there is no such session"})
            elif name == "not-ready":
                self.answer(503, {"status": 503, "detail": "it starts"})
            elif name == "hangs":
                while self.connection.recv(65536):  # until the other side has enough
                    pass
                self.close_connection = True
            elif name == "ended":
                self.answer(200, {"state": "ended", "reason": "somebody ended it", "remedy": "ask them"})
            else:
                self.answer(200, {"state": "open"})
            return
        if name == "refused":
            self.answer(403, {"status": 403, "detail": "this is not yours", "remedy": "ask its owner"})
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in SAID[name] + [b""]:
            if piece is None:
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(server.server_address[1], flush=True)
sys.stdout.close()
server.serve_forever()
