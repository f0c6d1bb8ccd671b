# SPDX-License-Identifier: Apache-2.0
"""costs.py - what each step of a check took, as tests/costs keeps it, and what that says of the next one

A table of wall seconds, CPU seconds, MiB of memory and name. ./check writes one of the run into its log folder; whoever has run it on a quiet
machine copies it to tests/costs. A step that is not there is new: it counts as one that uses a quarter of a core and takes half a minute.
"""
import dataclasses
import os
import subprocess

HEAD = '''# What each step took when ./check last ran on a quiet machine of two cores: it decides what begins when, and how many run side by side.
# To renew it: ./check, nothing beside it, then cp build-check/log/costs tests/costs
#
# wall s | CPU s | MiB | step
'''
CALIBRATION_ROUNDS, CALIBRATION_FILES = 2, 5


@dataclasses.dataclass
class Cost:
    """Of one step: wall and CPU seconds, and the most memory that all its processes had at one time."""
    wall_s: float = 30.0
    cpu_s: float = 7.5
    memory_mib: float = 512.0

    def cores(self, slowness=1.0):
        """Cores that it keeps busy in the mean, on a machine whose cores take slowness times as long for the same; what it waits for
        takes as long as ever."""
        cpu_s = self.cpu_s * slowness
        return cpu_s / max(self.wall_s - self.cpu_s + cpu_s, 0.1)


def read(path):
    """Step -> Cost; empty where there is no such file."""
    found = {}
    if not os.path.exists(path):
        return found
    with open(path, encoding='utf-8') as f:
        for line in f:
            if line.strip() and not line.startswith('#'):
                wall_s, cpu_s, memory_mib, name = (cell.strip() for cell in line.split('|'))
                found[name] = Cost(float(wall_s), float(cpu_s), float(memory_mib))
    return found


def write(path, costs):
    with open(path, 'w', encoding='utf-8') as f:
        f.write(HEAD)
        for name, cost in sorted(costs.items()):
            f.write(f'{cost.wall_s:.1f} | {cost.cpu_s:.1f} | {cost.memory_mib:.0f} | {name}\n')


def ranks(steps, costs):
    """Step -> seconds from its beginning to the end of the longest chain of steps that wait for each other and for it."""
    waiting = {}  # step -> those that wait for it
    for step in steps:
        for name in step.needs + step.after:
            waiting.setdefault(name, []).append(step.name)
    found = {}

    def rank(name):
        if name not in found:
            found[name] = costs.get(name, Cost()).wall_s + max((rank(other) for other in waiting.get(name, ())), default=0.0)
        return found[name]

    return {step.name: rank(step.name) for step in steps}


class Memory:
    """The most memory that the processes below some others had at one time, seen by looks at /proc (proc(5), stat)."""
    PAGE_MIB = os.sysconf('SC_PAGE_SIZE') / (1 << 20)

    def __init__(self):
        self.most_mib = {}  # process id of a keeper -> MiB

    def look(self, keepers):
        parents, resident = {}, {}
        for name in os.listdir('/proc'):
            if not name.isdigit():
                continue
            try:
                with open(f'/proc/{name}/stat', encoding='utf-8', errors='replace') as f:
                    fields = f.read().rpartition(')')[2].split()
                parents[int(name)], resident[int(name)] = int(fields[1]), int(fields[21])
            except (OSError, IndexError):
                continue  # it has ended
        sums = dict.fromkeys(keepers, 0)
        for pid, pages in resident.items():
            above = pid
            while above in parents and above not in sums:
                above = parents[above]
            if above in sums and above != pid:
                sums[above] += pages
        for keeper, pages in sums.items():
            self.most_mib[keeper] = max(self.most_mib.get(keeper, 0.0), pages * self.PAGE_MIB)


def memory_mib():
    """What this machine has to give now."""
    with open('/proc/meminfo', encoding='utf-8') as f:
        fields = dict(line.split(':', 1) for line in f)
    return int(fields['MemAvailable'].split()[0]) / 1024


def calibrate(source):
    """CPU seconds that the compiler takes here for some times one file, the least of some rounds; None where there is no compiler."""
    least = None
    for _ in range(CALIBRATION_ROUNDS):
        before = os.times()
        for _ in range(CALIBRATION_FILES):
            done = subprocess.run(['gcc', '-O2', '-c', '-o', os.devnull, source], env={**os.environ, 'CCACHE_DISABLE': '1'}, check=False,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if done.returncode != 0:
                return None
        after = os.times()
        took = after.children_user + after.children_system - before.children_user - before.children_system
        least = took if least is None else min(least, took)
    return least


def busy_s():
    """Core seconds since the machine began that were not idle (proc(5), stat)."""
    with open('/proc/stat', encoding='utf-8') as f:
        ticks = [int(word) for word in f.readline().split()[1:9]]
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf('SC_CLK_TCK')
