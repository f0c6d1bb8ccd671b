# SPDX-License-Identifier: Apache-2.0
"""The programs of bench/distill: teachers whose computation is a wait of known length, as of a device, and students.

    python3 bench/distill_load.py speed --rounds N --steps N
    python3 bench/distill_load.py busy --seconds N
"""
import argparse
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
import numpy as np

PIXELS, CLASSES, HIDDEN, BATCH, TASK = 3072, 10, 512, 64, 32
# ResNeXt101_32x16d_wsl beside ResNet50_vd on the same GPUs: 656 images a second, and 1,828 without the teacher
TEACHER_STEPS = 1828 / 656 - 1
TEACHERS = 4
BUSY_MS = (40, 60, 100, 200)  # of one task


# ---- a teacher ----

_WAIT_S = float(os.environ.get("DISTILL_WAIT_MS", "0")) / 1000  # of BATCH samples
_LOG = open(os.environ["DISTILL_LOG"], "a", buffering=1) if "DISTILL_LOG" in os.environ else None


def wait_s(fields):
    """How long the device computes; speed asks for another time in each round, in the first pixel."""
    told = float(fields["wait"][0]) if "wait" in fields else 0.0
    return (told or _WAIT_S) * len(fields["image"]) / BATCH


def device(fields):
    """What edl.teach serves."""
    began = time.monotonic()
    time.sleep(wait_s(fields))
    answer = {"soft": np.full((len(fields["image"]), CLASSES), 1 / CLASSES, np.float32)}
    if _LOG is not None:
        print(f"{began:.6f} {time.monotonic():.6f}", file=_LOG)
    return answer


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


class Teachers:
    def __init__(self, folder, waits_ms):
        self.ports = [free_port() for _ in waits_ms]
        here = os.path.dirname(os.path.abspath(__file__))
        self.logs = [os.path.join(folder, f"teacher-{i}") for i in range(len(waits_ms))]
        self.processes = [subprocess.Popen(
            [sys.executable, "-m", "edl.teach", "distill_load:device", "--port", str(port), "--max-batch", str(BATCH)], cwd=here,
            env={**os.environ, "DISTILL_WAIT_MS": str(wait), "DISTILL_LOG": log}, stderr=subprocess.PIPE, text=True)
            for port, wait, log in zip(self.ports, waits_ms, self.logs)]
        for process in self.processes:
            if "listening" not in process.stderr.readline():
                raise SystemExit("bench/distill: a teacher does not start")

    def end(self):
        """What each tells of itself."""
        for process in self.processes:
            process.send_signal(signal.SIGTERM)
        told = []
        for process in self.processes:
            out = process.communicate(timeout=60)[1]
            told.append(json.loads(out[out.index("left: ") + 6:].splitlines()[0]))
        return told


def reader_of(ports, task, fields):
    from edl.distill import DistillReader

    reader = DistillReader(ins=fields, predicts=["soft"])
    reader.set_teacher_batch_size(task)
    reader.set_fixed_teacher([f"127.0.0.1:{port}" for port in ports])
    return reader


# ---- speed: one student, its three ways in turn ----


class Student:
    """Two layers by plain gradient descent. The images are drawn once: to read them is no part of the figure."""

    def __init__(self):
        source = np.random.default_rng(1)
        self.images = source.random((16, BATCH, PIXELS), np.float32)
        self.hard = np.eye(CLASSES, dtype=np.float32)[source.integers(CLASSES, size=(16, BATCH))]
        self.w1 = source.normal(0, 0.02, (PIXELS, HIDDEN)).astype(np.float32)
        self.w2 = source.normal(0, 0.05, (HIDDEN, CLASSES)).astype(np.float32)

    def step(self, images, target):
        h = np.maximum(images @ self.w1, 0)
        z = h @ self.w2
        e = np.exp(z - z.max(axis=1, keepdims=True))
        d = (e / e.sum(axis=1, keepdims=True) - target) / len(images)
        dh = (d @ self.w2.T) * (h > 0)
        self.w2 -= 0.1 * (h.T @ d)
        self.w1 -= 0.1 * (images.T @ dh)

    def batches(self, steps, wait_s):
        for i in range(steps):
            yield self.images[i % 16], np.full(BATCH, wait_s, np.float32), self.hard[i % 16]


