# SPDX-License-Identifier: Apache-2.0
"""Machines of one test as network namespaces around a hub, and cuts between them, of one direction or both.

The caller is root of a network namespace of its own (lib/namespace.sh). Each machine has one address and a cable to the hub, which passes
on what goes from one to another. A cut is a rule of the hub: packets from one to the other vanish there, as nobody is told of on a real
network. What runs in no machine runs in the hub, and reaches all of them."""
import ctypes
import os
import subprocess

CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)
HUB = '10.88.0.254'


def address_of(number):
    return f'10.88.0.{number}'


def cable_of(machine):
    return f'to-{machine}'


def check(result, what):
    if result != 0:
        raise OSError(ctypes.get_errno(), what)


def ip(*words):
    subprocess.run(['ip', *words], check=True)


class Networks:
    """machine -> its address, its namespace. To be made before the caller has threads: namespaces are those of a thread."""

    def __init__(self, machines):
        self.addresses, self.spaces, self.cuts = {}, {}, set()
        ip('link', 'set', 'lo', 'up')
        with open('/proc/sys/net/ipv4/ip_forward', 'w', encoding='ascii') as f:
            f.write('1')
        hub = os.open('/proc/self/ns/net', os.O_RDONLY)
        for number, machine in enumerate(machines, 1):
            check(LIBC.unshare(CLONE_NEWNET), 'unshare')
            self.spaces[machine] = os.open('/proc/self/ns/net', os.O_RDONLY)
            check(LIBC.setns(hub, CLONE_NEWNET), 'setns')
            self.addresses[machine] = address_of(number)
            self.lay_cable(machine)
        os.close(hub)

    def lay_cable(self, machine):
        address, space = self.addresses[machine], f'/proc/{os.getpid()}/fd/{self.spaces[machine]}'
        cable = cable_of(machine)
        ip('link', 'add', 'name', cable, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', space)
        ip('addr', 'add', f'{HUB}/32', 'dev', cable)
        ip('link', 'set', 'dev', cable, 'up')
        ip('route', 'add', address, 'dev', cable)
        for line in ('link set lo up', f'addr add {address}/32 dev eth0', 'link set eth0 up', f'route add {HUB} dev eth0', f'route add default via {HUB}'):
            subprocess.run([*self.within(machine), 'ip', *line.split()], check=True, pass_fds=[self.spaces[machine]])

    def within(self, machine):
        """What goes before a command that is to run there; the descriptor of spaces[machine] has to be passed to it."""
        return ['nsenter', f'--net=/proc/self/fd/{self.spaces[machine]}']

    def cut(self, one, other):
        """Nothing of what `one` sends reaches `other`; the hub's own packets do."""
        if (one, other) not in self.cuts:
            self.cuts.add((one, other))
            self.rule('add', one, other)

    def mend(self, one, other):
        if (one, other) in self.cuts:
            self.cuts.remove((one, other))
            self.rule('del', one, other)

    def end(self):
        self.mend_all()
        for machine, space in self.spaces.items():
            ip('link', 'del', 'dev', cable_of(machine))
            os.close(space)

    def mend_all(self):
        for one, other in list(self.cuts):
            self.mend(one, other)

    def rule(self, verb, one, other):
        ip('rule', verb, 'from', self.addresses[one], 'to', self.addresses[other], 'blackhole', 'pref', '100')
