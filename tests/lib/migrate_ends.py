#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A move of the state, or a restore, that ends anywhere: what is there then, who leads, and what a second run makes of it.

    migrate_ends.py WORK SERVERS NAME there|home|restore self|server|full

WORK/NAME-state and the database NAME are how each try begins; `server` is the server of tests/lib/postgresql.py in SERVERS that has it.
self: the program is killed at a call. server: PostgreSQL is killed then, and started again. full: from there on the disk is full.
EDL_POINT_STRIDE: of the calls one of so many is tried, besides all of the last ones. Used by 272-migrate-ends.sh, 273-restore-ends.sh."""
import glob
import hashlib
import json
import os
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import postgresql  # noqa: E402

BUILD = os.environ['EDL_BUILD_DIR']
PATIENCE_S = 300
LAST = 20  # calls at the end, each of which is tried
EACH = 2  # times that schedulers are started over what looks alike
OWN = {'leader', 'scheduler', 'workspace', 'workspace_piece', 'clock'}  # of one engine, or of this machine
SENDER, OWNERS = 'user.edl.sender', 'user.edl.owners'


def canonical(rows):
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


def rows_of_file(path):
    db = sqlite3.connect(f'file:{path}?mode=ro', uri=True)
    db.row_factory = sqlite3.Row
    tables = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")]
    rows = {name: canonical(dict(row) for row in db.execute(f'SELECT * FROM "{name}"')) for name in set(tables) - OWN}
    db.close()
    return rows


def differences(one, other):
    return {name: [row[:300] for row in sorted(set(one.get(name, [])) ^ set(other.get(name, [])))[:2]]
            for name in set(one) | set(other) if one.get(name) != other.get(name)}


class Wrong(Exception):
    pass


def need(condition, text):
    if not condition:
        raise Wrong(text)


class Place:
    """The state folder, and the database."""

    def __init__(self, work, servers, name):
        self.work, self.name = work, name
        self.begins = f'{work}/{name}-state'
        self.state, self.elsewhere = f'{work}/state', f'{work}/elsewhere'
        self.server = postgresql.Servers(servers)['a']
        self.url = self.server.url('edl')
        self.library = f'{BUILD}/tests/lib/kill_at.so'

    def renew(self):
        for folder in (self.state, self.elsewhere):
            shutil.rmtree(folder, ignore_errors=True)
        subprocess.run(['cp', '-a', self.begins, self.state], check=True)
        self.server.sql('postgres', 'DROP DATABASE IF EXISTS edl WITH (FORCE)', f'CREATE DATABASE edl TEMPLATE "{self.name}"')

    def sql(self, *statements):
        return self.server.sql('edl', *statements)

    def until_alone(self):
        """The server notices within half a second that a client is gone."""
        postgresql.until(lambda: self.sql("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'edl-%'") == '0', 'the session is gone')

    def has_tables(self):
        return self.sql("SELECT to_regclass('leader') IS NOT NULL") == 't'

    def rows(self):
        if not self.has_tables():
            return {}
        tables = self.sql("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").split()
        return {name: canonical(json.loads(row) for row in self.lines(f'SELECT row_to_json(t) FROM "{name}" AS t')) for name in set(tables) - OWN}

    def lines(self, sql):
        return self.sql(sql).splitlines()

    def archives_of_rows(self):
        found = {}
        for line in self.lines("SELECT json_build_array(w.sha256, w.bytes, w.sender, w.owners, coalesce((SELECT encode(string_agg(p.bytes, '' ORDER BY"
                               " p.number), 'hex') FROM workspace_piece AS p WHERE p.pieces = w.pieces), '')) FROM workspace AS w"):
            sha256, size, sender, owners, data = json.loads(line)
            data = bytes.fromhex(data)
            need(hashlib.sha256(data).hexdigest() == sha256 and len(data) == size, f'the database has other bytes of {sha256}')
            found[sha256] = [sender, owners]
        return found

    def archives_of_folder(self):
        found = {}
        for path in glob.glob(f'{self.state}/workspaces/*'):
            with open(path, 'rb') as file:
                need(hashlib.sha256(file.read()).hexdigest() == os.path.basename(path), f'{path} has other bytes')
            found[os.path.basename(path)] = [os.getxattr(path, name).decode() if name in os.listxattr(path) else '' for name in (SENDER, OWNERS)]
        return found


def run(*command, **more):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S, check=False, **more)


def try_to_lead(state, *options):
    """Starts a scheduler: what people and programs see of one that leads, or None and what it said."""
    notify, path = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM), f'{state}.notify'
    if os.path.exists(path):
        os.unlink(path)
    notify.bind(path)
    notify.settimeout(0.02)
    with open(f'{state}.log', 'w+', encoding='utf-8') as log:
        process = subprocess.Popen([f'{BUILD}/edl-scheduler', '--conf', '', '--state-dir', state, '--listen', '127.0.0.1:0', '--scheduler-name', 'x', *options],
                                   stderr=log, env={**os.environ, 'NOTIFY_SOCKET': path})
        try:
            text, deadline, leads = '', time.monotonic() + PATIENCE_S, False
            while process.poll() is None and not leads:
                need(time.monotonic() < deadline, f'a scheduler neither leads nor ends: {text}')
                try:
                    notify.recv(4096)
                except TimeoutError:
                    pass
                with open(f'{state}.log', encoding='utf-8') as said:
                    text = said.read()
                leads = re.search('leads \\(term', text) is not None if options else re.search('READY|policy', text) is not None
            return (facts(state) if leads else None), text
        finally:
            process.terminate()
            process.wait(PATIENCE_S)
            notify.close()


def facts(state):
    with open(f'{state}/address', encoding='utf-8') as file:
        server = file.read().strip()
    env = {**os.environ, 'EDL_SERVER': server if '://' in server else f'http://{server}', 'EDL_TOKEN_FILE': f'{state}/admin-token'}
    found = []
    for words, key, kept in ((('ps', '--all'), 'jobs', ('id', 'name', 'state', 'user')), (('user', 'list'), 'users', ('name', 'role')),
                             (('token', 'list'), 'tokens', ('id', 'user', 'note')), (('nodes',), 'nodes', ('node', 'name'))):
        deadline = time.monotonic() + PATIENCE_S
        while True:
            done = run(f'{BUILD}/edl', *words, '--json', env=env)
            if done.returncode == 0 or time.monotonic() > deadline:
                break
        need(done.returncode == 0, f'edl {words[0]}: {done.stderr}')
        found.append(sorted(json.dumps([row.get(word) for word in kept]) for row in json.loads(done.stdout)[key]))
    return found


class Sweep:
    """One command, ended at many of its calls."""

    def __init__(self, place, fault):
        self.place, self.fault = place, fault
        self.share = 1 if fault == 'self' else 2  # of the points of other faults, which take longer, there are fewer
        self.stride = self.share * int(os.environ.get('EDL_POINT_STRIDE', '64'))
        self.count = f'{place.work}/count'
        self.tried = {}  # what was there -> how often schedulers were started over it

    def with_fault(self, point):
        env = {**os.environ, 'LD_PRELOAD': self.place.library, 'EDL_TEST_KILL_AT': str(point), 'EDL_TEST_KILL_COUNT': self.count}
        if self.fault == 'server':
            env['EDL_TEST_KILL_PID'] = str(self.place.server.pid())
        elif self.fault == 'full':
            env['EDL_TEST_KILL_FULL'] = 'yes'
        done = run(*self.program(), env=env)
        if self.fault == 'server':
            self.place.server.lose()
            self.place.server.start()
        self.place.until_alone()
        if self.fault != 'self':
            need(done.returncode in (0, 1), f'it ended with {done.returncode}: {done.stderr}')
            need(done.returncode == 0 or re.search('; [a-z`]', done.stderr), f'it says no remedy: {done.stderr}')
        return done

    def points(self):
        self.place.renew()
        done = self.with_fault(0)
        need(done.returncode == 0, f'not done without a fault: {done.stderr}')
        with open(self.count, encoding='utf-8') as file:
            n = int(file.read())
        first = 1 + int(os.environ.get('EDL_SEED', '1')) % self.stride
        return n, sorted({*range(first, n + 1, self.stride), *range(max(1, n - LAST // self.share), n + 1)})

    def go(self):
        n, points = self.points()
        status, began = 0, time.monotonic()
        for point in points:
            self.place.renew()
            try:
                self.check(point)
            except (Wrong, sqlite3.Error) as wrong:
                print(f'FAIL: call {point} of {n}: {wrong}', flush=True)
                status = 1
        print(f'{len(points)} of {n} calls, {time.monotonic() - began:.0f} s', flush=True)
        return status

    def look(self):
        """What is there, as far as it says who leads."""
        place = self.place
        rows = place.has_tables() and place.sql('SELECT count(*) FROM job') != '0'
        return (os.path.exists(f'{place.state}/moved'), os.path.exists(f'{place.state}/edl.db'), rows,
                rows and place.sql('SELECT moved_wall_us > 0, led FROM leader'))

    def start_both(self, done):
        """Who leads over the file, who over the database: what each sees, None where it does not. A database without rows is nobody's."""
        place, seen = self.place, self.look()
        by_file, said_file = try_to_lead(place.state)
        by_database, said_database = None, 'edl admin migrate'
        if seen[2]:
            by_database, said_database = try_to_lead(place.elsewhere, '--store', place.url)
        need(not (by_file and by_database), f'both lead; {done.stderr}')
        need(by_file or by_database or ('edl admin migrate' in said_file and 'edl admin migrate' in said_database), f'neither leads: {said_file}, {said_database}')
        return by_file, by_database


