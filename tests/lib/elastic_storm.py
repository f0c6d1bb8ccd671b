# SPDX-License-Identifier: Apache-2.0
"""elastic_storm.py FOLDER JOB WHAT...: takes processes of a job of elastic_train.py away and adds some, and judges what all have written.

WHAT, one after the other: world:N (waits for a world of N), kill:N (of a full world, each rank in its turn, N times), both:N (two of three, the second 0 to 120 ms
behind the first), stop:N (as kill, but by SIGSTOP), scale:N (to N processes, without an error of any of them), verify (all that was written)."""
import glob
import json
import os
import random
import signal
import subprocess
import sys
import time

import edl

FOLDER, JOB = sys.argv[1:3]
N, BATCH, SEED = 1000, 10, 7
HANG_S = float(os.environ.get("HANG_S", "300"))  # only what hangs takes so long
LOOK_EACH_S = 0.02
JOB_EACH_S = 3.0
size = 0
chance = random.Random(int(os.environ.get("EDL_SEED", "5")))


written = {}  # by path: how far it was read, and its events


def read():
    """The events of each process that has written one."""
    for path in glob.glob(f"{FOLDER}/*.log"):
        at, events = written.get(path, (0, []))
        with open(path, "rb") as log:
            log.seek(at)
            lines = log.read().rpartition(b"\n")[0]
        events += [json.loads(line) for line in lines.splitlines()]
        written[path] = (at + len(lines) + 1 if lines else at, events)
    return {events[0]["pid"]: events for _, events in written.values() if events}


def lives(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def wait_for(what, condition):
    end, look_at_job = time.monotonic() + HANG_S, time.monotonic() + JOB_EACH_S
    while time.monotonic() < end:
        found = condition(read())
        if found:
            return found
        if time.monotonic() > look_at_job:
            look_at_job = time.monotonic() + JOB_EACH_S
            state = json.loads(subprocess.run(["edl", "show", JOB, "--json"], check=True, capture_output=True).stdout)["job"]["state"]
            if state in ("succeeded", "failed", "killed"):
                sys.exit(f"the job is {state}, and was to be: {what}")
        time.sleep(LOOK_EACH_S)
    for pid in filter(lives, read()):
        os.kill(pid, signal.SIGUSR1)
    time.sleep(1)
    sys.exit(f"it hangs: {what}; the last of each: {[events[-1] for pid, events in read().items() if lives(pid)]}")


def full(n):
    """The processes of a world of n that all of them step in."""

    def condition(found):
        live = {pid: events for pid, events in found.items() if lives(pid) and events[-1]["event"] == "step"}
        last = [events[-1] for events in live.values()]
        return live if len(live) == n and len({one["generation"] for one in last}) == 1 and all(one["size"] == n for one in last) else None

    return condition


def goes_on(pids, generation):
    """When the last of these processes has made a step behind this generation."""

    def condition(found):
        firsts = [[one for one in found[pid] if one["event"] == "step" and one["generation"] > generation][:1] for pid in pids]
        return max(first[0]["t"] for first in firsts) if all(firsts) else None

    return condition


def told(what, seconds):
    if seconds:
        ms = sorted(1000 * one for one in seconds)
        print(f"{what}: {len(ms)} times, to the next step of all: median {ms[len(ms) // 2]:.0f}, worst {ms[-1]:.0f} ms", flush=True)


def kill(times, by=signal.SIGKILL):
    took = []
    for turn in range(times):
        live = wait_for(f"a world of {size}", full(size))
        by_rank = sorted(live, key=lambda pid: live[pid][-1]["rank"])
        victim = by_rank[turn % size]
        generation = live[victim][-1]["generation"]
        since = time.monotonic()
        os.kill(victim, by)
        others = [pid for pid in by_rank if pid != victim]
        took.append(wait_for(f"rank {turn % size} is killed, others go on", goes_on(others, generation)) - since)
        assert all(lives(pid) for pid in others), "a process that was left has ended"
    wait_for(f"a world of {size}", full(size))
    told("one is killed" if by == signal.SIGKILL else "one stands still", took)
    return took


def stop(times):
    took = kill(times, signal.SIGSTOP)
    assert min(took) < 5, "a process that stands still costs the others 5 s or more"


def both(times):
    took = []
    for _ in range(times):
        live = wait_for(f"a world of {size}", full(size))
        pids = list(live)
        chance.shuffle(pids)
        generation, gap = live[pids[0]][-1]["generation"], chance.uniform(0, 0.12)
        os.kill(pids[0], signal.SIGKILL)
        time.sleep(gap)
        since = time.monotonic()
        os.kill(pids[1], signal.SIGKILL)
        took.append(wait_for(f"two are killed, {gap * 1000:.0f} ms apart, the third goes on", goes_on(pids[2:], generation)) - since)
    wait_for(f"a world of {size}", full(size))
    told("two are killed", took)


def world(n):
    global size
    size = n
    wait_for(f"a world of {size}", full(size))


def scale(n):
    global size
    before = wait_for(f"a world of {size}", full(size))
    generation = max(events[-1]["generation"] for events in before.values())
    subprocess.run(["edl", "scale", JOB, f"1:{n}"], check=True, stdout=subprocess.DEVNULL)
    after = wait_for(f"a world of {n}", full(n))
    size = n
    stay = [pid for pid in before if pid in after]
    assert len(stay) == min(len(before), n), "a process that was to stay was started again"
    for pid in stay:
        times = [one["t"] for one in after[pid] if one["event"] == "step"]
        steps = [one for one in after[pid] if one["event"] == "step" and one["generation"] in (generation, after[pid][-1]["generation"])]
        numbers = [one["step"] for one in steps]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers))), f"a step was lost or done again: {numbers}"
        pause = max(later - earlier for earlier, later in zip(times[-len(steps):], times[-len(steps) + 1:]))
        print(f"to {n}: no step for {pause * 1000:.0f} ms", flush=True)


