#!/usr/bin/env python3
# service_manager.py - what systemd is to a daemon, for tests: sockets, a place for its notifications, a watchdog
#
#   service_manager.py [--listen ADDRESS]... [--watchdog-ms N] -- COMMAND...
# Each notification is a line on standard output. A line on standard input is an order: "kill SIGNAL" or "start"; the end of
# standard input ends the daemon and this. --listen: 127.0.0.1:0 (the port is told as "port N") or unix:/path. The sockets live as long as this.
import fcntl
import os
import select
import signal
import socket
import sys
import tempfile


def listening(text):
    if text.startswith("unix:"):
        made = socket.socket(socket.AF_UNIX)
        made.bind(text[5:])
    else:
        host, port = text.rsplit(":", 1)
        made = socket.socket()
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, int(port)))
        print("port", made.getsockname()[1], flush=True)
    made.listen(64)
    return made


def start(command, sockets, environment):
    pid = os.fork()
    if pid:
        return pid
    try:
        spare = [fcntl.fcntl(s.fileno(), fcntl.F_DUPFD_CLOEXEC, 64) for s in sockets]
        for i, fd in enumerate(spare):
            os.dup2(fd, 3 + i, True)
        if sockets:
            environment = environment | {"LISTEN_FDS": str(len(sockets)), "LISTEN_PID": str(os.getpid())}
        os.execvpe(command[0], command, environment)
    finally:
        os._exit(127)


def main():
    split = sys.argv.index("--")
    options, command = sys.argv[1:split], sys.argv[split + 1 :]
    environment = dict(os.environ)
    sockets = []
    for name, value in zip(options[::2], options[1::2]):
        if name == "--listen":
            sockets.append(listening(value))
        else:
            environment["WATCHDOG_USEC"] = value + "000"
    if sockets:  # port 0 was for us: the daemon is told which one it is
        port = next((s.getsockname()[1] for s in sockets if s.family == socket.AF_INET), 0)
        command = [word.replace("PORT", str(port)) for word in command]
    with tempfile.TemporaryDirectory() as folder:
        heard = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        heard.bind(folder + "/notify")
        environment["NOTIFY_SOCKET"] = folder + "/notify"
        pid, ending = start(command, sockets, environment), False
        watched = os.pidfd_open(pid)
        while not (ending and watched is None):
            sources = [heard] + ([] if ending else [sys.stdin]) + ([] if watched is None else [watched])
            ready, _, _ = select.select(sources, [], [])
            if heard in ready:
                print(" ".join(heard.recv(4096).decode().split("\n")), flush=True)
            elif watched in ready:
                print("ended", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
                os.close(watched)
                watched = None
            elif sys.stdin in ready:
                order = sys.stdin.readline().split()
                ending = not order
                if order == ["start"]:
                    pid = start(command, sockets, environment)
                    watched = os.pidfd_open(pid)
                elif watched is not None:
                    os.kill(pid, getattr(signal, order[1]) if order else signal.SIGTERM)


main()
