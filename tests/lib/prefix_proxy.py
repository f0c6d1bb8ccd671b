# SPDX-License-Identifier: Apache-2.0
"""A proxy that shows a server below a folder, or below several, as a site does that has more than one: answers as they come.

    address = prefix_proxy("http://127.0.0.1:7010", "/some/folder")     # http://127.0.0.1:PORT/some/folder"""
import http.client
import http.server
import threading
import urllib.parse

PASSED_ON = ("Authorization", "Accept", "Content-Type", "If-None-Match")
OF_THE_CONNECTION = ("connection", "keep-alive", "transfer-encoding", "date")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def pass_on(self):
        folder = next((folder for folder in self.server.folders if self.path.startswith(folder + "/")), None)
        if folder is None:
            self.send_error(404)
            return
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))) or None
        there = http.client.HTTPConnection(self.server.there, timeout=120)
        there.request(self.command, self.path[len(folder) :], body, {name: self.headers[name] for name in PASSED_ON if name in self.headers})
        answer = there.getresponse()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in OF_THE_CONNECTION:
                self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            while piece := answer.read1(65536):
                self.wfile.write(piece)
                self.wfile.flush()
        except OSError:  # whoever asked has gone
            pass
        there.close()

    do_GET = do_POST = do_DELETE = pass_on


def prefix_proxy(server, *folders):
    """The address of the first folder; the others are beside it."""
    proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    proxy.daemon_threads = True
    proxy.folders = folders
    proxy.there = urllib.parse.urlsplit(server).netloc
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{proxy.server_address[1]}{folders[0]}"
