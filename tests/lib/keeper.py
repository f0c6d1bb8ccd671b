# SPDX-License-Identifier: Apache-2.0
"""keeper.py - one command of a test run, together with all that it starts

A keeper is a forked process that adopts every descendant of its command (PR_SET_CHILD_SUBREAPER, prctl(2)). So it knows what all of
them used of the processor, sees the processes that a test left, and can end everything, whatever session or group it went to.
"""
import ctypes
import json
import os
import resource
import signal
import sys
import time
import traceback

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
LIBC = ctypes.CDLL(None, use_errno=True)
GRACE_S = 10  # between SIGTERM and SIGKILL
STRAY_S = 10  # for what is still ending when its test has ended
TIMED_OUT = 124


def prctl(option, value):
    if LIBC.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), 'prctl')


def descendants(root):
    """Process ids below root: from /proc, since children of children count too."""
    children = {}
    for name in os.listdir('/proc'):
        if not name.isdigit():
            continue
        try:
            with open(f'/proc/{name}/stat', encoding='utf-8', errors='replace') as f:
                parent = int(f.read().rpartition(')')[2].split()[1])
        except (OSError, IndexError):
            continue
        children.setdefault(parent, []).append(int(name))
    found, level = [], [root]
    while level:
        level = [child for parent in level for child in children.get(parent, [])]
        found += level
    return found


def command_line(pid):
    try:
        with open(f'/proc/{pid}/cmdline', encoding='utf-8', errors='replace') as f:
            return f.read().replace('\0', ' ').strip() or f'({pid})'
    except OSError:
        return f'({pid})'


class Keeper:
    """In the forked process: runs the command to its end, ends what it left, and tells of both."""

    def __init__(self, step, log):
        self.step, self.log = step, log
        self.main = 0  # the command's process
        self.status = None  # the command's, as a shell tells it
        self.timed_out = False
        self.strays = []  # what the command left running
        self.deadline = 0.0  # when something has to be done about what still runs
        self.asked = False  # SIGTERM went to the command

    def run(self):
        """Returns what the runner is told."""
        signals = {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT}
        signal.pthread_sigmask(signal.SIG_BLOCK, signals)
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        began = time.monotonic()
        self.deadline = began + self.step.limit_s
        self.main = self.start(signals)
        while self.reap():
            got = signal.sigtimedwait(signals, max(0.0, self.deadline - time.monotonic()))
            if got is None or got.si_signo != signal.SIGCHLD:
                self.end(timed_out=got is None)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return {'status': self.status, 'strays': self.strays, 'wall_s': time.monotonic() - began, 'cpu_s': used.ru_utime + used.ru_stime}

    def start(self, signals):
        pid = os.fork()
        if pid != 0:
            return pid
        try:
            os.setsid()
            signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
            self.give_way()
            null = os.open(os.devnull, os.O_RDONLY)
            for fd, target in ((null, 0), (self.log, 1), (self.log, 2)):
                os.dup2(fd, target)
            os.chdir(self.step.folder or '.')
            os.execvpe(self.step.command[0], self.step.command, {**os.environ, **self.step.environment})
        except BaseException as error:  # pylint: disable=broad-except
            os.write(2, f'{self.step.command[0]}: {error}\n'.encode())
        os._exit(127)

    def give_way(self):
        os.nice(self.step.nice)
        try:  # the kernel shares among sessions first where it has groups of them (sched(7), autogroup): the new one is this command's
            with open('/proc/self/autogroup', 'w', encoding='utf-8') as f:
                f.write(str(self.step.nice))
        except OSError:
            pass

    def end(self, timed_out):
        """The deadline has come, or the runner wants an end: SIGTERM to the command, and SIGKILL to all that is left later."""
        if self.status is None and not self.asked:
            self.asked = True
            self.timed_out = timed_out
            if timed_out:
                self.note(f'the time limit of {self.step.limit_s:.0f} s is over\n')
            self.ask_command()
            self.deadline = time.monotonic() + GRACE_S
            return
        left = descendants(os.getpid())
        if self.status is not None:
            known = {stray.split(' ')[0] for stray in self.strays}
            self.strays += [f'{pid} {command_line(pid)}'[:200] for pid in left if str(pid) not in known]
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass  # gone, or of an account that we may not end: it is told
        self.deadline = time.monotonic() + 1

    def ask_command(self):
        for target in (-self.main, self.main):  # before its setsid it has no group
            try:
                os.kill(target, signal.SIGTERM)
                return
            except OSError:
                continue

    def note(self, text):
        try:
            os.write(self.log, text.encode())
        except OSError:
            pass  # a full disk

    def reap(self):
        """Takes all that have ended; whether any is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.main:
                code = os.waitstatus_to_exitcode(status)
                self.status = TIMED_OUT if self.timed_out else code if code >= 0 else 128 - code
                self.deadline = time.monotonic() + (1 if self.asked else STRAY_S)


def begin(step, log_path):
    """Starts a keeper. Returns its process id and a pipe on which one JSON object comes when all has ended."""
    reader, writer = os.pipe()
    sys.stdout.flush()
    runner = os.getpid()
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})  # until the keeper waits for them
    pid = os.fork()
    if pid != 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        os.close(writer)
        return pid, reader
    try:
        signal.set_wakeup_fd(-1)
        prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != runner:
            os._exit(0)
        os.setpgid(0, 0)  # the terminal's Ctrl-C is the runner's, which asks its keepers
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        os.close(reader)
        log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644)
        os.write(writer, json.dumps(Keeper(step, log).run()).encode())
    except BaseException:  # pylint: disable=broad-except
        traceback.print_exc()
    os._exit(0)
