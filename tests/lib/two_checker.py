# SPDX-License-Identifier: Apache-2.0
"""What has to hold of a cluster with two schedulers, looked at from outside when all is over.

People submit with keys, and note each answer that they believe (Ack). Processes note that they act, on a clock that all of them share (tick
lines "INCARNATION PID NUMBER SECONDS"). Readers of events note revisions. Each function returns texts of what does not hold."""
import collections
import dataclasses
import glob
import os

STANDSTILL_S = 1.0  # a process that says nothing for longer stood still: its node's lease was over


@dataclasses.dataclass
class Ack:
    """A submission that was answered as done."""
    key: str
    name: str
    job: int
    body: bytes  # of the answer
    server: str
    sent_s: float
    told_s: float


def writes_lost(acks, rows):
    """rows: job -> name, as the database has them. An acknowledged job is there, under its name, once."""
    names = collections.Counter(rows.values())
    wrong = []
    for ack in acks:
        if rows.get(ack.job) != ack.name:
            wrong.append(f'job {ack.job} ({ack.name}) was acknowledged by {ack.server} and is {rows.get(ack.job, "not there")}')
        elif names[ack.name] != 1:
            wrong.append(f'{ack.name} is there {names[ack.name]} times')
    return wrong


def numbers_twice(acks):
    names = collections.defaultdict(set)
    for ack in acks:
        names[ack.job].add(ack.name)
    return [f'job {job} was told to be {" and ".join(sorted(those))}' for job, those in sorted(names.items()) if len(those) > 1]


def answers_differ(acks, again):
    """again: key -> the answer to the same call later."""
    return [f'{ack.name}: the answer was {ack.body!r}, and by its key {again[ack.key]!r}' for ack in acks if ack.key in again and again[ack.key] != ack.body]


class Ticks:
    """What the processes noted, by slot: (incarnation, pid) -> seconds at which it said that it acts."""

    def __init__(self, folder):
        self.slots = {}
        for path in sorted(glob.glob(f'{folder}/*')):
            lives = collections.defaultdict(list)
            with open(path, encoding='ascii', errors='replace') as f:
                for line in f:
                    words = line.split()
                    if len(words) == 4 and line.endswith('\n'):
                        lives[words[0], words[1]].append(float(words[3]))
            self.slots[os.path.basename(path)] = dict(lives)

    def double_grants(self):
        """Two processes of one slot that acted at one time."""
        wrong = []
        for slot, lives in self.slots.items():
            spans = sorted((seconds[0], seconds[-1], life) for life, seconds in lives.items())
            for (_, end, one), (begin, _, other) in zip(spans, spans[1:]):
                if begin < end:
                    wrong.append(f'slot {slot}: {other} began {end - begin:.2f} s before the last word of {one}')
        return wrong

    def ended(self):
        """Slots whose process is not the first one any more."""
        return [f'slot {slot} had {len(lives)} processes' for slot, lives in self.slots.items() if len(lives) > 1]

    def standstill_s(self, since_s=0.0):
        """The longest time for which a process said nothing, and went on."""
        longest = 0.0
        for lives in self.slots.values():
            for seconds in lives.values():
                longest = max([longest, *(b - a for a, b in zip(seconds, seconds[1:]) if b >= since_s)])
        return longest

    def silent_since(self, now_s, most_s):
        """Slots of which nobody acts now."""
        return [slot for slot, lives in self.slots.items() if now_s - max(seconds[-1] for seconds in lives.values()) > most_s]


def gaps_of_events(readers, stored):
    """readers: name -> revisions as they came; stored: those of the database. Nothing is missing, nothing comes twice."""
    wrong = []
    for name, seen in readers.items():
        for one, other in zip(seen, seen[1:]):
            if other != one + 1:
                wrong.append(f'reader {name}: event {other} behind {one}')
        if seen and stored and not set(seen) <= set(stored):
            wrong.append(f'reader {name} saw events that are not stored: {sorted(set(seen) - set(stored))[:5]}')
    for one, other in zip(stored, stored[1:]):
        if other != one + 1:
            wrong.append(f'the database has event {other} behind {one}')
    return wrong


def terms_disordered(tells, terms):
    """tells: (seconds, server, role, term) as each server told of itself; terms: of the database, in the order of looking."""
    leaders = collections.defaultdict(set)
    for _, server, role, term in tells:
        if role == 'leader' and term:
            leaders[term].add(server)
    wrong = [f'term {term} had {" and ".join(sorted(those))}' for term, those in sorted(leaders.items()) if len(those) > 1]
    return wrong + [f'term {other} came behind {one}' for one, other in zip(terms, terms[1:]) if other < one]
