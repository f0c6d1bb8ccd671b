# SPDX-License-Identifier: Apache-2.0
"""A proxy that ends a connection after so many bytes of one direction: what a database was told, and what it answered, is cut anywhere.

Bytes before the cut arrive. Both sides then see a reset, as of a machine that has gone."""
import select
import socket
import struct
import threading

PIECE_BYTES = 65536
RESET = struct.pack('ii', 1, 0)  # SO_LINGER: closed without a word of goodbye
TO_SERVER, TO_CLIENT = 'to-server', 'to-client'


class CutProxy(threading.Thread):
    """Passes on what comes to `here` (HOST, PORT; 0: any port) to `there`."""

    def __init__(self, here, there):
        super().__init__(daemon=True)
        self.there = there
        self.listener = socket.create_server(here)
        self.port = self.listener.getsockname()[1]
        self.pairs = {}  # socket -> (the other one, direction of what it says, host of the client)
        self.lock = threading.Lock()
        self.armed = None  # (host, direction, bytes left)
        self.was_cut = threading.Event()
        self.wake, self.woken = socket.socketpair()
        self.over = False

    def cut_after(self, host, direction, n_bytes):
        """The next connection of that client over which so many bytes go in that direction ends behind them."""
        with self.lock:
            self.was_cut.clear()
            self.armed = (host, direction, n_bytes)

    def disarm(self):
        with self.lock:
            self.armed = None

    def run(self):
        while not self.over:
            for ready in select.select([self.woken, self.listener, *self.pairs], [], [])[0]:
                if ready is self.listener:
                    self.accept()
                elif ready in self.pairs:
                    self.pass_on(ready)
        for one in list(self.pairs):
            self.drop(one)
        for link in (self.listener, self.wake, self.woken):
            link.close()

    def end(self):
        self.over = True
        self.wake.send(b'x')
        self.join()

    def accept(self):
        client, (host, _) = self.listener.accept()
        try:
            server = socket.create_connection(self.there, 5)
        except OSError:
            reset(client)
            return
        self.pairs[client] = (server, TO_SERVER, host)
        self.pairs[server] = (client, TO_CLIENT, host)

    def pass_on(self, one):
        other, direction, host = self.pairs[one]
        try:
            data = one.recv(PIECE_BYTES)
            keep = self.keep(host, direction, len(data))
            if data:
                other.sendall(data[:keep])
            if not data or keep < len(data):
                self.drop(one)
                if data:
                    self.was_cut.set()
        except OSError:
            self.drop(one)

    def keep(self, host, direction, n_bytes):
        """How many of these bytes go on."""
        with self.lock:
            if self.armed is None or self.armed[:2] != (host, direction):
                return n_bytes
            left = self.armed[2]
            self.armed = None if left < n_bytes else (host, direction, left - n_bytes)
            return min(left, n_bytes)

    def drop(self, one):
        if one in self.pairs:
            other = self.pairs.pop(one)[0]
            self.pairs.pop(other, None)
            reset(one)
            reset(other)


def reset(link):
    try:
        link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    except OSError:
        pass
    link.close()