class Move(Sweep):
    def __init__(self, place, fault, home):
        super().__init__(place, fault)
        self.home, self.facts = home, None

    def program(self):
        state, url = self.place.state, self.place.url
        words = ['--migrate', f'sqlite:{state}', '--store', url] if self.home else ['--migrate', url]
        return [f'{BUILD}/edl-scheduler', '--conf', '', '--state-dir', state, *words]

    def again(self):
        state, url = self.place.state, self.place.url
        return run(f'{BUILD}/edl', 'admin', 'migrate', *(['--to', f'sqlite:{state}', '--from', url] if self.home else ['--to', url, '--state-dir', state]))

    def rows(self, there):
        return self.place.rows() if there else rows_of_file(f'{self.place.state}/edl.db')

    def archives(self, there):
        return self.place.archives_of_rows() if there else self.place.archives_of_folder()

    def check(self, point):
        rows, archives = self.rows(self.home), self.archives(self.home)
        former = rows_of_file(f'{self.place.state}/edl.db') if self.home else None
        done = self.with_fault(point)
        seen = self.look()
        self.tried[seen] = self.tried.get(seen, 0) + 1
        if self.tried[seen] <= EACH:
            by_file, by_database = self.start_both(done)
            leads = by_file or by_database
            self.facts = self.facts or leads
            need(not leads or leads == self.facts, f'it has other things: {leads}, {self.facts}')
            if by_file if self.home else by_database:
                return self.check_done()
            if leads:
                rows = self.rows(self.home)
        again = self.again()
        if again.returncode != 0:  # it was done, and nobody said so any more
            return self.check_done()
        found = self.rows(not self.home)
        need(found == rows, f'rows differ: {differences(rows, found)}')
        need(self.archives(not self.home) == archives, f'archives differ: {archives}, {self.archives(not self.home)}')
        left = [name for name in os.listdir(self.place.state) if name.endswith('.new')] + glob.glob(f'{self.place.state}/workspaces/.*')
        need(not left, f'{left} is left')
        need(not self.home or former in self.aside(), f'the former database is not aside: {os.listdir(self.place.state)}')
        if self.tried[seen] <= EACH:
            by_file, by_database = self.start_both(again)
            need((by_file if self.home else by_database) == (self.facts or by_file or by_database), f'it does not lead, or has other things: {by_file} {by_database}')
        return None

    def aside(self):
        return [rows_of_file(path) for path in glob.glob(f'{self.place.state}/edl.db.before-*') if not path.endswith(('-wal', '-shm'))]

    def check_done(self):
        """It was done when it ended, and the same again says so."""
        again = self.again()
        need('the state came to it from there' in again.stderr if self.home else ' is in postgresql://' in again.stderr, f'it was done, and then: {again.stderr}')
        by_file, by_database = self.start_both(again)
        need(by_file if self.home else by_database, f'it was done, and does not lead: {again.stderr}')


