# SPDX-License-Identifier: Apache-2.0
"""The programs at work with files, and what has to be there whenever the power went (power.py). Used by 271-power.sh."""
import atexit
import glob
import hashlib
import http.client
import json
import os
import select
import signal
import socket
import sqlite3
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(__file__))
import power  # noqa: E402

BUILD = os.environ["EDL_BUILD_DIR"]
SOURCE = os.environ["EDL_SOURCE_DIR"]
READY_S = 120
OFFER = {"address": "10.0.0.7", "cpu_millicores": 64000, "memory_bytes": 1 << 36, "gpus": 0, "port_first": 20000,
         "port_last": 29999}


def environment(root=None, log=None, **more):
    env = dict(os.environ, **more)
    if log:
        env.update(LD_PRELOAD=f"{BUILD}/tests/lib/file_log.so", EDL_TEST_FILE_ROOT=root, EDL_TEST_FILE_LOG=log,
                   ASAN_OPTIONS="verify_asan_link_order=0")
    return env


class Scheduler:
    """One that is ready, on a port of its own. log: of what it does to the files below root"""

    def __init__(self, state, work, root=None, log=None):
        self.state = state
        path = f"{work}/notify"
        if os.path.exists(path):
            os.unlink(path)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            notify.bind(path)
            with open(f"{work}/scheduler.log", "ab") as out:
                self.process = subprocess.Popen(
                    [f"{BUILD}/edl-scheduler", "--conf", "", "--state-dir", state, "--listen", "127.0.0.1:0"],
                    env=environment(root, log, NOTIFY_SOCKET=path), stderr=out)
            atexit.register(self.process.kill)  # does nothing when it was waited for
            pid_fd = os.pidfd_open(self.process.pid)
            text = b""
            while b"READY=1" not in text:
                ready = select.select([notify, pid_fd], [], [], READY_S)[0]
                if notify not in ready:
                    self.kill()
                    with open(f"{work}/scheduler.log") as out:
                        raise AssertionError("the scheduler does not start: " + out.read()[-1000:])
                text = notify.recv(4096)
            os.close(pid_fd)
        self.address = self.file("address")
        self.token = self.file("admin-token")

    def file(self, name):
        with open(f"{self.state}/{name}") as file:
            return file.read().strip()

    def call(self, method, path, body=None, token=None, status=(200, 201)):
        """The answer's JSON, or its bytes."""
        connection = http.client.HTTPConnection(self.address, timeout=READY_S)
        data = body if isinstance(body, bytes) or body is None else json.dumps(body)
        connection.request(method, path, data, {"Authorization": "Bearer " + (token or self.token)})
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        if answer.status not in status:
            raise AssertionError(f"{method} {path}: {answer.status} {content[:300]!r}")
        return json.loads(content) if "json" in answer.headers.get("Content-Type", "") else content

    def submit(self, name, workspace=None):
        trainer = {"entrypoint": "true", "min-instance": 1, "max-instance": 1}
        if workspace:
            trainer["workspace"] = "sha256:" + workspace
        job = self.call("POST", "/jobs", {"metadata": {"name": name}, "spec": {"trainer": trainer}})
        return job["id"]

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        return self.process.wait(READY_S)

    def kill(self):
        self.end(signal.SIGKILL)


class Run:
    """A folder as a disk, the log of what is done on it, and what was promised when."""

    def __init__(self, work, name):
        self.work = f"{work}/{name}"
        self.root = f"{self.work}/disk"
        self.log = f"{self.work}/log"
        self.promises = []
        os.makedirs(self.root)
        self.keep()

    def keep(self):
        """What is on the disk is safe, and the log begins."""
        open(self.log, "w").close()
        self.disk = power.Disk(self.root)

    def promise(self, what):
        self.promises.append((os.path.getsize(self.log), what))

    def check(self, what, check, at_once=2):
        began = time.monotonic()
        n, kept = power.check_all(self.disk, self.log, self.promises, check, self.work,
                                  int(os.environ.get("EDL_SEED", "1")), at_once, int(os.environ.get("EDL_POWER_STRIDE", "4")))
        calls = sum(1 for _ in power.records(self.log))
        print(f"{what}: {calls} calls, {n} states, {kept} of them after a promise, {time.monotonic() - began:.1f} s",
              flush=True)
        assert kept > 0 and n > kept


# --- a first start, in a folder that is not there yet ---

def first_start(work):
    run = Run(work, "first")
    archive = os.urandom(3000)
    sha256 = hashlib.sha256(archive).hexdigest()
    s = Scheduler(f"{run.root}/state", run.work, run.root, run.log)
    run.promise(("tokens", s.token, s.file("join-token")))
    s.call("POST", "/nodes/join", {"node": "n1", **OFFER})
    run.promise(("node",))
    s.call("PUT", "/workspaces/" + sha256, archive)
    run.promise(("workspace", sha256, archive))
    run.promise(("job", s.submit("one", sha256)))
    s.call("POST", "/users", {"name": "ann", "role": "user"})
    run.promise(("user", s.call("POST", "/tokens", {"user": "ann"})["token"]))
    assert s.end() == 0

    def check(folder, given):
        s = Scheduler(f"{folder}/disk/state", folder)
        try:
            for kind, *what in given:
                if kind == "tokens":
                    assert [s.token, s.file("join-token")] == what, "another token"
                elif kind == "node":
                    s.call("GET", "/nodes/n1")
                elif kind == "workspace":
                    assert s.call("GET", "/workspaces/" + what[0]) == what[1], "another archive"
                elif kind == "job":
                    assert s.call("GET", f"/jobs/{what[0]}")["name"] == "one"
                else:
                    s.call("GET", "/jobs", token=what[0])
        finally:
            s.kill()

    run.check("a first start", check)


