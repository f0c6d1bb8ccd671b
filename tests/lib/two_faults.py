# SPDX-License-Identifier: Apache-2.0
"""What is done to a cluster with two schedulers: each fault breaks one thing, says when, and mends it. `proof` has the site, the luck of the
seed, and mark() for the moment at which something breaks."""
import dataclasses
import signal
import time
import typing

from cut_proxy import TO_CLIENT, TO_SERVER
from two_site import DATABASES, NODES, until

PROXIES, DISKS = 'proxies', 'disks'
PERMISSION_S = 8.0  # of a leader without a stored turn
LEASE_S = 5.0


@dataclasses.dataclass
class Fault:
    do: typing.Callable
    goal_s: float = 0.0  # within which somebody accepts again, on a quiet machine; 0: as long as it takes
    engines: tuple = ('postgresql',)
    long: bool = True  # nodes may hear nobody for most of their lease
    ends: bool = False  # processes may: their nodes are given up
    leases_go_on: bool = False  # nothing is stored between mark() and unmark(), and reports get a lease
    needs: str = ''  # of its site: PROXIES or DISKS


def kill_leader(proof):
    leader = proof.site.leader()
    proof.mark()
    proof.site.kill(leader)
    if len(proof.site.schedulers) > 1:
        proof.until_accepted()
    proof.site.start_scheduler(leader)


def stop(proof, name, seconds):
    proof.mark()
    proof.site.signal(name, signal.SIGSTOP)
    time.sleep(seconds)  # the fault itself lasts so long
    proof.site.signal(name, signal.SIGCONT)


def stop_leader(proof):
    stop(proof, proof.site.leader(), proof.luck.uniform(0.5, 4.0))


def stop_standby(proof):
    stop(proof, proof.site.other(proof.site.leader()), proof.luck.uniform(0.5, 4.0))


def kill_standby(proof):
    standby = proof.site.other(proof.site.leader())
    proof.mark()
    proof.site.kill(standby)
    proof.site.start_scheduler(standby)


def primary(proof):
    return proof.site.databases[proof.site.primary]


def copy(proof):
    return proof.site.databases[next(name for name in DATABASES if name != proof.site.primary)]


def crash_database(proof):
    proof.mark()
    primary(proof).kill()
    primary(proof).start()


def crash_database_and_leader(proof):
    leader = proof.site.leader()
    proof.mark()
    primary(proof).kill()
    proof.site.kill(leader)
    primary(proof).start()
    proof.site.start_scheduler(leader)


def freeze(proof, server, seconds):
    proof.mark()
    server.freeze()
    time.sleep(seconds)  # the fault itself lasts so long
    proof.until_leases()
    proof.unmark()
    server.thaw()


def freeze_database(proof):
    freeze(proof, primary(proof), 4.0)


def freeze_copy(proof):
    """No commit returns meanwhile."""
    freeze(proof, copy(proof), proof.luck.uniform(2.0, PERMISSION_S - 2.0))


def stop_copy(proof):
    """The same, by an end in good order."""
    proof.mark()
    copy(proof).stop()
    time.sleep(proof.luck.uniform(1.0, PERMISSION_S - 3.0))  # the fault itself lasts so long
    proof.until_leases()
    proof.unmark()
    copy(proof).start()


def promote_copy(proof):
    """The database's machine is lost, and its copy takes over; the former primary comes back as the copy of that one."""
    old, new = primary(proof), copy(proof)
    proof.mark()
    old.lose()
    new.promote()
    proof.site.primary = new.name
    old.rewind(new)
    new.wait_for(old.name)


def cut(proof, pairs, seconds):
    proof.mark()
    for one, other in pairs:
        proof.site.networks.cut(one, other)
    time.sleep(seconds)  # the fault itself lasts so long
    proof.unmark()
    proof.site.networks.mend_all()


def both(pairs):
    return [*pairs, *((other, one) for one, other in pairs)]


def leader_to(others, ways, most_s=4.0):
    """A fault: the leader does not reach these, or is not reached by them, or both."""
    def do(proof):
        leader = proof.site.leader()
        names = [name for name in others if name != leader]
        pairs = {'to': [(leader, name) for name in names], 'from': [(name, leader) for name in names], 'both': both([(leader, name) for name in names])}[ways]
        cut(proof, pairs, proof.luck.uniform(0.5, most_s))
    return do


