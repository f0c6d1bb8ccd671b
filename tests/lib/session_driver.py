#!/usr/bin/env python3
"""The person's end of a session, for tests: frames (shared/session_frame.h) over two requests.

    session_driver.py [options] JOB -- COMMAND...      of the cluster at EDL_SERVER, EDL_TOKEN_FILE
    session_driver.py --folder PROCESS_DIR -- COMMAND  no cluster: edl-session alone, this is its scheduler

    --kind KIND        exec (the default), shell, attach, forward, ssh
    --process NAME     trainer-0
    --pty ROWSxCOLUMNS a terminal; --term NAME
    --input FILE       standard input of the command ("-": ours); without it there is none
    --hold             no end of input: the session stays until it is ended
    --signal N         sent once something was written
    --port P           forward: one connection to it; --input is sent there
    --key TEXT         ssh: the public key
    --slow FIFO        what the command writes is taken once somebody has opened it to write
    --then WORDS       printed to standard error once the session is ready
Output and errors of the command are ours, and so is its status; 255: there was no session. Notes and errors go to standard error."""
import argparse
import http.client
import http.server
import json
import os
import secrets
import socket
import struct
import subprocess
import sys
import threading
from urllib.parse import urlparse

DATA, EOF, RESIZE, SIGNAL, EXIT, ERROR, OPEN, CLOSE, PING, NOTE, READY, WINDOW = range(1, 13)
WINDOW_BYTES = 1024 * 1024
DATA_MAX = 32 * 1024


def frame(kind, channel=0, data=b""):
    return struct.pack(">BBHI", kind, 0, channel, len(data)) + data


class Person:
    """What comes and what goes; the way of the bytes is a subclass's: write(bytes), and take(bytes) is called."""

    def __init__(self, sink):
        self.sink = sink  # sink(kind, channel, data)
        self.kept = b""
        self.lock = threading.Condition()
        self.may_send = {}
        self.ready = self.over = False
        self.status = None
        self.taken = {}

    def take(self, data):
        self.kept += data
        while len(self.kept) >= 8:
            kind, zero, channel, size = struct.unpack(">BBHI", self.kept[:8])
            assert zero == 0 and size <= DATA_MAX, "no frame"
            if len(self.kept) < 8 + size:
                return
            body, self.kept = self.kept[8 : 8 + size], self.kept[8 + size :]
            self.on_frame(kind, channel, body)

    def on_frame(self, kind, channel, body):
        with self.lock:
            if kind == WINDOW:
                self.may_send[channel] = self.may_send.get(channel, WINDOW_BYTES) + struct.unpack(">I", body)[0]
            elif kind == READY:
                self.ready = True
            elif kind == EXIT and channel == 0:
                self.status = body[1] + (128 if body[0] else 0)
            elif kind == ERROR and channel == 0:
                self.status = json.loads(body)["code"]
            self.lock.notify_all()
        self.sink(kind, channel, body)
        if kind == DATA:
            self.taken[channel] = self.taken.get(channel, 0) + len(body)
            if self.taken[channel] >= WINDOW_BYTES // 4:
                self.write(frame(WINDOW, channel, struct.pack(">I", self.taken.pop(channel))))

    def end(self):
        with self.lock:
            self.over = True
            self.lock.notify_all()

    def wait(self, what, timeout=60):
        with self.lock:
            return self.lock.wait_for(lambda: what(self) or self.over, timeout)

    def send_data(self, data, channel=0):
        while data:
            with self.lock:
                self.lock.wait_for(lambda: self.may_send.get(channel, WINDOW_BYTES) > 0 or self.over)
                if self.over:
                    return
                n = min(len(data), DATA_MAX, self.may_send.get(channel, WINDOW_BYTES))
                self.may_send[channel] = self.may_send.get(channel, WINDOW_BYTES) - n
            self.write(frame(DATA, channel, data[:n]))
            data = data[n:]


def connection(address, path, method, token):
    sock = socket.create_connection((address.hostname, address.port), 10)
    sock.settimeout(None)
    chunked = "Transfer-Encoding: chunked\r\n" if method == "POST" else ""
    sock.sendall(f"{method} {path} HTTP/1.1\r\nHost: edl\r\nAuthorization: Bearer {token}\r\n{chunked}\r\n".encode())
    return sock


class Relayed(Person):
    """By way of a scheduler."""

    def __init__(self, sink, server, token, job, body):
        super().__init__(sink)
        address = urlparse(server)
        call = http.client.HTTPConnection(address.hostname, address.port, timeout=30)
        call.request("POST", f"/jobs/{job}/sessions", json.dumps(body),
                     {"Authorization": f"Bearer {token}", "Content-Type": "application/json"})
        answer = call.getresponse()
        text = json.loads(answer.read() or b"{}")
        if answer.status != 201:
            raise SystemExit(f"{answer.status}: {json.dumps(text)}")
        self.session = text["session"]
        self.posting = connection(address, f"/sessions/{self.session}/in", "POST", token)
        self.getting = connection(address, f"/sessions/{self.session}/out", "GET", token)
        threading.Thread(target=self.read, daemon=True).start()

    def write(self, data):
        try:
            self.posting.sendall(b"%x\r\n%s\r\n" % (len(data), data))
        except OSError:
            pass

    def read(self):
        answer = http.client.HTTPResponse(self.getting)
        try:
            answer.begin()
            while data := answer.read1(65536):
                self.take(data)
        except (OSError, http.client.HTTPException, ValueError):
            pass
        self.end()


