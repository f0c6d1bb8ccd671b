# SPDX-License-Identifier: Apache-2.0
"""A proxy that shows a server below a folder, as a site does that has more than one: GET alone, answers as they come.

    address = prefix_proxy("http://127.0.0.1:7010", "/some/folder")     # http://127.0.0.1:PORT/some/folder"""
import http.client
import http.server
import threading
import urllib.parse

PASSED_ON = ("Authorization", "Accept", "If-None-Match")
OF_THE_CONNECTION = ("connection", "keep-alive", "transfer-encoding", "date")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        if not self.path.startswith(self.server.folder + "/"):
            self.send_error(404)
            return
        there = http.client.HTTPConnection(self.server.there, timeout=120)
        there.request("GET", self.path[len(self.server.folder) :], headers={name: self.headers[name] for name in PASSED_ON if name in self.headers})
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


def prefix_proxy(server, folder):
    proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    proxy.daemon_threads = True
    proxy.folder = folder
    proxy.there = urllib.parse.urlsplit(server).netloc
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{proxy.server_address[1]}{folder}"
