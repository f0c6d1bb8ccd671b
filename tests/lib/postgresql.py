#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Temporary PostgreSQL servers of a test: made, broken and ended in a folder of their own.

    postgresql.py FOLDER start NAME [SETTING=VALUE...]      a new server, or one that was ended; prints nothing, returns when it is ready
    postgresql.py FOLDER standby NAME PRIMARY [SETTING=VALUE...]   a copy of PRIMARY that each of its commits waits for
    postgresql.py FOLDER promote|stop|kill|lose|freeze|thaw NAME   kill: -m immediate; lose: SIGKILL for all of its processes
    postgresql.py FOLDER url NAME DATABASE
    postgresql.py FOLDER sql NAME DATABASE SQL              rows on standard output
    postgresql.py FOLDER end                                all servers of the folder, and the folder
    postgresql.py run COMMAND...                            with EDL_TEST_POSTGRESQL, the URL of a server that lives as long as it

Ends with 77 and a reason where PostgreSQL is not installed. tests/lib/postgresql.sh has this for scripts."""
import fcntl
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True

import keeper  # noqa: E402

MISSING = 77
PORT = 5432  # each server has a socket folder of its own
PATIENCE_S = 120
MEMORY_BYTES = 1 << 30
# All of it is durable, and little is kept in memory. A standby that lost its primary asks again at once.
SETTINGS = {
    'listen_addresses': '', 'port': str(PORT), 'max_connections': '50', 'shared_buffers': '16MB', 'huge_pages': 'off', 'jit': 'off',
    'wal_level': 'replica', 'max_wal_senders': '8', 'wal_keep_size': '128MB', 'max_wal_size': '256MB', 'hot_standby': 'on',
    'wal_retrieve_retry_interval': '100ms', 'wal_sender_timeout': '3s', 'wal_receiver_timeout': '3s', 'wal_receiver_status_interval': '1s',
    'timezone': 'UTC', 'lc_messages': 'C', 'log_line_prefix': '%m [%p] ', 'logging_collector': 'off',
}


class Missing(Exception):
    """PostgreSQL cannot be run here; the text says why."""


def programs():
    """The folder of initdb and postgres, of the newest release that is installed."""
    found = glob.glob('/usr/lib/postgresql/*/bin/postgres')
    found.sort(key=lambda path: float(re.sub('[^0-9.]', '', path.split('/')[4]) or 0))
    path = found[-1] if found else shutil.which('postgres')
    if not path:
        raise Missing('PostgreSQL is not installed: apt-get install postgresql')
    return os.path.dirname(os.path.realpath(path))


def succeeds(*command):
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0


class Account:
    """Who a server runs as: PostgreSQL refuses root. `name` tells the three ways apart, `prefix` goes before each command."""

    def __init__(self):
        if os.geteuid() != 0:
            self.name, self.prefix, self.owner = 'own', [], None
            return
        for account in ('postgres', 'nobody'):
            prefix = ['setpriv', f'--reuid={account}', '--init-groups', f'--regid={account}']
            if succeeds('id', account) and group_of(account) and succeeds(*prefix[:-1], f'--regid={group_of(account)}', 'true'):
                self.name, self.prefix, self.owner = account, [*prefix[:-1], f'--regid={group_of(account)}'], f'{account}:'
                return
        # root of a user namespace that has no other account: an inner one calls the same account by another number
        self.name, self.prefix, self.owner = 'mapped', ['unshare', '-U', '--map-user=1000', '--map-group=1000'], None
        if not succeeds(*self.prefix, 'true'):
            raise Missing('PostgreSQL does not run as root, and there is no other account (setpriv, unshare -U)')

    def give(self, path):
        if self.owner:
            subprocess.run(['chown', '-R', self.owner, path], check=True)


def group_of(account):
    done = subprocess.run(['id', '-gn', account], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return done.stdout.strip()


def lives(pid):
    """Whether the process is there and is no zombie."""
    try:
        os.waitpid(pid, os.WNOHANG)  # if it is a child of ours
    except ChildProcessError:
        pass
    try:
        with open(f'/proc/{pid}/stat', encoding='utf-8', errors='replace') as f:
            return f.read().rpartition(')')[2].split()[0] not in 'ZX'
    except OSError:
        return False


def until(holds, what, log=None, patience_s=PATIENCE_S):
    deadline, pause_s = time.monotonic() + patience_s, 0.005
    while not holds():
        if time.monotonic() > deadline:
            sys.exit(f'FAIL: not in time: {what}\n{tail(log)}')
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.5, 0.05)


def tail(log):
    if not log or not os.path.exists(log):
        return ''
    with open(log, encoding='utf-8', errors='replace') as f:
        return ''.join(f.readlines()[-30:])


class Servers:
    """The servers of one folder, by name. The folder's name is short: a path of a socket has 107 bytes at most."""

    def __init__(self, folder, networks=None):
        """networks: of two_networks.py, whose machines listen() names."""
        self.folder, self.networks, self.machines = folder, networks, set()
        self.bin = programs()
        self.account = Account()
        if not os.path.isdir(folder):
            os.makedirs(folder)
            os.chmod(folder, 0o755)

    def __getitem__(self, name):
        return Server(self, name)

    def names(self):
        return sorted(name for name in os.listdir(self.folder) if os.path.isdir(f'{self.folder}/{name}/data'))

    def listen(self, name):
        """The server of that name is to run on the machine of that name, and to listen at its address."""
        self.machines.add(name)

    def address(self, name):
        return self.networks.addresses[name] if name in self.machines else ''

    def within(self, name):
        """What goes before a command that is to run on the server's machine, and the descriptors that it takes."""
        return (self.networks.within(name), [self.networks.spaces[name]]) if name in self.machines else ([], [])

    def run(self, *command, **more):
        """One of PostgreSQL's programs, as the account of the servers."""
        return subprocess.run([*self.account.prefix, f'{self.bin}/{command[0]}', *command[1:]], check=True, cwd='/', **more)

    def template(self):
        """An empty cluster, made once for all tests of a build folder."""
        build = os.environ.get('EDL_BUILD_DIR')
        at = f'{build}/tests' if build and os.path.isdir(f'{build}/tests') else self.folder
        path = f'{at}/postgresql-{self.bin.split("/")[-2]}-{self.account.name}-{os.getuid()}'
        with open(f'{path}.lock', 'w', encoding='utf-8') as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not os.path.exists(f'{path}/made'):
                self.make_template(path)
        return f'{path}/data'

    def make_template(self, path):
        shutil.rmtree(path, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix='edl-initdb.') as made:  # where that account may write
            os.chmod(made, 0o755)
            self.account.give(made)
            self.run('initdb', '-D', f'{made}/data', '-A', 'trust', '-U', 'postgres', '--encoding=UTF8', '--locale=C', '--data-checksums', '--no-sync', '--wal-segsize=4',
                     stdout=subprocess.DEVNULL)
            os.makedirs(path)
            copy(f'{made}/data', f'{path}/data')
        with open(f'{path}/made', 'w', encoding='utf-8'):
            pass

    def end(self):
        for name in self.names():
            self[name].kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def copy(source, target):
    subprocess.run(['cp', '-a', '--reflink=auto', source, target], check=True)


