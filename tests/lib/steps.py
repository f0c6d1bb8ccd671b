# SPDX-License-Identifier: Apache-2.0
"""steps.py - runs the steps of a check side by side, counts their tests, and tells how far it is

Two lanes: what computes (as many places as cores) and what waits for its own processes (twice as many). A step takes some
places of its lane, and starts when the steps that it needs have passed; steps that are first in the list come first.
"""
import dataclasses
import json
import os
import re
import selectors
import signal
import sys
import time

import keeper

COMPUTES, WAITS, ALONE = 'computes', 'waits', 'alone'
CORES = int(os.environ.get('EDL_TEST_JOBS') or os.cpu_count() or 1)
PLACES = {COMPUTES: CORES, WAITS: 2 * CORES}
TOLD_EVERY_S = 30
SKIPPED = 77


@dataclasses.dataclass
class Step:
    """One command with a log of its own. It is a test, or several where cmocka tells of them; a build is a step too."""
    name: str
    command: list
    lane: str = WAITS
    places: int = 1
    needs: tuple = ()  # names of steps
    after: tuple = ()  # names of steps that must be over, however they ended
    environment: dict = dataclasses.field(default_factory=dict)
    folder: str = ''
    limit_s: float = 300
    nice: int = 0


def clock(seconds):
    return f'{int(seconds) // 60}:{int(seconds) % 60:02}'


