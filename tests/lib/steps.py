# SPDX-License-Identifier: Apache-2.0
"""steps.py - runs the steps of a check side by side, counts their tests, and tells how far it is

Two lanes: steps that compute, and give way, have all cores; steps that wait for their own processes have half of them. A step takes as
many of them as it kept busy last time (costs.py), so many that wait run side by side. It starts when the steps that it needs have passed. The longest chain of steps begins first; a step that has no room yet keeps what gets free from later ones of its lane.
"""
import dataclasses
import json
import os
import re
import selectors
import signal
import sys
import time

import costs
import keeper

COMPUTES, WAITS, ALONE = 'computes', 'waits', 'alone'
CORES = int(os.environ.get('EDL_TEST_JOBS') or os.cpu_count() or 1)
MOST = {COMPUTES: 2 * CORES, WAITS: 4 * CORES}  # steps at one time, however little they use
# beyond the cores: a build, which wants all of them, does not wait for a test that waits. Half of them are left to what gives way: its
# tests have deadlines, too
SPARE_CORES = {COMPUTES: 0.5, WAITS: -0.5 * CORES}
BUSY = 0.3  # a test that computes shared its core when it was measured: from here on it counts as a whole one
MEMORY_PART = 0.8
LOOK_EVERY_S = 2.0
HANGS_S, HANGS_TIMES = 60.0, 3.0  # beyond so many times as long as last time, and that: it waits for nothing
LONG_S = 5.0
UNSTEADY = 'failed, and passed when run again alone'
TOLD_EVERY_S = 30
SKIPPED, OUT_OF_TIME = 77, 124
NO_ACCIDENT = (r'Sanitizer\b.*(ERROR|CHECK failed)|(ERROR|WARNING): \w+Sanitizer|: runtime error: |Test failed with exception'
               r'|: +[0-9]+ (Segmentation fault|Aborted|Bus error|Illegal instruction|Floating point exception|Trace/breakpoint trap)')
CRASHED = (132, 133, 134, 135, 136, 139, 159)  # SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS


@dataclasses.dataclass
class Step:
    """One command with a log of its own. It is a test, or several where cmocka tells of them; a build is a step too."""
    name: str
    command: list
    lane: str = WAITS
    cores: int = 0  # that it may use; 0: as it did last time
    needs: tuple = ()  # names of steps
    after: tuple = ()  # names of steps that must be over, however they ended
    environment: dict = dataclasses.field(default_factory=dict)
    folder: str = ''
    source: str = ''  # of a test: the file that it is written in
    limit_s: float = 300
    nice: int = 0


def clock(seconds):
    return f'{int(seconds) // 60}:{int(seconds) % 60:02}'


def last_words(text):
    """Of a test that failed: its cases if it names some, what fail() said (lib/fail.sh), else the last line."""
    cases = sorted(set(re.findall(r'^\[  FAILED  \] (test_.*)', text, re.M))) or re.findall(r'^FAIL: (.*)', text, re.M)[:1]
    lines = text.strip().splitlines()
    return (' '.join(cases) or (lines[-1] if lines else 'it said nothing'))[:120]


def says_why(source):
    """Whether the head of a test says why it takes long."""
    with open(source, encoding='utf-8', errors='replace') as f:
        return any(re.match(r'(#|//|/\*| \*) Takes [0-9]+ s: .', line) for line in f.readlines()[:12])