def speed(rounds, steps):
    student = Student()
    with tempfile.TemporaryDirectory() as folder:
        teachers = Teachers(folder, [0] * TEACHERS)
        teacher_s, figures = [0.0], []
        reader = reader_of(teachers.ports, TASK, ["image", "wait", "hard"])
        reader.set_batch_generator(lambda: student.batches(steps, teacher_s[0]))

        def pure():
            for images, _wait, hard in student.batches(steps, 0.0):
                student.step(images, hard)

        def with_teachers():
            for images, _wait, hard, soft in reader():
                student.step(images, 0.5 * hard + 0.5 * soft)

        def colocated():
            for images, wait, hard in student.batches(steps, teacher_s[0]):
                soft = device({"image": images, "wait": wait})["soft"]
                student.step(images, 0.5 * hard + 0.5 * soft)

        def seconds(way):
            began = time.monotonic()
            way()
            return time.monotonic() - began

        teacher_s[0] = TEACHER_STEPS * seconds(pure) / steps
        with_teachers()  # connected
        for _ in range(rounds):
            before = seconds(pure)
            teacher_s[0] = TEACHER_STEPS * before / steps
            took = {"with": seconds(with_teachers), "colocated": seconds(colocated), "pure": (before + seconds(pure)) / 2}
            figures.append({name: steps * BATCH / value for name, value in took.items()})
        reader.close()
        teachers.end()
    middle = {name: statistics.median(f[name] for f in figures) for name in ("with", "pure", "colocated")}
    return {
        "student_over_pure": middle["with"] / middle["pure"], "over_colocated": middle["with"] / middle["colocated"],
        "pure_samples_per_s": middle["pure"], "student_samples_per_s": middle["with"], "colocated_samples_per_s": middle["colocated"],
        "teachers": TEACHERS, "teacher_steps": TEACHER_STEPS, "rounds": rounds,
        "ratios": [[round(f["with"] / f["pure"], 3), round(f["with"] / f["colocated"], 3)] for f in figures],
    }


# ---- busy: teachers of different speed, students that come and go ----


def student_main(ports, log):
    """Waits for answers all the time: its training takes a millisecond."""
    image = np.zeros((TASK, PIXELS), np.float32)

    def batches():
        while True:
            yield image, np.zeros(TASK, np.float32)

    reader = reader_of(ports, TASK, ["image", "wait"])
    reader.set_batch_generator(batches)
    with open(log, "a", buffering=1) as file:
        began = time.monotonic()
        for _batch in reader():
            print(f"{began:.6f} {time.monotonic():.6f}", file=file)
            time.sleep(0.001)
            began = time.monotonic()


def spans(path):
    with open(path) as file:
        return [tuple(map(float, line.split())) for line in file if line.endswith("\n") and len(line.split()) == 2]


def union(parts):
    whole = []
    for began, ended in sorted(parts):
        if whole and began <= whole[-1][1]:
            whole[-1][1] = max(whole[-1][1], ended)
        else:
            whole.append([began, ended])
    return whole


def common(a, b, first, last):
    """Seconds that are in both, between two moments."""
    i = j = 0
    total = 0.0
    while i < len(a) and j < len(b):
        total += max(0.0, min(a[i][1], b[j][1], last) - max(a[i][0], b[j][0], first))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return total


def busy(seconds, students):
    draw = random.Random(5)
    with tempfile.TemporaryDirectory() as folder:
        teachers = Teachers(folder, [ms * BATCH / TASK for ms in BUSY_MS])
        running, logs = [], []

        def begin():
            log = os.path.join(folder, f"student-{len(logs)}")
            logs.append(log)
            open(log, "w").close()
            running.append(subprocess.Popen([sys.executable, os.path.abspath(__file__), "student", "--log", log,
                                             "--teachers", ",".join(map(str, teachers.ports))], stderr=subprocess.DEVNULL))

        def settled():
            return all(len(spans(log)) > 3 for log in logs[-students:])

        for _ in range(students):
            begin()
        deadline = time.monotonic() + 60
        while not settled() and time.monotonic() < deadline:
            time.sleep(0.1)
        first = time.monotonic()
        changes = 0
        while time.monotonic() < first + seconds:
            time.sleep(min(2.5, seconds / 4))
            gone = running.pop(draw.randrange(len(running)))
            gone.send_signal(draw.choice((signal.SIGKILL, signal.SIGTERM)))
            gone.wait()
            begin()
            changes += 1
        last = time.monotonic()
        told = teachers.end()
        for one in running:
            one.kill()
            one.wait()
        waits = union(span for log in logs for span in spans(log))
        waiting_s = common(waits, [[first, last]], first, last)
        idle = [1 - common(waits, union(spans(log)), first, last) / waiting_s for log in teachers.logs]
    own = [one["idle_s"] / (one["idle_s"] + one["busy_s"]) for one in told]
    return {
        "teacher_idle": sum(idle) / len(idle), "teacher_idle_most": max(idle),
        "teacher_idle_told": sum(own) / len(own), "teacher_idle_told_most": max(own),
        "students_wait": waiting_s / (last - first), "students": students, "students_replaced": changes, "seconds": last - first,
        "teachers_ms_per_task": list(BUSY_MS), "tasks": [one["tasks"] for one in told],
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("speed", "busy", "student"))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--students", type=int, default=3)
    parser.add_argument("--teachers", default="")
    parser.add_argument("--log")
    given = parser.parse_args()
    if given.what == "student":
        student_main([int(port) for port in given.teachers.split(",")], given.log)
        return 0
    print(json.dumps(speed(given.rounds, given.steps) if given.what == "speed" else busy(given.seconds, given.students)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
