#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A reverse proxy that has a server below folders of its own.

    proxy.py PORT-FILE HOST:PORT FOLDER...

/FOLDER/x is /x of the server. All else is not there, so that an address which forgets the folder fails. Answers go out as they
come in; the address that it listens on, HOST:PORT, is written to the file."""
import http.client
import http.server
import os
import sys

HOP = {"connection", "keep-alive", "transfer-encoding", "upgrade", "te", "host"}


class Proxy(http.server.BaseHTTPRequestHandler):
    server_to_ask = ""
    folders = ()

    def forward(self):
        folder = next((name for name in self.folders if self.path.startswith(f"/{name}/")), None)
        if folder is None:
            self.send_error(404)
            return
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))) or None
        behind = http.client.HTTPConnection(self.server_to_ask, timeout=300)
        try:
            given = {name: value for name, value in self.headers.items() if name.lower() not in HOP}
            behind.request(self.command, self.path[len(folder) + 1 :], body, given)
            self.answer(behind.getresponse())
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            behind.close()

    def answer(self, told):
        self.send_response(told.status)
        for name, value in told.getheaders():
            if name.lower() not in HOP | {"date", "server"}:
                self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        while data := told.read1(65536):
            self.wfile.write(data)
            self.wfile.flush()
        self.close_connection = True

    do_GET = do_POST = do_DELETE = do_HEAD = forward

    def log_message(self, *_what):
        pass


def main(port_file, server, *folders):
    Proxy.server_to_ask, Proxy.folders = server, folders
    listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    with open(port_file + ".new", "w") as out:
        out.write("127.0.0.1:%d" % listener.server_port)
    os.rename(port_file + ".new", port_file)
    print("proxy: listening", file=sys.stderr, flush=True)
    listener.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
