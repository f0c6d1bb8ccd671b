#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A whole program whose processes train together, in steps, as many as there are: it fits a line to noisy points.

    edl submit --min 1 --max 4 -- python3 $PWD/steps.py 20000

Each step everybody works out the gradient of a batch of its own and rank 0 averages them. Whoever comes or goes ends
the world; the next one goes on with the step that was under way. edl.step tells how fast that is, and edl.waiting
how much of it was waiting for the others: so a slow machine is found although all finish each step together.
"""
import random
import signal
import socket
import struct
import sys
import time
from typing import List, Tuple

import edl

BATCH = 256
RATE = 0.05
STATE = struct.Struct("!ddQ")  # a, b of y = a x + b; the step that comes next. Of a gradient: 0


def gradient(a: float, b: float) -> "Tuple[float, float]":
    sum_a = sum_b = 0.0
    for _ in range(BATCH):
        x = random.uniform(-1, 1)
        error = a * x + b - (3 * x - 1 + random.gauss(0, 0.1))
        sum_a += 2 * error * x
        sum_b += 2 * error
    return sum_a / BATCH, sum_b / BATCH


def receive(peer: socket.socket) -> "Tuple[float, float, int]":
    data = b""
    while len(data) < STATE.size:
        piece = peer.recv(STATE.size - len(data))
        if not piece:
            raise ConnectionError("it is gone")
        data += piece
    return STATE.unpack(data)


def connect(world: edl.World) -> "List[socket.socket]":
    """Rank 0: to all others; else to rank 0. ConnectionError: the world is over before that."""
    peers: "List[socket.socket]" = []
    try:
        if world.rank == 0:
            with socket.create_server(("", world.master_port)) as server:
                server.settimeout(0.2)
                while len(peers) < world.size - 1:
                    try:
                        peers.append(server.accept()[0])
                    except socket.timeout:
                        if world.over():
                            raise ConnectionError("the world is over") from None
            return peers
        while True:
            try:
                return [socket.create_connection((world.master_address, world.master_port), 1)]
            except OSError:
                if world.over():
                    raise ConnectionError("the world is over") from None
                time.sleep(0.05)
    except BaseException:
        for peer in peers:
            peer.close()
        raise


def one_step(peers: "List[socket.socket]", leads: bool, a: float, b: float, step: int) -> "Tuple[float, float, int]":
    grad_a, grad_b = gradient(a, b)
    if leads:
        with edl.waiting():
            others = [receive(peer) for peer in peers]
        n = len(peers) + 1
        a -= RATE * (grad_a + sum(other[0] for other in others)) / n
        b -= RATE * (grad_b + sum(other[1] for other in others)) / n
        step += 1
        for peer in peers:
            peer.sendall(STATE.pack(a, b, step))
        return a, b, step
    peers[0].sendall(STATE.pack(grad_a, grad_b, 0))
    with edl.waiting():
        return receive(peers[0])


def train(world: edl.World, state: "Tuple[float, float, int]", last: int) -> "Tuple[float, float, int]":
    """Until the last step, or the end of the world: the state then."""
    try:
        peers = connect(world)
    except ConnectionError:
        return state
    try:
        for peer in peers:
            peer.settimeout(None)
        if world.rank == 0:  # all begin with what it has
            for peer in peers:
                peer.sendall(STATE.pack(*state))
        else:
            state = receive(peers[0])
        while state[2] < last:
            state = one_step(peers, world.rank == 0, *state)
            edl.step(BATCH, step=state[2])
            if state[2] % 100 == 0 and world.over():  # somebody is there who wants to join
                break
    except OSError:
        pass  # somebody is gone
    finally:
        for peer in peers:
            peer.close()
    return state


def main(last: int) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    state = (0.0, 0.0, 0)
    for world in edl.worlds():
        state = train(world, state, last)
        if state[2] >= last:
            print(f"y = {state[0]:.2f} x + {state[1]:.2f} after {state[2]} steps", flush=True)
            return


if __name__ == "__main__":
    main(int(sys.argv[1]))