def verify():
    sampler, found = edl.sampler(N, SEED), read()
    by_step, members, n_steps = {}, {}, 0
    for pid, events in found.items():
        last = -1
        for one in events:
            if one["event"] == "world":
                members.setdefault(one["generation"], set()).add(pid)
            if one["event"] == "step":
                assert one["step"] > last, f"process {pid} did step {one['step']} behind {last}"
                last = one["step"]
                epoch, place = divmod(last, sampler.steps(BATCH))
                right = sampler.indices(epoch, place, BATCH, one["rank"], one["size"])
                assert one["records"] == right, f"records {one['records']} in step {last}, not {right}"
                by_step.setdefault(last, []).append({**one, "pid": pid})
                n_steps += 1
    again = 0
    for step in range(max(by_step) + 1):
        assert step in by_step, f"nobody did step {step}"
        generations = sorted({one["generation"] for one in by_step[step]})
        for earlier, later in zip(generations, generations[1:]):
            had_it = {one["pid"] for one in by_step[step] if one["generation"] == earlier}
            alive = had_it & set().union(*(members[g] for g in members if g >= later))
            assert not alive, f"step {step} was done in the generations {generations}, and {alive} had it"
            again += 1
        for g in generations:
            sums = {one["sum"] for one in by_step[step] if one["generation"] == g}
            assert len(sums) == 1, f"the parameters differ behind step {step} of generation {g}"
    print(f"{max(by_step) + 1} steps of {len(found)} processes in {len(members)} generations, {n_steps} parts: each once, with its records; "
          f"{again} were done again as none that had them lived")


for word in sys.argv[3:]:
    name, _, number = word.partition(":")
    {"world": world, "kill": kill, "stop": stop, "both": both, "scale": scale, "verify": verify}[name](*([int(number)] if number else []))