class Alone(Person):
    """edl-session without an agent: this is its scheduler."""

    def __init__(self, sink, folder, entry, accounts=None):
        super().__init__(sink)
        person = self
        self.going, self.pieces = threading.Condition(), []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                while size := int(self.rfile.readline().strip() or b"0", 16):
                    person.take(self.rfile.read(size))
                    self.rfile.readline()
                self.rfile.readline()
                self.send_response(204)
                self.end_headers()

            def do_GET(self):
                self.send_response(200)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                while True:
                    with person.going:
                        person.going.wait_for(lambda: person.pieces)
                        piece = person.pieces.pop(0)
                    if not piece:
                        break
                    try:
                        self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                    except OSError:
                        return
                self.wfile.write(b"0\r\n\r\n")

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        server.handle_error = lambda *_: None  # edl-session was killed
        threading.Thread(target=server.serve_forever, daemon=True).start()
        build = os.environ["EDL_BUILD_DIR"]
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot_id = file.read().strip()
        document = {"server": f"http://127.0.0.1:{server.server_port}", "credential": "secret", "node": "n1", "boot_id": boot_id,
                    "process_dir": folder, "program_dir": build, "accounts": accounts or {}, "session": entry}
        self.agent, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.program = subprocess.Popen([f"{build}/edl-session"], stdin=theirs)
        theirs.close()
        self.agent.send(json.dumps(document).encode())
        threading.Thread(target=self.await_end, daemon=True).start()

    def await_end(self):
        self.program.wait()
        self.end()

    def write(self, data):
        with self.going:
            self.pieces.append(data)
            self.going.notify()


def entry_of(options, folder=None):
    entry = {"kind": options.kind}
    if options.command:
        entry["command"] = options.command
    if options.pty:
        rows, columns = options.pty.split("x")
        entry["pty"] = {"rows": int(rows), "columns": int(columns), "term": options.term}
    if options.port:
        entry["port"] = options.port
    if options.key:
        entry["key"] = options.key
    if folder:
        job, role, index, incarnation = os.path.basename(folder).split(".")
        entry |= {"session": secrets.token_hex(16), "job_id": int(job), "job": "j", "role": role, "index": int(index),
                  "incarnation": int(incarnation), "user": "somebody"}
    elif options.process:
        entry["process"] = options.process
    return entry


def show(kind, channel, data):
    out = {DATA: sys.stderr if channel == 2 else sys.stdout, NOTE: sys.stderr, ERROR: sys.stderr}.get(kind)
    if out:
        out.buffer.write(data if kind == DATA else data + b"\n")
        out.buffer.flush()


def feed(person, options):
    channel = 1 if options.kind == "forward" else 0
    if not person.wait(lambda p: p.ready or p.status is not None):
        return
    if options.then:
        print(options.then, file=sys.stderr, flush=True)
    if options.kind == "forward":
        person.write(frame(OPEN, channel, struct.pack(">H", options.port)))
    if options.signal:
        person.write(frame(SIGNAL, 0, bytes([options.signal])))
    if options.input:
        with sys.stdin.buffer if options.input == "-" else open(options.input, "rb") as file:
            while data := file.read1(65536):
                person.send_data(data, channel)
    if not options.hold:
        person.write(frame(EOF, channel))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kind", default="exec")
    parser.add_argument("--folder")
    parser.add_argument("--process")
    parser.add_argument("--pty")
    parser.add_argument("--term", default="xterm")
    parser.add_argument("--input")
    parser.add_argument("--hold", action="store_true")
    parser.add_argument("--signal", type=int)
    parser.add_argument("--port", type=int)
    parser.add_argument("--key")
    parser.add_argument("--then")
    parser.add_argument("--slow")
    parser.add_argument("--seconds", type=int, default=120)
    words = sys.argv[1:]
    at = words.index("--") if "--" in words else len(words)
    options, rest = parser.parse_known_args(words[:at])
    options.command = words[at + 1 :]
    done = threading.Event()

    def sink(kind, channel, data):
        if kind == DATA and options.slow:
            with open(options.slow, "rb"):
                options.slow = None
        show(kind, channel, data)
        if options.kind == "forward" and channel == 1 and kind in (EOF, CLOSE, ERROR):
            person.status = 1 if kind == ERROR else 0
            done.set()

    if options.folder:
        person = Alone(sink, options.folder, entry_of(options, options.folder))
    else:
        with open(os.environ["EDL_TOKEN_FILE"], encoding="ascii") as file:
            token = file.read().strip()
        person = Relayed(sink, os.environ["EDL_SERVER"], token, rest[0], entry_of(options))
    threading.Thread(target=feed, args=(person, options), daemon=True).start()
    if options.kind == "forward":
        threading.Thread(target=lambda: (person.wait(lambda p: False, options.seconds), done.set()), daemon=True).start()
        done.wait(options.seconds)
    else:
        person.wait(lambda p: False, options.seconds)
    os._exit(255 if person.status is None else person.status)


if __name__ == "__main__":
    main()
