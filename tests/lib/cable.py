#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A bad cable between two network interfaces: what comes in at one goes out at the other, late or not at all.

    cable.py INTERFACE LOSS INTERFACE LOSS DELAY-MS

LOSS is how many of a hundred packets that come in at that interface are lost, 100 all; the others are sent DELAY-MS later, in
their order. For kernels without sch_netem. Prints "ready" when it is in place. Which packets are lost is the same each time."""
import collections
import random
import select
import socket
import sys
import time

SOL_PACKET = 263
PACKET_VNET_HDR = 15  # packets come and go with what is still to be done to them: checksums, segments
PACKET_IGNORE_OUTGOING = 23
PACKET_BYTES = 10 + 14 + 4 + 65536
ETH_P_ALL = 3


class End:
    def __init__(self, interface, loss):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self.socket.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
        self.socket.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        self.socket.bind((interface, ETH_P_ALL))
        self.socket.setblocking(False)
        self.loss = loss / 100
        self.luck = random.Random(1)
        self.waiting = collections.deque()  # (when, packet), for the other end

    def receive(self, delay_s):
        try:
            while True:
                packet = self.socket.recv(PACKET_BYTES)
                if self.luck.random() >= self.loss:
                    self.waiting.append((time.monotonic() + delay_s, packet))
        except BlockingIOError:
            pass

    def forward(self, other):
        while self.waiting and self.waiting[0][0] <= time.monotonic():
            try:
                other.socket.send(self.waiting.popleft()[1])
            except BlockingIOError:
                pass  # a full queue loses it, as that of a switch does


def main():
    a, b = End(sys.argv[1], float(sys.argv[2])), End(sys.argv[3], float(sys.argv[4]))
    delay_s = float(sys.argv[5]) / 1000
    print("ready", flush=True)
    while True:
        next_s = min((end.waiting[0][0] for end in (a, b) if end.waiting), default=None)
        select.select([a.socket, b.socket], [], [], None if next_s is None else max(0, next_s - time.monotonic()))
        for end, other in ((a, b), (b, a)):
            end.receive(delay_s)
            end.forward(other)


main()
