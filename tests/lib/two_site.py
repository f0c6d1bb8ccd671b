# SPDX-License-Identifier: Apache-2.0
"""The machines of a cluster with two schedulers, and what runs on each: databases, schedulers, agents. All of it on this machine, in network
namespaces, so that each can be killed, frozen and cut off.

A site without PostgreSQL has one scheduler, which is begun again where another one would take over."""
import json
import os
import signal
import subprocess
import time

import postgresql
from cut_proxy import CutProxy
from two_disks import Disk
from two_networks import HUB, Networks
from two_people import Servers, role_of

SCHEDULERS, DATABASES, NODES = ('a', 'b'), ('db1', 'db2'), ('n1', 'n2', 'n3')
PATIENCE_S = 120
TICK = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'two_ticks.pl')
PROCESSES = 4  # on each node
TOLD_LINES = 40
TELL_SESSIONS = "SELECT pid, state, wait_event, left(query, 80) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"


def until(holds, what, patience_s=PATIENCE_S):
    """What the condition returns once it is true."""
    deadline = time.monotonic() + patience_s
    while True:
        found = holds()
        if found:
            return found
        if time.monotonic() > deadline:
            raise TimeoutError(f'not in time: {what}')
        time.sleep(0.05)


def tail(path):
    try:
        with open(path, encoding='utf-8', errors='replace') as f:
            return ''.join(f.readlines()[-TOLD_LINES:])
    except OSError as error:
        return str(error)


