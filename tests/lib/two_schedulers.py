#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The proof of two schedulers: a cluster that is used while its leader, its database and its cables break, and what has to hold all the time.

    two_schedulers.py BUILD WORK [--engine postgresql|sqlite] [--faults NAME,...] [--tries N] [--seed N] [--json]

Two schedulers, a primary database and its synchronous copy, three nodes with four processes each, writers with keys, readers of events. Of
each fault N tries. Behind each: every acknowledged submission is there once and is answered by its key as before, no slot ran twice, no
process was ended, terms are in order, readers of events miss nothing. Prints one line per try, and figures: how long nobody accepted.
To be called in a network namespace of its own (lib/namespace.sh); where power is cut, by root, in namespaces of network and mounts. Ends with 1 where something does not hold."""
import argparse
import bisect
import collections
import json
import os
import random
import signal
import statistics
import sys
import time
import traceback

sys.dont_write_bytecode = True

import two_checker as checker  # noqa: E402
from postgresql import MISSING, Missing  # noqa: E402
from two_disks import prepare_disks  # noqa: E402
from two_faults import DISKS, FAULTS, PROXIES  # noqa: E402
from two_people import Asker, Reader, Reporter, Servers, Writer  # noqa: E402
from two_site import PATIENCE_S, Site, until  # noqa: E402

ROAMING, PAUSE_S, PROBE_S = 2, 0.2, 0.02
PATIENT_S = 15.0  # of one that waits for an answer, so that it comes from the scheduler
HEARD_LEAST = 5
AGAIN_MOST = 12  # keys that are asked again behind a try
SITE_TRIES = 20  # then the next tries have a new site: what waits in its queue costs each plan
SILENT_S = 120.0


class Proof:
    """One site and those who use it; its tries, one behind the other."""

    def __init__(self, site, luck):
        self.site, self.luck = site, luck
        site.start()
        site.run_processes()
        self.writers = [Writer(f'w{n}', site.addresses, site.token, PAUSE_S) for n in range(ROAMING)]
        self.writers.append(Writer('patient', site.addresses, site.token, PAUSE_S, timeout_s=PATIENT_S))
        self.writers += [Writer(f'only-{name}', site.addresses, site.token, PROBE_S, name) for name in site.schedulers]
        self.readers = [Reader(f'r{n}', site.addresses, site.token) for n in range(2)]
        self.asker = Asker(site.addresses)
        self.reporter = Reporter(site.addresses, site.join_token()['token'])
        self.people = [*self.writers, *self.readers, self.asker, self.reporter]
        self.terms, self.reports = [], []  # seconds that reports took while nothing could be stored
        self.since_s = self.until_s = 0.0
        for person in self.people:
            person.start()
        until(lambda: all(writer.acks for writer in self.writers[:ROAMING]), 'writers are heard')
        # a leader that can store nothing gives a lease to nodes only that it has heard before
        until(self.reporter.has_lease, 'the reporter has a lease')

    # what faults call

    def mark(self):
        """From now on something is broken."""
        self.since_s, self.until_s = time.monotonic(), 0.0

    def unmark(self):
        """From now on it is not: what counts from its end is counted from here."""
        self.until_s = time.monotonic()

    def until_leases(self):
        """Some reports have got a lease while something is broken; it lasts for longer where the reporter was held up."""
        until(lambda: len(self.reporter.heard_between(self.since_s, time.monotonic())) >= HEARD_LEAST, 'reports get leases')

    def until_accepted(self):
        since_s = time.monotonic()
        until(lambda: any(writer.acks and writer.acks[-1].sent_s > since_s for writer in self.writers), 'a submission is accepted')

    # a try

    def acks(self):
        return sorted((ack for writer in self.writers for ack in list(writer.acks)), key=lambda ack: ack.told_s)

    def one(self, name):
        """Returns how long nobody accepted, and the texts of what does not hold."""
        before_s = time.monotonic()
        FAULTS[name].do(self)
        self.until_accepted()
        self.site.whole()
        self.until_accepted()
        return self.unaccepted_s(), self.check(FAULTS[name], before_s)

    def unaccepted_s(self):
        """The longest time between two acknowledgements that follow each other, since something broke; from its end, where it lasted."""
        told = [ack.told_s for ack in self.acks()]
        told = told[max(bisect.bisect(told, self.since_s) - 1, 0):]
        return max((other - max(one, min(self.until_s, other)) for one, other in zip(told, told[1:])), default=0.0)

    def check(self, fault, before_s):
        acks, site = self.acks(), self.site
        wrong = [f'{name} has ended' for name in site.has_ended()]
        for person in self.people:
            odd = getattr(person, 'odd', [])
            wrong += odd[:3]
            odd.clear()
        wrong += [f'{person.name} broke: {person.broken!r}' for person in self.people if person.broken]
        wrong += checker.writes_lost(acks, site.jobs()) + checker.numbers_twice(acks)
        wrong += checker.answers_differ(acks, self.ask_again(acks[-200:]))
        if fault.leases_go_on:
            self.reports += self.reporter.heard_between(self.since_s, self.until_s)
        ticks = checker.Ticks(site.ticks)
        wrong += ticks.double_grants() + ([] if fault.ends or (fault.long and not site.can_freeze) else ticks.ended())
        self.terms.append(site.term())
        wrong += checker.terms_disordered(list(self.asker.tells), self.terms)
        try:
            until(lambda: not checker.Ticks(site.ticks).silent_since(time.monotonic(), 1.0), 'all processes go on', SILENT_S)
        except TimeoutError:
            wrong += [f'slot {slot} does not go on' for slot in checker.Ticks(site.ticks).silent_since(time.monotonic(), 1.0)]
        self.standstill_s = checker.Ticks(site.ticks).standstill_s(before_s)
        return wrong

    def ask_again(self, acks):
        servers, found = Servers(self.site.addresses, self.site.token, 10), {}
        for ack in self.luck.sample(acks, min(len(acks), AGAIN_MOST)):
            def again(ack=ack):
                status, body = servers.submit(self.site.leader(), ack.key, ack.name)
                return (status, body) if status not in (0, 503, 429) else None
            status, body = until(again, f'{ack.name} is answered again')
            found[ack.key] = body if status == 201 else f'{status} {body!r}'.encode()
        return found

    def end(self):
        """The readers come to the end of the history, and nothing was missing."""
        for writer in self.writers:
            writer.end()
        stored = self.site.revisions()
        until(lambda: all(reader.broken or reader.odd or (reader.revisions and reader.revisions[-1] >= stored[-1]) for reader in self.readers), 'readers come to the end')
        stored = self.site.revisions()
        for person in self.people:
            person.end()
        return checker.gaps_of_events({reader.name: reader.revisions for reader in self.readers}, stored)


def sites(given, luck, names):
    """Tries of one site after the other, and what it has to have."""
    for needs in ('', PROXIES, DISKS):
        todo = [name for _ in range(given.tries) for name in names if FAULTS[name].needs == needs]
        luck.shuffle(todo)
        for at in range(0, len(todo), SITE_TRIES):
            yield todo[at:at + SITE_TRIES], needs


def prove(given):
    """Returns the figures; prints what does not hold."""
    luck = random.Random(given.seed)
    names = given.faults.split(',') if given.faults else [name for name, fault in FAULTS.items() if given.engine in fault.engines and fault.needs != DISKS]
    seen = Seen(given.seed)
    for todo, needs in sites(given, luck, names):
        name, site = 'the start', Site(f'{given.work}/site-{seen.tries}', given.build, given.engine, proxied=needs == PROXIES, disks=needs == DISKS)
        try:
            proof = Proof(site, luck)
            for name in todo:
                seen.begin(name)
                seen.tried(name, proof, *proof.one(name))
                if seen.wrong and not given.keep_going:
                    seen.acknowledged += len(proof.acks())
                    return seen.figures()
            name = 'the end'
            seen.wrong += proof.end()
            seen.acknowledged += len(proof.acks())
            seen.reports += proof.reports
        except (TimeoutError, SystemExit) as late:  # SystemExit: of postgresql.py
            seen.wrong.append(f'{name}: {late}\n{site.tells()}')
            return seen.figures()
        finally:
            site.end()
    return seen.figures()


class Seen:
    """Figures of all tries."""

    def __init__(self, seed):
        self.seed, self.tries, self.acknowledged, self.still_s = seed, 0, 0, 0.0
        self.took, self.wrong, self.reports, self.loads = collections.defaultdict(list), [], [], []

    def begin(self, name):
        """So that it is known of which fault a try does not come to its end."""
        self.tries += 1
        self.loads.append(os.getloadavg()[0])
        print(f'{self.tries:4} {name:20}', end='', file=sys.stderr, flush=True)

    def tried(self, name, proof, seconds, bad):
        self.took[name].append(seconds)
        self.still_s = max(self.still_s, proof.standstill_s)
        told = f' {seconds:6.3f} s nobody accepted; processes stood still for {proof.standstill_s:.2f} s; {len(proof.acks())} acknowledged; load {self.loads[-1]:.0f}'
        print(told + ''.join(f'\n     FAIL: {text}' for text in bad) + (f'\n{proof.site.tells()}' if bad else ''), file=sys.stderr, flush=True)
        self.wrong += bad

    def figures(self):
        return {
            'seed': self.seed, 'acknowledged': self.acknowledged, 'violations': self.wrong[:50],
            'writes_lost': sum('was acknowledged by' in text for text in self.wrong), 'double_grants': sum('before the last word' in text for text in self.wrong),
            'standstill_worst_s': round(self.still_s, 3), 'report_worst_s': round(max(self.reports), 3) if self.reports else None,
            'load_least': round(min(self.loads, default=0)), 'load_most': round(max(self.loads, default=0)),
            'faults': {name: {'tries': len(seconds), 'p50_s': round(statistics.median(seconds), 3), 'worst_s': round(max(seconds), 3), 'goal_s': FAULTS[name].goal_s}
                       for name, seconds in sorted(self.took.items())}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('build')
    parser.add_argument('work')
    parser.add_argument('--engine', choices=('postgresql', 'sqlite'), default='postgresql')
    parser.add_argument('--faults', default='')
    parser.add_argument('--tries', type=int, default=1)
    parser.add_argument('--seed', type=int, default=int(os.environ.get('EDL_SEED', '1')))
    parser.add_argument('--keep-going', action='store_true', help='behind a try in which something did not hold, too')
    parser.add_argument('--json', action='store_true')
    given = parser.parse_args()
    os.makedirs(given.work, exist_ok=True)
    print(f'seed {given.seed}', file=sys.stderr)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit('it was told to end'))
    try:
        if any(FAULTS[name].needs == DISKS for name in given.faults.split(',') if name):
            prepare_disks(given.work)
        told = prove(given)
    except Missing as missing:
        print(missing)
        return MISSING
    except Exception:  # pylint: disable=broad-except
        traceback.print_exc()
        return 1
    if given.json:
        print(json.dumps(told))
    for text in told['violations']:
        print(f'FAIL: {text}', file=sys.stderr)
    return 1 if told['violations'] else 0


sys.exit(main())
