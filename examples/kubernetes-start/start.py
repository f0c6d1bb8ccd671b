#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One node of a training as Kubernetes start scripts ran it: a parameter server and a trainer beside it.

    python3 start.py [--server=PROGRAM] [--trainer=PROGRAM] [--NAME=VALUE]...

The nodes of the job agree on an order, that of their addresses; the place in it is the trainer's id. Every --NAME=VALUE
goes to the trainer. README.md tells what is where.
"""
import os
import shlex
import shutil
import socket
import subprocess
import sys
from typing import Dict, List, Tuple

import edl

LOOK_S = 0.1  # how often a server that was started is asked whether it listens
MARK = "--comment=paddle_process_by_paddle"  # as upstream's processes have it


class Wrong(Exception):
    """What is wrong, and what to do about it."""


def number(name: str, default: int) -> int:
    value = os.environ.get(name) or str(default)
    if not value.isdigit():
        raise Wrong(f"{name} is {value!r}, which is no number: set it in the job's env")
    return int(value)


def read_command(arguments: List[str]) -> Tuple[List[str], List[str], List[str]]:
    """The server, the trainer, and what is for the trainer alone."""
    programs = {"server": "edl-paddle pserver", "trainer": "edl-paddle train"}
    flags = []
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if not (name.startswith("--") and equals):
            raise Wrong(f"{argument!r} is not --NAME=VALUE, as the trainer's flags are")
        if name[2:] in programs:
            programs[name[2:]] = value
        else:
            flags.append(argument)
    return shlex.split(programs["server"]), shlex.split(programs["trainer"]), flags


class Nodes:
    """All nodes of the job in the order of their addresses, compared as text, as upstream did."""

    def __init__(self, world: edl.World) -> None:
        if len(world.members) != world.size:
            raise Wrong(f"{world.size} nodes are more than are listed in one answer")
        peers = sorted(world.members, key=lambda peer: (peer.address, peer.ports))
        self.id = [peer.rank for peer in peers].index(world.rank)
        self.size = len(peers)
        self.ports_num = number("CONF_PADDLE_PORTS_NUM", 1)
        self.sparse_num = number("CONF_PADDLE_PORTS_NUM_SPARSE", 0)
        fixed = number("CONF_PADDLE_PORT", 0)
        if fixed:  # every node has it free, says its owner
            self.port = fixed
            self.servers = [(peer.address, fixed) for peer in peers]
            self.listed = ",".join(peer.address for peer in peers)
        else:
            self.check_ports(peers[self.id].ports)
            self.port = peers[self.id].ports[0]
            self.servers = [(peer.address, peer.ports[0]) for peer in peers]
            self.listed = ",".join(f"{address}:{port}" for address, port in self.servers)

    def check_ports(self, ports: Tuple[int, ...]) -> None:
        needed = self.ports_num + self.sparse_num
        if ports[:needed] != tuple(range(ports[0], ports[0] + needed) if ports else ()):
            raise Wrong(f"{needed} ports in a row are needed and the job has {list(ports)}: ask for more by the role's "
                        "ports, or name one that is free on all nodes by CONF_PADDLE_PORT")


def prepare(job_path: str, node: Nodes) -> str:
    """Copies this node's part of the data, and the configuration, to here; the folder of its logs."""
    copies = [(os.path.join(job_path, str(node.id), "data"), "data")]
    if os.environ.get("TRAIN_CONFIG_DIR"):
        copies.append((os.path.join(job_path, os.environ["TRAIN_CONFIG_DIR"]), "."))
    for source, target in copies:
        if not os.path.isdir(source):
            raise Wrong(f"{source} is no folder on {socket.gethostname()}: the data of {node.size} nodes belongs into "
                        f"{job_path}/0/data to {job_path}/{node.size - 1}/data, which all nodes see")
        shutil.copytree(source, target, dirs_exist_ok=True)
    logs = os.path.join(job_path, "output", f"node_{node.id}")
    os.makedirs(logs, exist_ok=True)
    return logs


def common_flags(node: Nodes) -> List[str]:
    nics = os.environ.get("CONF_PADDLE_NIC") or os.environ.get("PADDLE_INIT_NICS") or "eth0"
    return [f"--nics={nics}", f"--port={node.port}", f"--ports_num={node.ports_num}",
            f"--ports_num_for_sparse={node.sparse_num}",
            f"--num_gradient_servers={number('CONF_PADDLE_GRADIENT_NUM', node.size)}", MARK]


def trainer_flags(job_path: str, node: Nodes) -> List[str]:
    return [f"--pservers={node.listed}", f"--trainer_id={node.id}", f"--trainer_count={number('TRAINER_COUNT', 1)}",
            f"--save_dir={os.path.join(job_path, 'output')}"]


def environment(node: Nodes) -> Dict[str, str]:
    """For programs that read it there."""
    return {**os.environ, "PADDLE_INIT_TRAINER_ID": str(node.id), "PADDLE_INIT_PSERVERS": node.listed,
            "PADDLE_INIT_PORT": str(node.port), "PADDLE_INIT_NUM_GRADIENT_SERVERS":
            str(number("CONF_PADDLE_GRADIENT_NUM", node.size))}


def wait_listening(server: "subprocess.Popen[bytes]", address: Tuple[str, int], log: str) -> None:
    """Until it can be connected to. One that ends instead is told at once."""
    while True:
        try:
            socket.create_connection(address, 5).close()
            return
        except OSError:
            pass
        try:
            status = server.wait(LOOK_S)
        except subprocess.TimeoutExpired:
            continue
        raise Wrong(f"the parameter server ended with status {status} before it listened: see {log}")


def train(command: List[str], log: str, env: Dict[str, str]) -> int:
    """To its end; what it says goes into the log and to the job's output."""
    with open(log, "wb") as file, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                                   env=env) as trainer:
        assert trainer.stdout is not None
        while True:
            piece = os.read(trainer.stdout.fileno(), 65536)
            if not piece:
                break
            file.write(piece)
            file.flush()
            sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()
        return trainer.wait()


def meet(after: int) -> edl.World:
    """All nodes are there: each has done what comes before."""
    world = edl.join(after)
    if world is None:
        raise SystemExit(143)  # the job is being stopped
    return world


def run(arguments: List[str]) -> int:
    server_program, trainer_program, flags = read_command(arguments)
    job_path = os.environ.get("JOB_PATH", "")
    if not job_path.startswith("/"):
        raise Wrong("JOB_PATH is no absolute path: set it in the job's env to a folder that all nodes see")
    world = meet(0)
    node = Nodes(world)
    logs = prepare(job_path, node)
    env = environment(node)
    server_log = os.path.join(logs, "server.log")
    with open(server_log, "wb") as log:
        server = subprocess.Popen(server_program + common_flags(node), stdout=log, stderr=subprocess.STDOUT, env=env)
    try:
        wait_listening(server, node.servers[node.id], server_log)
        world = meet(world.generation)  # so do the others
        command = trainer_program + common_flags(node) + trainer_flags(job_path, node) + flags
        status = train(command, os.path.join(logs, "train.log"), env)
        if status == 0:
            meet(world.generation)  # no other trainer needs this node's server any more
        return status if status >= 0 else 128 - status
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    try:
        sys.exit(run(sys.argv[1:]))
    except (Wrong, FileNotFoundError, edl.Error) as error:
        print(f"start.py: {error}", file=sys.stderr)
        sys.exit(2)