def cut_standby(proof):
    standby = proof.site.other(proof.site.leader())
    cut(proof, both([(standby, name) for name in DATABASES]), proof.luck.uniform(1.0, 6.0))


def cut_databases(ways):
    """The primary and its copy do not hear each other, or one does not hear the other."""
    def do(proof):
        one, other = primary(proof).name, copy(proof).name
        cut(proof, {'to': [(one, other)], 'from': [(other, one)], 'both': both([(one, other)])}[ways], proof.luck.uniform(1.0, 5.0))
    return do


def cut_leader_for_long(proof):
    """It hears nodes and not the database, for longer than its permission: only the next one may grant what they hold."""
    leader = proof.site.leader()
    cut(proof, both([(leader, name) for name in DATABASES]), PERMISSION_S + 4.0)


def cut_turn(kills):
    """The leader's connection to the database ends somewhere within what goes one way, as when one of both dies."""
    def do(proof):
        leader = proof.site.leader()
        proxy = proof.site.proxies[proof.site.primary]
        proof.mark()
        proxy.cut_after(proof.site.networks.addresses[leader], proof.luck.choice((TO_SERVER, TO_CLIENT)), proof.luck.randrange(6000))
        until(proxy.was_cut.is_set, 'the connection was cut')
        if kills:
            proof.site.kill(leader)
            proof.until_accepted()
            proof.site.start_scheduler(leader)
    return do


def cut_power(databases, kills=False):
    """The machines of these databases lose what was not synced, at one moment; and with kills both schedulers are killed in it."""
    def do(proof):
        site, names = proof.site, databases(proof)
        killed = site.schedulers if kills else ()
        proof.mark()
        for name in names:
            site.databases[name].freeze()
        for name in killed:
            site.kill(name)
        for name in names:
            site.databases[name].lose(site.disks[name].cut)
        for name in names:
            site.disks[name].mend()
            site.databases[name].start()
        for name in killed:
            site.start_scheduler(name)
    return do


FAULTS = {
    'kill-leader': Fault(kill_leader, 1.0, ('postgresql', 'sqlite'), long=False),
    'stop-leader': Fault(stop_leader, 3.0, ('postgresql', 'sqlite')),
    'kill-standby': Fault(kill_standby, 0.5, long=False),
    'stop-standby': Fault(stop_standby, 0.5, long=False),
    'crash-database': Fault(crash_database, 5.0),
    'crash-both': Fault(crash_database_and_leader, 5.0),
    'freeze-database': Fault(freeze_database, 8.0, leases_go_on=True),
    'freeze-copy': Fault(freeze_copy, leases_go_on=True),
    'stop-copy': Fault(stop_copy, leases_go_on=True),
    'promote-copy': Fault(promote_copy),
    'cut-database-to': Fault(leader_to(DATABASES, 'to')),
    'cut-database-from': Fault(leader_to(DATABASES, 'from')),
    'cut-database': Fault(leader_to(DATABASES, 'both')),
    'cut-database-long': Fault(cut_leader_for_long),
    'cut-nodes-to': Fault(leader_to(NODES, 'to', LEASE_S / 3), engines=('postgresql', 'sqlite')),
    'cut-nodes-from': Fault(leader_to(NODES, 'from', LEASE_S / 3), engines=('postgresql', 'sqlite')),
    'cut-leader': Fault(leader_to(('a', 'b', *DATABASES, *NODES), 'both')),
    'cut-standby': Fault(cut_standby),
    'cut-copy-to': Fault(cut_databases('to')),
    'cut-copy-from': Fault(cut_databases('from')),
    'cut-copy': Fault(cut_databases('both')),
    'cut-turn': Fault(cut_turn(kills=False), needs=PROXIES),
    'cut-turn-kill': Fault(cut_turn(kills=True), needs=PROXIES),
    'power-database': Fault(cut_power(lambda proof: [proof.site.primary]), 5.0, needs=DISKS),
    'power-copy': Fault(cut_power(lambda proof: [copy(proof).name]), needs=DISKS),
    'power-all': Fault(cut_power(lambda proof: DATABASES, kills=True), needs=DISKS),
}
