#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""People who submit to a cluster with two schedulers, as a process beside a shell script, and what has to hold in the end.

    two_writers.py write ACKS TOKEN-FILE NAME=URL...     until SIGTERM; each acknowledgement is a line of ACKS
    two_writers.py told ACKS SINCE                       succeeds where something that was sent behind SINCE was acknowledged
    two_writers.py gap ACKS SINCE                        the longest time from SINCE on in which nothing was acknowledged
    two_writers.py lost ACKS TOKEN-FILE NAME=URL...      each acknowledged job is there under its number, once; prints how many there are
    two_writers.py twice FOLDER...                       of each slot one process acted at a time: a folder's file INDEX is of that slot

SINCE is a moment in seconds of /proc/uptime. What does not hold is printed, and the exit status is 1."""
import collections
import dataclasses
import json
import os
import signal
import sys
import time

sys.dont_write_bytecode = True

import two_checker as checker  # noqa: E402
import two_people as people  # noqa: E402

WRITERS, PAUSE_S = 2, 0.5
ASK_S, TRIES = 5.0, 100
# no node has so much, so it waits in the queue
DOCUMENT = {'roles': [{'role': 'worker', 'command': ['true'], 'cpu': '1000'}]}


class Noting(people.Writer):
    """A writer whose acknowledgements are lines of a file."""

    def __init__(self, name, addresses, token, path):
        super().__init__(name, addresses, token, PAUSE_S)
        self.file = open(path, 'a', encoding='ascii', buffering=1)  # pylint: disable=consider-using-with

    def step(self):
        n = len(self.acks)
        super().step()
        for ack in self.acks[n:]:
            self.file.write(json.dumps({**dataclasses.asdict(ack), 'body': ''}) + '\n')


def addresses_of(words):
    return dict(word.split('=', 1) for word in words)


def token_in(path):
    with open(path, encoding='ascii') as f:
        return f.read().strip()


def acks_in(path):
    with open(path, encoding='ascii') as f:
        return [checker.Ack(**json.loads(line)) for line in f if line.endswith('\n')]


def write(path, token, *servers):
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    people.document = lambda name: json.dumps({'name': name, **DOCUMENT})
    writers = [Noting(f'w{n}', addresses_of(servers), token_in(token), path) for n in range(WRITERS)]
    for writer in writers:
        writer.start()
    signal.sigwait({signal.SIGTERM})
    for writer in writers:
        writer.end()
    return [odd for writer in writers for odd in writer.odd]


def told(path, since):
    return [] if any(ack.sent_s > float(since) for ack in acks_in(path)) else ['nothing was acknowledged']


def gap(path, since):
    moments = [float(since), *sorted(ack.told_s for ack in acks_in(path) if ack.told_s > float(since))]
    print(f'{max((b - a for a, b in zip(moments, moments[1:])), default=float("inf")):.1f}')
    return []


def name_of(servers, job):
    """The name of a job as the leader tells it; '' where there is none."""
    for n in range(TRIES):
        status, body = servers.call(list(servers.addresses)[n % len(servers.addresses)], 'GET', f'/jobs/{job}')
        if status in (200, 404):
            return json.loads(body).get('name', '') if status == 200 else ''
        time.sleep(people.RETRY_S * n)
    raise TimeoutError(f'nobody tells of job {job}: {status} {body}')


def lost(path, token, *servers):
    acks, asked = acks_in(path), people.Servers(addresses_of(servers), token_in(token), ASK_S)
    print(len(acks))
    return checker.writes_lost(acks, {ack.job: name_of(asked, ack.job) for ack in acks}) + checker.numbers_twice(acks)


def twice(*folders):
    """A slot whose node was lost goes on elsewhere: its lines are on several machines."""
    slots = collections.defaultdict(lambda: collections.defaultdict(list))
    for folder in folders:
        for slot, lives in checker.Ticks(folder).slots.items():
            for life, seconds in lives.items():
                slots[slot][(folder, *life)] += seconds
    ticks = checker.Ticks(os.devnull)
    ticks.slots = slots
    return ticks.double_grants()


if __name__ == '__main__':
    WRONG = {'write': write, 'told': told, 'gap': gap, 'lost': lost, 'twice': twice}[sys.argv[1]](*sys.argv[2:])
    print(*WRONG, sep='\n', end='\n' if WRONG else '')
    sys.exit(1 if WRONG else 0)