class Server:
    """One server: FOLDER/NAME has its data, its socket and its log. Nothing of it is kept in memory, so two programs may use one."""

    def __init__(self, servers, name):
        self.servers, self.name = servers, name
        self.at = f'{servers.folder}/{name}'
        self.data, self.log = f'{self.at}/data', f'{self.at}/log'

    # its life

    def start(self, settings=None):
        """A new one, or one that was ended; ready when it returns."""
        if not os.path.isdir(self.data):
            self.make_place()
            copy(self.servers.template(), self.data)
            self.configure(settings or {})
        elif settings:
            self.configure(settings)
        self.launch()
        self.until_ready()

    def standby(self, primary, settings=None):
        """A copy of `primary`, whose commits wait for this one from now on."""
        self.make_place()
        self.servers.run('pg_basebackup', '-D', self.data, '-d', primary.conninfo('postgres'), '-c', 'fast', '-X', 'stream', '--no-sync')
        self.configure({**primary.settings(), **(settings or {})})
        self.follow(primary)
        self.launch()
        self.until_ready()
        primary.wait_for(self.name)

    def follow(self, primary):
        """From its next start on it is a standby of `primary`, which it asks over the network where that listens there."""
        host = self.servers.address(primary.name) or primary.at
        self.write('follow.conf', f"primary_conninfo = 'host={host} port={PORT} user=postgres application_name={self.name}'\nsynchronous_standby_names = ''\n")
        self.write('standby.signal', '')

    def rewind(self, primary):
        """Of a former primary that was lost: what it alone has is undone, and it is a standby of the other one."""
        primary.sql('postgres', 'CHECKPOINT')  # from which on its history is told from this one's
        self.servers.run('pg_rewind', '-D', self.data, '--source-server', primary.conninfo('postgres'), '--no-sync', stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.configure({})
        self.follow(primary)
        self.launch()
        self.until_ready()

    def wait_for(self, standby):
        """Each commit waits for the standby of that name; '' waits for none."""
        self.write('follow.conf', f"synchronous_standby_names = '{standby}'\n")
        self.reload()
        if standby:
            until(lambda: self.sql('postgres', "SELECT sync_state FROM pg_stat_replication") == 'sync', f'{standby} is a synchronous standby', self.log)

    def reload(self):
        os.kill(self.pid(), signal.SIGHUP)

    def promote(self):
        """Of a standby: it accepts changes, and waits for no other."""
        self.write('follow.conf', "synchronous_standby_names = ''\n")
        self.servers.run('pg_ctl', '-D', self.data, '-t', str(PATIENCE_S), '-w', 'promote', stdout=subprocess.DEVNULL)
        self.reload()

    def stop(self):
        """In good order: what is in its memory is written first."""
        self.signal_and_await(signal.SIGINT)

    def kill(self):
        """At once, as by pg_ctl stop -m immediate: the next start has to recover."""
        self.signal_and_await(signal.SIGQUIT)

    def lose(self, cut=None):
        """All of its processes die by SIGKILL, as with their machine. cut: called while they stand still; takes their disk away."""
        self.freeze()
        pids = self.processes()
        if cut:
            cut()
        for pid in pids:
            send(pid, signal.SIGKILL)
        until(lambda: not any(map(lives, pids)), f'{self.name} is gone')
        if not cut:
            self.forget()

    def freeze(self):
        """Stops all of its processes. The first one is stopped first, so that no other is added."""
        for _ in range(2):
            for pid in self.processes():
                send(pid, signal.SIGSTOP)

    def thaw(self):
        for pid in self.processes():
            send(pid, signal.SIGCONT)

    # what is asked of it

    def conninfo(self, database):
        return f'host={self.at} port={PORT} user=postgres' + (f' dbname={database}' if database else '')

    def url(self, database):
        return f'postgresql://postgres@/{database}?host={self.at}'

    def sql(self, database, *statements, patience_s=None):
        """Rows of the statements, whose columns are parted by "|"; each of them is a transaction."""
        command = [f'{self.servers.bin}/psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', self.conninfo(database)]
        for statement in statements:
            command += ['-c', statement]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd='/', timeout=patience_s).stdout.strip()

    def pid(self):
        """Of its first process; 0 where it does not run."""
        try:
            with open(f'{self.at}/pid', encoding='utf-8') as f:
                pid = int(f.read())
            with open(f'/proc/{pid}/cmdline', encoding='utf-8') as f:
                return pid if self.data in f.read().split('\0') and lives(pid) else 0
        except (OSError, ValueError):
            return 0

    def processes(self):
        """The first one, and all that it has begun."""
        first = self.pid()
        if not first:
            return []
        try:
            with open(f'/proc/{first}/task/{first}/children', encoding='utf-8') as f:
                return [first, *map(int, f.read().split())]
        except OSError:  # a kernel without CONFIG_PROC_CHILDREN
            return [first, *keeper.descendants(first)]

    def settings(self):
        with open(f'{self.at}/settings', encoding='utf-8') as f:
            return dict(line.rstrip('\n').split('=', 1) for line in f)

    # its files

    def make_place(self):
        os.makedirs(self.at, exist_ok=True)  # a disk may be mounted there
        os.chmod(self.at, 0o755)
        self.servers.account.give(self.at)

    def write(self, name, text):
        path = f'{self.data}/{name}'
        with open(f'{path}.new', 'w', encoding='utf-8') as f:
            f.write(text)
        self.servers.account.give(f'{path}.new')
        os.replace(f'{path}.new', path)

    def configure(self, settings):
        if os.path.exists(f'{self.at}/settings'):
            settings = {**self.settings(), **settings}
        with open(f'{self.at}/settings', 'w', encoding='utf-8') as f:
            f.writelines(f'{key}={value}\n' for key, value in settings.items())
        rows = {**SETTINGS, 'listen_addresses': self.servers.address(self.name), 'unix_socket_directories': self.at, 'cluster_name': self.name, **settings}
        self.write('postgresql.conf', ''.join(f"{key} = '{value}'\n" for key, value in rows.items()) + "include_if_exists = 'follow.conf'\n")
        self.write('postgresql.auto.conf', '')
        self.write('pg_hba.conf', 'local all all trust\nlocal replication all trust\nhost all all all trust\nhost replication all all trust\n')

    # its processes

    def launch(self):
        self.forget()
        within, passed = self.servers.within(self.name)
        with open(self.log, 'a', encoding='utf-8') as log:
            process = subprocess.Popen([*within, *self.servers.account.prefix, f'{self.servers.bin}/postgres', '-D', self.data], stdin=subprocess.DEVNULL, stdout=log,
                                       stderr=log, start_new_session=True, cwd='/', pass_fds=passed)  # pylint: disable=consider-using-with
        process.returncode = 0  # it outlives this object, and lives() takes what it leaves
        with open(f'{self.at}/pid', 'w', encoding='utf-8') as f:
            f.write(str(process.pid))
        self.launched = process.pid

    def until_ready(self):
        def ready():
            if not lives(self.launched):
                sys.exit(f'FAIL: PostgreSQL {self.name} has ended\n{tail(self.log)}')
            try:
                with open(f'{self.data}/postmaster.pid', encoding='utf-8') as f:
                    lines = f.read().splitlines()
                return int(lines[0]) == self.launched and lines[7].strip() in ('ready', 'standby')
            except (OSError, IndexError, ValueError):
                return False
        until(ready, f'PostgreSQL {self.name} is ready', self.log)
        if os.path.exists(f'{self.data}/standby.signal'):
            until(self.accepts, f'the standby {self.name} answers', self.log)

    def accepts(self):
        return succeeds(f'{self.servers.bin}/pg_isready', '-q', '-h', self.at, '-p', str(PORT))

    def signal_and_await(self, number):
        pid = self.pid()
        if pid:
            self.thaw()
            others = self.processes()
            send(pid, number)
            until(lambda: not any(map(lives, others)), f'PostgreSQL {self.name} has ended', self.log)
        self.forget()

    def forget(self):
        """What would keep it from its next start: another process may have the number of one that is gone."""
        if not self.pid():
            for path in (f'{self.at}/pid', f'{self.data}/postmaster.pid', *glob.glob(f'{self.at}/.s.PGSQL.*')):
                if os.path.exists(path):
                    os.unlink(path)


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def new_folder(quick=False):
    """quick: in memory, where there is room for it: whole databases are made for each of many tests."""
    in_memory = quick and os.access('/dev/shm', os.W_OK) and shutil.disk_usage('/dev/shm').free > MEMORY_BYTES
    folder = tempfile.mkdtemp(prefix='edl-pg.', dir='/dev/shm' if in_memory else '/tmp')
    os.chmod(folder, 0o755)  # servers have another account than root
    return folder