# --- a restore, after a scheduler that was killed: its log has what was revoked since the backup ---

def restore(state, backup, root=None, log=None):
    return subprocess.run([f"{BUILD}/edl-scheduler", "--conf", "", "--state-dir", state, "--restore", backup],
                          env=environment(root, log), capture_output=True, text=True, timeout=READY_S).returncode


def jobs_aside(state):
    """The names of the jobs in each database that was set aside, with its log."""
    found = []
    for path in glob.glob(f"{state}/edl.db.before-*"):
        if not path.endswith(("-wal", "-shm")):
            db = sqlite3.connect(path)
            found.append([name for (name,) in db.execute("SELECT name FROM job ORDER BY id")])
            db.close()
    return found


def restored(work):
    run = Run(work, "restore")
    state, backup = f"{run.root}/state", f"{run.root}/backup"
    s = Scheduler(state, run.work)
    s.call("POST", "/nodes/join", {"node": "n1", **OFFER})
    s.submit("before")
    s.call("POST", "/users", {"name": "ann", "role": "user"})
    revoked, good = [s.call("POST", "/tokens", {"user": "ann"}) for _ in range(2)]
    with open(backup, "wb") as file:
        file.write(s.call("GET", "/backup"))
    s.call("DELETE", f"/tokens/{revoked['id']}")
    s.submit("since")
    s.kill()
    run.keep()
    assert restore(state, backup, run.root, run.log) == 0
    run.promise("restored")

    def names(s):
        return sorted(job["name"] for job in s.call("GET", "/jobs")["jobs"])

    def check(folder, given):
        state, backup = f"{folder}/disk/state", f"{folder}/disk/backup"
        again = os.path.exists(f"{state}/restoring")
        if again:
            try:
                Scheduler(state, folder).kill()
            except AssertionError:
                pass
            else:
                raise AssertionError("it starts in the middle of a restore")
            assert restore(state, backup) == 0, "it cannot be restored again"
        s = Scheduler(state, folder)
        try:
            s.call("GET", "/jobs", token=good["token"])
            s.call("GET", "/jobs", token=revoked["token"], status=(401,))
            new = names(s) == ["before"]
            assert new or names(s) == ["before", "since"], f"jobs {names(s)}"
        finally:
            s.kill()
        assert new or not (given or again), "it was restored, and is not"
        assert not new or ["before", "since"] in jobs_aside(state), "the former database is not whole"

    run.check("a restore", check)


# --- a node joins: its one-time token is spent with that ---

def joined(work):
    run = Run(work, "agent")
    s = Scheduler(f"{run.work}/state", run.work)

    def reports():
        try:
            return s.call("GET", "/nodes/n1").get("last_report_us") or 0
        except AssertionError:
            return 0

    def agent(folder, *arguments, seen_us=0, log=None):
        """Runs one until a report of it comes."""
        root = ["--allow-root"] if os.geteuid() == 0 else []
        command = [f"{BUILD}/edl-agent", "--conf", "", "--state-dir", f"{folder}/edl/agent", "--runtime", "direct",
                   "--no-foreign", "--heartbeat", "300ms", *root, *arguments]
        process = subprocess.Popen(command, env=environment(run.root, log), stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + READY_S
        pid_fd = os.pidfd_open(process.pid)
        while reports() <= seen_us and time.monotonic() < deadline and not select.select([pid_fd], [], [], 0.02)[0]:
            pass
        os.close(pid_fd)
        if reports() > seen_us and log:
            run.promise("joined")
        process.terminate()
        _, text = process.communicate(timeout=READY_S)
        assert reports() > seen_us, "the node does not come: " + text[-1000:]

    line = s.call("POST", "/tokens/join", {"node": "n1"})
    agent(run.root, "--node", "n1", "--join", "http://" + s.address, "--token", line["token"], log=run.log)

    def check(folder, given):
        if given:  # else the line is typed again
            agent(f"{folder}/disk", seen_us=reports())

    run.check("a node joins", check, at_once=1)
    s.kill()


# --- what is finished with a command's exit status is there as it was ---

def finished(work, name, *command, setup=lambda: {}):
    run = Run(work, name)
    outcome = subprocess.run([part.replace("@", run.root) for part in command],
                             env=environment(run.root, run.log, **setup()), capture_output=True, text=True,
                             timeout=READY_S)
    assert outcome.returncode == 0, outcome.stderr
    run.promise("finished")

    def files(root):
        return {path: data for path, (_, data) in power.Disk(root).after("all", None).items()}

    def check(folder, given):
        assert not given or files(f"{folder}/disk") == files(run.root), "it is not as it was finished"

    run.check(" ".join(command[1:3]), check)


def backed_up(work):
    os.mkdir(f"{work}/backed-up")
    s = Scheduler(f"{work}/backed-up/state", f"{work}/backed-up")
    finished(work, "backup", f"{BUILD}/edl", "admin", "backup", "@/file",
             setup=lambda: {"EDL_SERVER": "http://" + s.address, "EDL_TOKEN_FILE": s.state + "/admin-token"})
    s.kill()


def corpus(work):
    finished(work, "corpus", f"{BUILD}/edl", "corpus", "build", "--out", "@/corpus", f"{SOURCE}/docs")


if __name__ == "__main__":
    for part in (first_start, restored, joined, backed_up, corpus):
        if len(sys.argv) == 2 or part.__name__ in sys.argv[2:]:
            part(os.path.realpath(sys.argv[1]))