class Restore(Sweep):
    """WORK/backup has the job `first` and a token that was removed since, and the database the job `later`."""

    def program(self):
        return [f'{BUILD}/edl-scheduler', '--conf', '', '--state-dir', self.place.state, '--store', self.place.url, '--restore', f'{self.place.work}/backup']

    def jobs(self):
        return self.place.sql('SELECT name FROM job ORDER BY id').split()

    def check(self, point):
        place = self.place
        tokens = place.sql('SELECT count(*) FROM token')
        former, archives = place.rows(), place.archives_of_rows()
        done = self.with_fault(point)
        is_new = 'later' not in self.jobs()
        need(is_new or place.rows() == former, f'a part of it was done: {differences(former, place.rows())}')
        need(done.returncode != 0 or is_new, 'it was done, and is not')
        self.tried[is_new] = self.tried.get(is_new, 0) + 1
        if self.tried[is_new] <= EACH:
            need(try_to_lead(place.elsewhere, '--store', place.url)[0], 'nobody leads')
        epoch, term = (int(place.sql(f'SELECT max({what}) FROM {table}') or '0') for what, table in (('epoch', 'epoch'), ('term', 'leader')))
        again = run(*self.program())
        need(again.returncode == 0, f'the same again does not end it: {again.stderr}; first: {done.stderr}')
        need(self.jobs() == ['first'] and place.sql('SELECT count(*) FROM token') == tokens, f'jobs {self.jobs()}')
        need(int(place.sql('SELECT max(epoch) FROM epoch')) > epoch and int(place.sql('SELECT term FROM leader')) > term, 'numbers may be given twice')
        need(place.archives_of_rows() == archives, 'archives differ')
        aside = [path for path in glob.glob(f'{place.state}/edl.db.*') if not path.endswith(('-wal', '-shm'))]
        need(all(re.search('before-[0-9TZ]*(.[0-9]+)?$', path) for path in aside), f'left: {aside}')
        jobs = [[json.loads(row)['name'] for row in rows_of_file(path)['job']] for path in aside]
        need(['first', 'later'] in [sorted(names) for names in jobs], f'the rows of before are not aside: {jobs}')
        need(all(jobs), f'a former database has no rows: {jobs}')


def main(work, servers, name, what, fault):
    place = Place(work, servers, name)
    sweep = Restore(place, fault) if what == 'restore' else Move(place, fault, what == 'home')
    sys.exit(sweep.go())


if __name__ == '__main__':
    main(*sys.argv[1:])