def run(command):
    """The command with a server of its own."""
    folder = new_folder(quick=True)
    servers = Servers(folder)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        servers['unit'].start()
        return subprocess.run(command, env={**os.environ, 'EDL_TEST_POSTGRESQL': servers['unit'].url('postgres')}, check=False).returncode
    finally:
        servers.end()


def pairs(words):
    return dict(word.split('=', 1) for word in words)


def main(words):
    if not words or (words[0] != 'run' and len(words) < 2):
        sys.exit(__doc__)
    if words[0] == 'run':
        return run(words[1:])
    servers, verb, rest = Servers(words[0]), words[1], words[2:]
    if verb == 'end':
        servers.end()
    elif verb == 'start':
        servers[rest[0]].start(pairs(rest[1:]))
    elif verb == 'standby':
        servers[rest[0]].standby(servers[rest[1]], pairs(rest[2:]))
    elif verb in ('promote', 'stop', 'kill', 'lose', 'freeze', 'thaw'):
        getattr(servers[rest[0]], verb)()
    elif verb == 'url':
        print(servers[rest[0]].url(rest[1]))
    elif verb == 'sql':
        rows = servers[rest[0]].sql(rest[1], *rest[2:])
        if rows:
            print(rows)
    else:
        sys.exit(f'no verb {verb}\n{__doc__}')
    return 0


if __name__ == '__main__':
    try:
        sys.exit(main(sys.argv[1:]))
    except Missing as missing:
        print(missing)
        sys.exit(MISSING)