class Site:
    def __init__(self, work, build, engine, lease='5s', proxied=False, disks=False):
        """proxied: between schedulers and databases are proxies, which end connections where they are told to. disks: each database is on
        one whose power can be cut."""
        self.work, self.build, self.engine, self.lease = work, build, engine, lease
        self.schedulers = SCHEDULERS if engine == 'postgresql' else SCHEDULERS[:1]
        self.networks = Networks([*self.schedulers, *(DATABASES if engine == 'postgresql' else ()), *NODES])
        self.running = {}  # name -> Popen of a scheduler or an agent
        self.addresses = {name: f'https://{self.networks.addresses[name]}:7010' for name in self.schedulers}
        self.ticks = f'{work}/ticks'
        os.makedirs(self.ticks)
        self.databases, self.proxied, self.proxies = None, proxied, {}
        self.has_disks, self.disks = disks, {}
        self.primary = DATABASES[0]
        self.token = ''
        # a node without control groups ends its processes with its lease; else they stand still
        self.can_freeze = os.access('/sys/fs/cgroup/freezer', os.W_OK) or os.access('/sys/fs/cgroup/cgroup.procs', os.W_OK)

    # what is begun

    def begin(self, name, machine, *command):
        with open(f'{self.work}/{name}.log', 'a', encoding='utf-8') as log:
            self.running[name] = subprocess.Popen([*self.networks.within(machine), *command], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                  pass_fds=[self.networks.spaces[machine]])  # pylint: disable=consider-using-with

    def start(self):
        if self.engine == 'postgresql':
            self.start_databases()
        self.start_scheduler('a')
        until(lambda: self.role('a') == 'leader', 'a leads')
        self.token = self.admin_token('a')
        for name in self.schedulers[1:]:
            self.add_standby(name)
        for node in NODES:
            self.join(node)
        until(self.nodes_are_ready, 'the nodes are ready')

    def start_databases(self):
        self.databases = postgresql.Servers(postgresql.new_folder(), self.networks)
        one, two = DATABASES
        for name in DATABASES:
            self.databases.listen(name)
        for name in DATABASES if self.has_disks else ():
            self.disks[name] = Disk(f'{self.work}/{name}.disk', f'{self.databases.folder}/{name}')
            self.disks[name].make()
        self.databases[one].start()
        self.databases[one].sql('postgres', "CREATE DATABASE edl TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'")
        self.databases[two].standby(self.databases[one])
        for disk in self.disks.values():
            disk.sync()
        for name in DATABASES if self.proxied else ():
            self.proxies[name] = CutProxy((HUB, 0), (self.networks.addresses[name], postgresql.PORT))
            self.proxies[name].start()

    def store_url(self):
        hosts = ','.join(f'{HUB}:{self.proxies[name].port}' if self.proxied else f'{self.networks.addresses[name]}:{postgresql.PORT}' for name in DATABASES)
        return f'postgresql://postgres@{hosts}/edl?target_session_attrs=read-write'

    def start_scheduler(self, name):
        store = ['--store', self.store_url(), '--scheduler-name', name, '--address', self.addresses[name]] if self.engine == 'postgresql' else []
        self.begin(name, name, f'{self.build}/edl-scheduler', '--conf', '', '--state-dir', f'{self.work}/{name}', '--listen', f'{self.networks.addresses[name]}:7010',
                   '--lease', self.lease, '--parking', '0', *store)

    def add_standby(self, name):
        """As an administrator does: a line that the leader gives, typed at the other machine."""
        leader = self.leader()
        told = subprocess.run([f'{self.build}/edl', '--server', self.addresses[leader], 'admin', 'standby', 'add', name, '--json'], check=True, stdout=subprocess.PIPE,
                              env={**os.environ, 'EDL_CA': f'{self.work}/{leader}/ca.pem', 'EDL_TOKEN_FILE': f'{self.work}/{leader}/admin-token'})
        line = json.loads(told.stdout)
        subprocess.run([*self.networks.within(name), f'{self.build}/edl-scheduler', '--conf', '', '--state-dir', f'{self.work}/{name}', '--join-standby', line['server'],
                        '--token', line['token'], '--ca-pin', line['ca_pin']], check=True, stdout=subprocess.DEVNULL, pass_fds=[self.networks.spaces[name]])
        with open(f'{self.work}/{name}/term', encoding='utf-8') as file:  # it knows the newest server before it looks
            assert int(file.read()) >= 1
        self.start_scheduler(name)
        until(lambda: self.role(name) == 'standby', f'{name} stands by')

    def join_token(self):
        return json.loads(self.ask('POST', '/tokens/join', '{}')[1])

    def join(self, node):
        given = self.join_token()
        self.begin(node, node, f'{self.build}/edl-agent', '--conf', '', '--client-conf', '', '--node', node, '--join', ','.join(self.addresses.values()), '--token', given['token'],
                   '--ca-pin', given['ca_pin'], '--state-dir', f'{self.work}/{node}', '--runtime', 'direct', '--no-foreign', '--allow-root',
                   '--cpu', '1', '--memory', '1Gi', '--overcommit', '--cut-off-kill', '60s', '--stop-processes-on-exit')

    def run_processes(self):
        """One for each slot, of which each says all the time that it acts; they fill the nodes."""
        count = PROCESSES * len(NODES)
        document = {'metadata': {'name': 'steady'}, 'spec': {'fault_tolerant': True, 'grace': '1s', 'restart': {'max': 1000, 'backoff': '10ms'}, 'trainer': {
            'command': ['perl', TICK, self.ticks], 'min-instance': count, 'max-instance': count, 'resources': {'requests': {'cpu': f'{1000 // PROCESSES}m', 'memory': '16Mi'}}}}}
        status, body = self.ask('POST', '/jobs', json.dumps(document))
        if status != 201:
            raise ValueError(f'the job is refused: {status} {body}')
        until(lambda: len(os.listdir(self.ticks)) == count, 'all processes run')

    # what is asked

    def admin_token(self, name):
        with open(f'{self.work}/{name}/admin-token', encoding='ascii') as f:
            return f.read().strip()

    def role(self, name):
        return role_of(Servers(self.addresses, '', 0.5), name)[0]

    def leader(self):
        """Who leads now; waits for one."""
        return until(lambda: next((name for name in self.schedulers if self.role(name) == 'leader'), None), 'somebody leads')

    def other(self, name):
        return next((other for other in self.schedulers if other != name), name)

    def ask(self, method, path, body=None):
        return Servers(self.addresses, self.token, 10).call(self.leader(), method, path, body, {'Content-Type': 'application/json'})

    def reports(self):
        """node -> when it reported last, of those that are ready"""
        status, body = self.ask('GET', '/nodes')
        return {node['name']: node['last_report_us'] for node in json.loads(body)['nodes'] if node['state'] == 'ready' and node['last_report_us'] > 0} if status == 200 else {}

    def nodes_are_ready(self, before=None):
        """All of them, and each has reported since `before`."""
        reports = self.reports()
        return all(node in reports and (before is None or before.get(node) != reports[node]) for node in NODES)

    def rows(self, query):
        """Rows of the database, as lists of texts. Of SQLite's while its scheduler runs."""
        if self.engine == 'postgresql':
            text = self.databases[self.primary].sql('edl', query)
        else:
            text = subprocess.run(['sqlite3', '-readonly', '-cmd', '.timeout 20000', f'{self.work}/a/edl.db', query], check=True, stdout=subprocess.PIPE, text=True).stdout
        return [line.split('|') for line in text.splitlines()]

    def jobs(self):
        return {int(job): name for job, name in self.rows('SELECT id, name FROM job')}

    def term(self):
        return int(self.rows('SELECT term FROM leader')[0][0]) if self.engine == 'postgresql' else 0

    def revisions(self):
        return [int(row[0]) for row in self.rows('SELECT revision FROM event ORDER BY revision')]

    # what is done to it

    def signal(self, name, number):
        self.running[name].send_signal(number)

    def kill(self, name):
        self.signal(name, signal.SIGKILL)
        self.running.pop(name).wait()

    def whole(self):
        """All is as before a fault: one leads, the other one stands by, and each commit has its copy."""
        # one that led before is "away" until it leads again
        until(lambda: sorted(self.role(name).replace('away', 'standby') for name in self.schedulers) == ['leader', 'standby'][:len(self.schedulers)],
              'one leads, the other one stands by')
        if self.databases:
            other = next(name for name in DATABASES if name != self.primary)
            until(lambda: self.databases[self.primary].sql('postgres', 'SELECT sync_state FROM pg_stat_replication') == 'sync', f'{other} is a copy again')
        before = self.reports()
        until(lambda: self.nodes_are_ready(before), 'the nodes are ready, and report')

    def tells(self):
        """What each one said last: for a person who looks for the cause."""
        said = []
        for name in self.schedulers:
            status, body = Servers(self.addresses, '', 5).call(name, 'GET', '/healthz')
            said.append(f'{name}: {status} {body.decode(errors="replace")}')
        for name in DATABASES if self.databases else ():
            try:
                rows = self.databases[name].sql('postgres', TELL_SESSIONS, 'SELECT application_name, state, sync_state FROM pg_stat_replication', patience_s=10)
            except subprocess.SubprocessError as error:
                rows = str(error)
            said.append(f'{name}: {rows}')
        for path in [f'{self.work}/{name}.log' for name in self.schedulers] + ([self.databases[name].log for name in DATABASES] if self.databases else []):
            said.append(f'--- {path}\n{tail(path)}')
        return '\n'.join(said)

    def has_ended(self):
        return [name for name, process in self.running.items() if process.poll() is not None]

    def end(self):
        self.networks.mend_all()
        for process in self.running.values():
            process.send_signal(signal.SIGCONT)
        for names in (NODES, SCHEDULERS):  # nodes say goodbye to somebody
            ending = [self.running.pop(name) for name in names if name in self.running]
            for process in ending:
                process.terminate()
            for process in ending:
                process.wait(PATIENCE_S)
        for proxy in self.proxies.values():
            proxy.end()
        if self.databases:
            for name in self.databases.names():
                self.databases[name].kill()
            for disk in self.disks.values():
                disk.end()
            self.databases.end()
        self.networks.end()
