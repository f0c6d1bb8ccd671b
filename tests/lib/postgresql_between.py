#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stands between a client and a PostgreSQL server, and changes what the server says of itself.

    postgresql_between.py SOCKET pooler     each session has another number, as behind pgbouncer
    postgresql_between.py SOCKET old        the server is PostgreSQL 13

Prints its port on 127.0.0.1, and ends with its standard input."""
import os
import socket
import sys
import threading


def pooler(kind, body):
    return body[:3] + bytes([body[3] ^ 1]) + body[4:] if kind == b'K' else body


def old(kind, body):
    name, _, value = body.partition(b'\0')
    return b'server_version\x0013' + value[2:] if kind == b'S' and name == b'server_version' else body


def whole(reader, size):
    data = reader.read(size)
    if len(data) < size:
        raise EOFError
    return data


def answers(server, client, change):
    """Messages of the server: a letter, the size with itself, the body."""
    reader = server.makefile('rb')
    try:
        while True:
            head = whole(reader, 5)
            client.sendall(head + change(head[:1], whole(reader, int.from_bytes(head[1:], 'big') - 4)))
    except (EOFError, OSError):
        client.close()


def questions(client, server):
    try:
        while data := client.recv(65536):
            server.sendall(data)
    except OSError:
        pass
    server.close()


def main(path, change):
    listener = socket.create_server(('127.0.0.1', 0))
    print(listener.getsockname()[1], flush=True)
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    while True:
        client, _ = listener.accept()
        server = socket.socket(socket.AF_UNIX)
        server.connect(path)
        threading.Thread(target=answers, args=(server, client, change), daemon=True).start()
        threading.Thread(target=questions, args=(client, server), daemon=True).start()


main(sys.argv[1], {'pooler': pooler, 'old': old}[sys.argv[2]])