class Run:
    """All steps of one call. Results are lines "ok NAME", "FAILED NAME", "unsure NAME" (it runs once more), "skipped NAME: reason" on standard output."""

    def __init__(self, steps, log, known=None, slowness=1.0, unsteady_most=0):
        """known: what steps took before, name -> costs.Cost. slowness: CPU seconds here for one of those. unsteady_most: if no more tests
        than these fail, each runs once more, alone, after all others; one that passes then has passed, and is told by name."""
        self.steps, self.log = list(steps), log
        self.known, self.slowness = known or {}, slowness
        rank = costs.ranks(steps, self.known)
        self.pending = sorted(steps, key=lambda step: -rank[step.name]) if known else list(steps)
        self.cost = {}  # name -> costs.Cost of this run
        self.memory = costs.Memory()
        self.memory_mib = MEMORY_PART * costs.memory_mib()
        self.looked_at = 0.0
        self.running = {}  # pipe -> (step, process id, since)
        self.over = {}  # name -> whether it passed
        self.unsteady_most = unsteady_most
        self.counted = set()  # names of steps
        self.tried = set()  # names of self.unsure of which try_again() has decided
        self.unsure = {}  # name -> what judge() has of a test that failed and may run once more
        self.missing = {'failed': [], UNSTEADY: [], 'skipped': []}  # names of steps; of the first two with the last words of the failure
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
        while self.pending or self.running or self.try_again():
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
        for name in set(self.unsure) - self.counted:
            self.count(*self.unsure[name], quoted=True)
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
        full = set()  # lanes in which a step waits for room
        for step in list(self.pending):
            broken = [n for n in step.needs if self.over.get(n) is False]
            if broken:
                self.pending.remove(step)
                self.end(step, 'skipped', f'{broken[0]} did not pass', passed=False)
            elif step.lane not in full and all(n in self.over for n in step.needs + step.after):
                if self.has_room(step):
                    self.pending.remove(step)
                    self.start(step)
                else:
                    full.add(step.lane)

    def has_room(self, step):
        running = [s for s, _, _ in self.running.values()]
        if any(s.lane == ALONE for s in running):
            return False
        if step.lane == ALONE:
            return not running and all(s.lane == ALONE for s in self.pending)
        beside = [s for s, _, since in self.running.values() if s.lane == step.lane and not self.hangs(s, since)]
        if len(beside) >= MOST[step.lane] or (running and sum(map(self.memory_of, [*running, step])) > self.memory_mib):
            return False
        return not beside or sum(map(self.cores_of, [*beside, step])) <= CORES + SPARE_CORES[step.lane]

    def hangs(self, step, since):
        """Whether it waits for far longer than last time: no other step shall wait for it."""
        known_s = self.known.get(step.name, costs.Cost()).wall_s
        return step.lane == WAITS and time.monotonic() - since > HANGS_S + HANGS_TIMES * known_s * self.slowness

    def cores_of(self, step):
        used = min(step.cores or self.known.get(step.name, costs.Cost()).cores(self.slowness), CORES)
        return max(used, 1.0) if step.lane == COMPUTES and used >= BUSY else used

    def memory_of(self, step):
        return self.known.get(step.name, costs.Cost()).memory_mib

    def start(self, step):
        if step.name not in self.unsure and os.path.exists(self.log_of(step) + '.first'):
            os.remove(self.log_of(step) + '.first')  # of an earlier check
        pid, pipe = keeper.begin(step, self.log_of(step))
        self.running[pipe] = (step, pid, time.monotonic())
        self.selector.register(pipe, selectors.EVENT_READ)

    def log_of(self, step):
        return os.path.join(self.log, step.name.replace('/', '_') + '.log')

    # what ends

    def await_some(self):
        for pipe in self.ready(1.0 if self.terminal else LOOK_EVERY_S):
            self.judge(*self.take(pipe))
        if time.monotonic() - self.looked_at >= LOOK_EVERY_S:
            self.looked_at = time.monotonic()
            self.memory.look([pid for _, pid, _ in self.running.values()])
        self.tell_progress()

    def take(self, pipe):
        """All that a keeper told; it is gone afterwards."""
        self.selector.unregister(pipe)
        step, pid, _ = self.running.pop(pipe)
        with os.fdopen(pipe, 'rb') as f:
            text = f.read()
        os.waitpid(pid, 0)
        told = json.loads(text) if text else {'status': 70, 'strays': ['its keeper ended'], 'wall_s': 0.0, 'cpu_s': 0.0}
        self.cost[step.name] = costs.Cost(told['wall_s'], told['cpu_s'], self.memory.most_mib.pop(pid, 0.0))
        return step, told

    def judge(self, step, told):
        with open(self.log_of(step), encoding='utf-8', errors='replace') as f:
            text = f.read()
        with open(self.seconds, 'a', encoding='utf-8') as f:
            f.write(f'{told["wall_s"]:.1f} {told["cpu_s"]:.1f} {step.name}\n')
        self.cpu_s += told['cpu_s']
        if told['strays']:
            strays = '\n'.join(told['strays'])
            text += f'\nit left processes behind:\n{strays}'
        if self.may_run_again(step, told, text):
            os.replace(self.log_of(step), self.log_of(step) + '.first')
            self.unsure[step.name] = (step, told, text)
            self.end(step, 'unsure', f'(exit status {told["status"]}) it runs once more, alone, if few tests fail', passed=False)
            self.quote(text)
        else:
            self.count(step, told, text)

    def may_run_again(self, step, told, text):
        """A test that failed for the first time. A crash and a finding of a sanitizer are no accident, and no test hangs twice for half an hour."""
        failed = told['status'] not in (0, SKIPPED) or told['strays']
        return (self.unsteady_most > 0 and step.source and failed and step.name not in self.unsure
                and told['status'] not in (OUT_OF_TIME, *CRASHED) and not re.search(NO_ACCIDENT, text)
                and not any(step.name in other.needs for other in self.steps))

    def try_again(self):
        """When all other steps are over: the tests that failed are begun once more, or are counted where they are many. Returns whether some begin."""
        first = [held for name, held in self.unsure.items() if name not in self.tried]
        self.tried |= set(self.unsure)
        if self.failed == 0 and len(first) <= self.unsteady_most:
            self.pending += [dataclasses.replace(step, lane=ALONE, needs=(), after=()) for step, _, _ in first]
        else:
            for held in first:
                self.count(*held, quoted=True)
        return bool(self.pending)

    def count(self, step, told, text, quoted=False):
        """quoted: what the test printed has been told. One that failed first and is a skip then has failed."""
        if told['status'] == SKIPPED and step.name in self.unsure:
            step, told, text = self.unsure[step.name]
        self.counted.add(step.name)
        good = len(re.findall(r'^\[       OK \]', text, re.M))
        bad = len(set(re.findall(r'^\[  FAILED  \] (test_.*)', text, re.M)))
        took = f'{told["wall_s"]:.1f} s, CPU {told["cpu_s"]:.1f} s'
        if told['status'] == SKIPPED and not told['strays']:
            lines = text.strip().splitlines()
            self.missing['skipped'].append(step.name)
            self.end(step, 'skipped', lines[-1] if lines else 'it did not say why')
        elif told['status'] == 0 and not told['strays']:
            self.passed += max(good, 1)
            self.end(step, 'ok', f'({max(good, 1)}) {took}')
            if step.name in self.unsure:
                self.missing[UNSTEADY].append(f'{step.name} ({last_words(self.unsure[step.name][2])})')
        else:
            self.passed += good
            self.failed += max(bad, 1)
            self.end(step, 'FAILED', f'(exit status {told["status"]}) {took}', passed=False)
            self.missing['failed'].append(f'{step.name} ({last_words(text)})')
            if not quoted:
                self.quote(text)

    def quote(self, text):
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

    def tell_the_slowest(self, count=10):
        """What took most of the processor, what took longest, and what does not say why it takes long."""
        def told(key, unit):
            rows = sorted(self.cost.items(), key=lambda row: -key(row[1]))[:count]
            return ', '.join(f'{name} {key(cost):.0f} {unit}' for name, cost in rows)

        self.line('most of the processor: ' + told(lambda cost: cost.cpu_s, 's'))
        self.line('longest: ' + told(lambda cost: cost.wall_s, 's'))
        silent = [s.name for s in self.steps if s.source and self.cost.get(s.name, costs.Cost(0)).wall_s > LONG_S and not says_why(s.source)]
        if silent:
            self.line(f'over {LONG_S:.0f} s, and their heads have no "Takes N s: why": {", ".join(silent)}')
        wall = time.monotonic() - self.began
        self.line(f'wall {clock(wall)}, CPU {self.cpu_s:.0f} s of {wall * CORES:.0f} s on {CORES} cores')

    def tell_counts(self):
        """The last lines, for a reader who has only these."""
        for result, names in self.missing.items():
            if names:
                self.line(f'{result}: {", ".join(sorted(names))}')
        self.line(f'{self.passed} passed, {self.failed} failed, {self.skipped} skipped')
