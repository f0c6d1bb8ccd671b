# SPDX-License-Identifier: Apache-2.0
"""The JobClient: submits the job whose processes are the pods, tells of them, and ends with it."""
from __future__ import annotations

import argparse
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from typing import Any, Dict, List, Set

from . import _pods
from ._command import CommandError, command, hosts, told

LOOK_S = 3  # as upstream's

# A pod has these of the start: they are the ids of its process. A rank and a number of trainers stand only where both stay.
POD = """export PADDLE_POD_ID=pod_${EDL_INDEX}_${EDL_INCARNATION}
export PADDLE_TRAINER_PORTS=${EDL_PORTS#*,} PADDLE_CURRENT_ENDPOINT=$EDL_ADDRESS:${EDL_PORTS%%,*}
[ -z "${CUDA_VISIBLE_DEVICES-}" ] || export FLAGS_selected_gpus=$CUDA_VISIBLE_DEVICES
"""
FIXED = "export PADDLE_TRAINER_ID=$RANK PADDLE_TRAINERS_NUM=$WORLD_SIZE\n"
ELASTIC = "unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE NODE_RANK GROUP_RANK\n"


def text_of_command(given: argparse.Namespace, folder: str) -> str:
    """What each pod runs: package_sh where the client was started, then the program in the folder of the pod."""
    program = given.script
    if not given.package_sh and os.path.exists(os.path.join(folder, program)):
        program = os.path.join(folder, program)
    words = (["bash"] if program.endswith(".sh") else ["python3"]) + [program] + given.arguments
    pods = os.path.join(folder, given.pod_path)
    text = POD + (ELASTIC if given.low < given.high else FIXED)
    if given.package_sh:
        text += f"cd {shlex.quote(folder)} && {shlex.quote(given.package_sh)} -pod_id \"$PADDLE_POD_ID\" || exit\n"
    text += f"cd {shlex.quote(pods)} || exit\n"
    text += "[ ! -d \"$PADDLE_POD_ID\" ] || cd \"$PADDLE_POD_ID\" || exit\n"
    return text + "exec " + " ".join(shlex.quote(word) for word in words)


def environment(given: argparse.Namespace) -> "Dict[str, str]":
    """Upstream spells two of these so."""
    env = {name: value for name, value in os.environ.items() if name.startswith("PADDLE_EDL_")}
    env.update(PADDLE_RUNING_ENV="PADDLE_EDL", PADDLE_RUNNING_ENV="PADDLE_EDL", PADDLE_JOB_ID=given.job_id,
               PADDLE_JOBSERVER=given.job_server, PADDLE_EDLNODES_RANAGE=given.nodes_range,
               PADDLE_EDL_NPROC_PERNODE=str(given.nproc_per_node))
    if given.checkpoint:
        env["PADDLE_EDL_FLEET_CHECKPOINT_PATH"] = given.checkpoint
    return env


def document(given: argparse.Namespace, folder: str) -> "Dict[str, Any]":
    job: Dict[str, Any] = {
        "name": _pods.job_name(given.job_id),
        "mode": "collective",
        "fault_tolerant": True,
        "env": environment(given),
        "roles": [{
            "role": _pods.ROLE, "entrypoint": text_of_command(given, folder), "min": given.low, "max": given.high, "cpu": given.cpu,
            "memory": given.memory, "gpus": given.gpus, "ports": 1 + given.nproc_per_node,
        }],
    }
    if given.checkpoint:
        job["checkpoint"] = {"path": os.path.join(folder, given.checkpoint)}
    return job


def follow(name: str, job: str) -> int:
    """Tells of pods that come and go, until the job is over."""
    seen: Set[str] = set()
    with subprocess.Popen(["edl", "wait", job]) as wait:
        try:
            while True:
                seen = look(name, job, seen)
                try:
                    return wait.wait(timeout=LOOK_S)
                except subprocess.TimeoutExpired:
                    pass
        finally:
            wait.terminate()  # does nothing to one that has ended


def look(name: str, job: str, seen: "Set[str]") -> "Set[str]":
    """The pods that run now; tells which are others than those that were seen."""
    try:
        running = {_pods.pod_id(host): host for host in hosts(job, _pods.ROLE) if host["state"] == "running"}
    except CommandError:
        return seen  # the scheduler is away; edl wait says what comes of it
    for pod in sorted(running.keys() - seen):
        print(f"{time.strftime('%H:%M:%S')} {name}: {pod} runs on {running[pod].get('node', '')}", flush=True)
    for pod in sorted(seen - running.keys()):
        print(f"{time.strftime('%H:%M:%S')} {name}: {pod} has gone", flush=True)
    return set(running)


def parse(words: "List[str]") -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python3 -m edl.jobserver client", description="Submits a job whose processes are pods, and waits for its end; Ctrl-C kills it.")
    add = parser.add_argument
    add("--log_level", default="20", help="is taken")
    add("--job_id", default=os.environ.get("PADDLE_JOB_ID", "test_job_id_1234"), help="test_job_id_1234, which the scheduler knows as test-job-id-1234")
    add("--job_server", default=os.environ.get("PADDLE_JOBSERVER", "http://127.0.0.1:8180"), help="is told to the pods (PADDLE_JOBSERVER)")
    add("--package_sh", default="", help="prepares a pod: is called as PACKAGE_SH -pod_id POD in this folder")
    add("--pod_path", default=".", help="the program runs in POD_PATH/POD, or in POD_PATH where there is no such folder (.)")
    add("--nodes_range", default="1:1", help="MIN:MAX pods (1:1)")
    add("--nproc_per_node", type=int, default=1, help="ports for so many trainers of a pod (1)")
    add("--checkpoint", default=os.environ.get("PADDLE_EDL_FLEET_CHECKPOINT_PATH", ""), help="a folder that all nodes see (PADDLE_EDL_FLEET_CHECKPOINT_PATH)")
    add("--cpu", default="1", help="of a pod (1)")
    add("--memory", default="1Gi", help="of a pod (1Gi)")
    add("--gpus", type=int, default=0, help="of a pod (0)")
    add("script", help="the program: *.sh for bash, else for python3")
    add("arguments", nargs=argparse.REMAINDER)
    given = parser.parse_args(words)
    try:
        given.low, given.high = (int(number) for number in given.nodes_range.split(":"))
    except ValueError:
        parser.error(f"--nodes_range {given.nodes_range} is no MIN:MAX, as 1:3 is")
    return given


def main(words: "List[str]") -> int:
    given = parse(words)
    try:
        job = str(told("submit", "-", text=json.dumps(document(given, os.getcwd())))["id"])
    except CommandError as error:
        print(error, file=sys.stderr)
        return 1
    name = _pods.job_name(given.job_id)
    print(f"job {name} ({job}) is submitted; edl logs -f {name} shows its output", flush=True)

    def stop(number: int, frame: Any) -> None:
        raise SystemExit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    try:
        return follow(name, job)
    except SystemExit:
        try:
            command("kill", job, "--reason", "its JobClient was stopped")
        except CommandError as error:
            print(error, file=sys.stderr)
        raise