class Run:
    """All steps of one call. Results are lines "ok NAME", "FAILED NAME", "skipped NAME: reason" on standard output."""

    def __init__(self, steps, log):
        self.steps, self.log = list(steps), log
        self.pending = list(steps)
        self.running = {}  # pipe -> (step, process id, since)
        self.over = {}  # name -> whether it passed
        self.free = dict(PLACES)
        self.passed = self.failed = self.skipped = 0
        self.cpu_s = 0.0
        self.began = time.monotonic()
        self.selector = selectors.DefaultSelector()
        self.terminal = sys.stdout.isatty()
        self.said = ''  # on a terminal: the line that is written over
        self.told_at = self.began
        self.interrupted = 0  # the signal
        os.makedirs(log, exist_ok=True)
        self.seconds = os.path.join(log, 'seconds')  # a line per step: wall, CPU, name
        with open(self.seconds, 'a', encoding='utf-8'):
            pass
        names = {s.name for s in self.steps}
        lacking = [f'{s.name} needs {n}' for s in self.steps for n in s.needs + s.after if n not in names]
        if lacking or len(names) < len(self.steps):
            raise ValueError(f'steps that are not there, or twice: {", ".join(lacking)}')

    def go(self):
        """Returns whether all passed. Ctrl-C and SIGTERM end everything that was started."""
        wake, woken = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(woken)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self.interrupt)
        self.selector.register(wake, selectors.EVENT_READ)
        while self.pending or self.running:
            if self.interrupted:
                self.end_all()
            before = len(self.pending)
            self.start_what_may()
            if self.running:
                self.await_some()
            elif len(self.pending) == before and self.pending:
                raise ValueError(f'nothing can start: {", ".join(step.name for step in self.pending)}')
        self.say_progress('')
        return self.failed == 0

    def interrupt(self, number, _frame):
        self.interrupted = number

    def end_all(self):
        """Asks every step to end, waits for all of them, and ends as a command does that was interrupted."""
        while self.running:
            self.line(f'interrupted: ends {", ".join(step.name for step, _, _ in self.running.values())}')
            for _, pid, _ in self.running.values():
                os.kill(pid, signal.SIGTERM)  # not waited for yet: the number is its
            asked, self.interrupted = self.interrupted, 0
            while self.running and not self.interrupted:
                for pipe in self.ready(None):
                    self.take(pipe)
            self.interrupted = asked
        self.line(f'{self.passed} passed, {self.failed} failed, {self.skipped} skipped; interrupted, {len(self.pending)} steps not begun')
        sys.exit(128 + self.interrupted)

    def ready(self, timeout_s):
        """Pipes of the steps that have ended; it returns at a signal, too."""
        ended = []
        for key, _ in self.selector.select(timeout_s):
            if key.fileobj in self.running:
                ended.append(key.fileobj)
            else:
                os.read(key.fileobj, 64)
        return ended

    # what starts

    def start_what_may(self):
        for step in list(self.pending):
            broken = [n for n in step.needs if self.over.get(n) is False]
            if broken:
                self.pending.remove(step)
                self.end(step, 'skipped', f'{broken[0]} did not pass', passed=False)
            elif all(n in self.over for n in step.needs + step.after) and self.has_room(step):
                self.pending.remove(step)
                self.start(step)

    def has_room(self, step):
        if any(s.lane == ALONE for s, _, _ in self.running.values()):
            return False
        if step.lane == ALONE:
            return not self.running and all(s.lane == ALONE for s in self.pending)
        return self.free[step.lane] >= min(step.places, PLACES[step.lane])

    def start(self, step):
        if step.lane != ALONE:
            self.free[step.lane] -= min(step.places, PLACES[step.lane])
        pid, pipe = keeper.begin(step, self.log_of(step))
        self.running[pipe] = (step, pid, time.monotonic())
        self.selector.register(pipe, selectors.EVENT_READ)

    def log_of(self, step):
        return os.path.join(self.log, step.name.replace('/', '_') + '.log')

    # what ends

    def await_some(self):
        for pipe in self.ready(1.0 if self.terminal else 5.0):
            self.judge(*self.take(pipe))
        self.tell_progress()

    def take(self, pipe):
        """All that a keeper told; it is gone afterwards."""
        self.selector.unregister(pipe)
        step, pid, _ = self.running.pop(pipe)
        with os.fdopen(pipe, 'rb') as f:
            text = f.read()
        os.waitpid(pid, 0)
        if step.lane != ALONE:
            self.free[step.lane] += min(step.places, PLACES[step.lane])
        return step, json.loads(text) if text else {'status': 70, 'strays': ['its keeper ended'], 'wall_s': 0.0, 'cpu_s': 0.0}

    def judge(self, step, told):
        with open(self.log_of(step), encoding='utf-8', errors='replace') as f:
            text = f.read()
        with open(self.seconds, 'a', encoding='utf-8') as f:
            f.write(f'{told["wall_s"]:.1f} {told["cpu_s"]:.1f} {step.name}\n')
        self.cpu_s += told['cpu_s']
        good = len(re.findall(r'^\[       OK \]', text, re.M))
        bad = len(set(re.findall(r'^\[  FAILED  \] (test_.*)', text, re.M)))
        took = f'{told["wall_s"]:.1f} s, CPU {told["cpu_s"]:.1f} s'
        if told['strays']:
            strays = '\n'.join(told['strays'])
            text += f'\nit left processes behind:\n{strays}'
        if told['status'] == SKIPPED and not told['strays']:
            lines = text.strip().splitlines()
            self.end(step, 'skipped', lines[-1] if lines else 'it did not say why')
        elif told['status'] == 0 and not told['strays']:
            self.passed += max(good, 1)
            self.end(step, 'ok', f'({max(good, 1)}) {took}')
        else:
            self.passed += good
            self.failed += max(bad, 1)
            self.end(step, 'FAILED', f'(exit status {told["status"]}) {took}', passed=False)
            self.line('\n'.join('    | ' + line for line in text.splitlines()[-60:]))

    def end(self, step, result, words, passed=True):
        self.over[step.name] = passed
        self.skipped += result == 'skipped'
        self.line(f'{result} {step.name}{":" if result == "skipped" else ""} {words}')

    # what is told

    def line(self, text):
        if self.terminal and self.said:
            sys.stdout.write('\r\033[K')
            self.said = ''
        sys.stdout.write(text + '\n')
        sys.stdout.flush()

    def tell_progress(self):
        now = time.monotonic()
        if not self.running or (not self.terminal and now - self.told_at < TOLD_EVERY_S):
            return
        self.told_at = now
        names = ', '.join(f'{s.name} {clock(now - since)}' for s, _, since in sorted(self.running.values(), key=lambda r: r[2]))
        self.say_progress(f'{clock(now - self.began)}  {len(self.over)} of {len(self.steps)} steps over, '
                          f'{len(self.pending)} left, {self.failed} failed; running: {names}' + self.next_ones())

    def next_ones(self):
        names = [step.name for step in self.pending[:3]]
        return f'; next: {", ".join(names)}{", ..." if len(self.pending) > 3 else ""}' if names else ''

    def say_progress(self, text):
        if not self.terminal:
            if text:
                self.line('.. ' + text)
            return
        try:
            width = os.get_terminal_size(sys.stdout.fileno()).columns - 1
        except OSError:
            width = 79
        sys.stdout.write('\r\033[K' + text[:width])
        sys.stdout.flush()
        self.said = text

    def tell_the_slowest(self, count=12):
        """What took most of the processor, and what took longest."""
        rows = []
        with open(self.seconds, encoding='utf-8') as f:
            for row in f:
                wall, cpu, name = row.split(' ', 2)
                rows.append((float(wall), float(cpu), name.strip()))
        by_cpu = sorted(rows, key=lambda r: -r[1])[:count]
        by_wall = sorted(rows, key=lambda r: -r[0])[:count]
        self.line('most of the processor: ' + ', '.join(f'{n} {c:.0f} s' for _, c, n in by_cpu))
        self.line('longest: ' + ', '.join(f'{n} {w:.0f} s' for w, _, n in by_wall))
        wall = time.monotonic() - self.began
        self.line(f'wall {clock(wall)}, CPU {self.cpu_s:.0f} s of {wall * CORES:.0f} s on {CORES} cores')

    def tell_counts(self):
        self.line(f'{self.passed} passed, {self.failed} failed, {self.skipped} skipped')
