# SPDX-License-Identifier: Apache-2.0
"""tests/lib/webhook_receiver.py FOLDER - receives webhooks on a port of its own, which it writes to FOLDER/port.

Each request becomes a line of JSON in FOLDER/calls: path, headers and body. What it answers, its path says: /200, /404, /500;
/302 leads to /200; /flaky is 500 once, then 200; /hang answers nothing while FOLDER/gate is not there."""
import http.server
import json
import os
import sys
import threading

folder = sys.argv[1]
lock = threading.Lock()
seen = set()
gate = threading.Event()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        path = self.path.split("?")[0]
        with lock:
            with open(folder + "/calls", "a") as file:
                file.write(json.dumps({"path": self.path, "headers": {k.lower(): v for k, v in self.headers.items()}, "body": json.loads(body)}) + "\n")
            again = path in seen
            seen.add(path)
        if path == "/hang" and not os.path.exists(folder + "/gate"):
            gate.wait()
        status = 200 if path == "/hang" or (path == "/flaky" and again) else 500 if path == "/flaky" else int(path.split("/")[1])
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/200")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # a caller that has left


server = Server(("127.0.0.1", 0), Handler)
with open(folder + "/port.new", "w") as file:
    file.write(str(server.server_port))
os.rename(folder + "/port.new", folder + "/port")
print("receives", file=sys.stderr, flush=True)
server.serve_forever()
