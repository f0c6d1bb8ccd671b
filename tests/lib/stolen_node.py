#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does with the credential of a node what a thief of it could, over TLS, and holds the connections:

    stolen_node.py HOST:PORT CREDENTIAL PROCESS KIND NUMBER

calls: a call for the process, and then nothing; bodies: output of it, 2 MiB but for the last byte; reports: a report of 64 KiB of
the node n1, but for the last byte; large: one of 4 MiB, the same; datasets: tasks of its job, 16 MiB but for the last byte. Prints, when all were opened, one line of JSON: how many of them are held, how often
each status came, and the bytes that were sent. Ends with its standard input."""
import collections
import json
import select
import socket
import ssl
import sys

PIECE = b" " * 65536
TIMEOUT_S = 30


KINDS = {
    "calls": ("GET /jobs/{job}/tasks", 0),
    "bodies": ("POST /nodes/{node}/logs", 2 << 20),
    "reports": ("POST /nodes/{node}/report", 64 << 10),
    "large": ("POST /nodes/{node}/report", 4 << 20),
    "datasets": ("PUT /jobs/{job}/dataset", 16 << 20),
}


def head(kind, process, credential, node="n1"):
    line, size = KINDS[kind]
    line = line.format(job=process.split(".")[0], node=node)
    lines = [line + " HTTP/1.1", "Host: x", "Authorization: Bearer " + credential, "X-EDL-Process: " + process]
    if size > 0:
        lines += ["Content-Length: %d" % size, "Expect: 100-continue"]
    return "\r\n".join(lines).encode() + b"\r\n\r\n", max(size - 1, 0)


def answered(link):
    """bytes of an answer are there, or its end"""
    poll = select.poll()
    poll.register(link, select.POLLIN)
    return link.pending() > 0 or bool(poll.poll(0))


def status_of(link):
    data = link.recv(65536)
    return int(data.split(b" ")[1]) if data else -1


def hold(context, address, text, size):
    """the connection, its status (0: none came; -1: it was closed), and the bytes of body that went out"""
    link = context.wrap_socket(socket.create_connection(address, TIMEOUT_S))
    sent = 0
    try:
        link.sendall(text)
        if size > 0:
            answer = status_of(link)
            if answer != 100:
                return link, answer, 0
        while sent < size and not answered(link):
            sent += link.send(PIECE[: size - sent])
        return link, status_of(link) if sent < size or size == 0 else 0, sent
    except (ConnectionError, ssl.SSLError):
        return link, -1, sent
    return link, 0, sent


def is_open(link):
    """what is left of an answer is read"""
    link.setblocking(False)
    try:
        while link.recv(65536):
            pass
    except (ssl.SSLWantReadError, BlockingIOError):
        return True
    except OSError:
        pass
    return False


def main():
    address, credential, process, kind, number = sys.argv[1:]
    host, port = address.rsplit(":", 1)
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    text, size = head(kind, process, credential)
    links, statuses, sent = [], collections.Counter(), 0
    for _ in range(int(number)):
        try:
            link, status, more = hold(context, (host, int(port)), text, size)
        except OSError:  # it is not even let in
            statuses[-1] += 1
            continue
        links.append(link)
        statuses[status] += 1
        sent += more
    held = sum(is_open(link) for link in links)
    print(json.dumps({"held": held, "statuses": statuses, "sent": sent}), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
