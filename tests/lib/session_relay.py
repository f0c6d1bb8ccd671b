#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sessions through a running scheduler, with both ends played here (session_ends.py).

    session_relay.py STATE-DIR URL [TEST...]        all tests that begin with test_, or those

STATE-DIR has the tokens and, for TLS, ca.pem. Each test has a node and a job of its own."""
import asyncio
import hashlib
import os
import sys
import time

sys.dont_write_bytecode = True

from session_ends import Address, Agent, Client, Cut, Refused, open_session, person_side, run_job  # noqa: E402

BYTES = int(os.environ.get("EDL_SESSION_BYTES", 8 << 20))  # that go each way


class World:
    """what tests share: the scheduler, its admin, and tokens of people"""

    def __init__(self, folder, url):
        def read(name):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                return file.read().strip()
        self.address = Address(url, os.path.join(folder, "ca.pem"))
        self.admin = Client(self.address, read("admin-token"))
        self.join_token = read("join-token")
        self.n = 0

    async def person(self, name, role="user"):
        await self.admin.ask("POST", "/users", {"name": name, "role": role})
        made = await self.admin.ask("POST", "/tokens", {"user": name})
        return Client(self.address, made["token"])

    async def node_and_job(self, owner=None, n=1):
        """an agent and the name of a job that runs there alone"""
        self.n += 1
        name = "t%d-%d" % (os.getpid(), self.n)
        agent = await Agent(self.address, name, self.join_token).begin()
        await run_job(owner or self.admin, agent, name, n)
        return agent, name

    async def state(self, session, wanted="ended", client=None):
        """the session, once it is in that state"""
        async with asyncio.timeout(60):
            while True:
                told = await (client or self.admin).ask("GET", "/sessions/" + session)
                if told["state"] == wanted:
                    return told
                await asyncio.sleep(0.02)

    async def audit(self, text):
        """the last line that has it"""
        entries, after = [], 0
        while page := (await self.admin.ask("GET", "/audit?limit=1000&after=%d" % after))["entries"]:
            entries += page
            after = page[-1]["id"]
        return next(one for one in reversed(entries) if text in one["target"])


async def refused(status, word, coroutine):
    try:
        await coroutine
    except Refused as problem:
        text = problem.problem["detail"] + " " + problem.problem.get("remedy", "")
        assert problem.status == status and word in text, (status, word, str(problem))
        return problem.problem
    raise AssertionError("it was not refused: %s" % word)


def random_bytes(size):
    return os.urandom(size)


async def pass_bytes(source, target, size):
    data = random_bytes(size)
    sending = asyncio.create_task(source.send(data))
    got = await target.get_exactly(size)
    await sending
    assert hashlib.sha256(got).digest() == hashlib.sha256(data).digest()


async def test_bytes_arrive_both_ways(world):
    agent, job = await world.node_and_job()
    made, person, node = await open_session(world.admin, agent, job)
    await asyncio.gather(pass_bytes(person, node, BYTES), pass_bytes(node, person, BYTES))
    told = await world.admin.ask("GET", "/sessions/" + made["session"])
    assert told["state"] == "open" and told["in_bytes"] == BYTES == told["out_bytes"], told
    await node.send(b"the last words")
    assert await node.finish() == 204
    assert await person.get_all() == b"the last words"
    told = await world.state(made["session"])
    assert told["cause"] == "ended", told
    assert await person.finish() == 204
    assert await node.get() == b""
    await agent.end()


async def test_orders_have_what_was_asked_for(world):
    agent, job = await world.node_and_job(n=2)
    wanted = {"kind": "shell", "process": "trainer-1", "command": ["vi", "a file", "\u00e9"], "pty": {"rows": 0, "columns": 132, "term": "tmux"}}
    made = await world.admin.ask("POST", "/jobs/%s/sessions" % job, wanted)
    order = await agent.await_session(made["session"])
    assert order["pty"] == {"rows": 24, "columns": 80, "term": "tmux"}, order  # a terminal without rows does not know its columns
    assert (order["command"], order["kind"], order["user"]) == (wanted["command"], "shell", "admin"), order
    assert (order["role"], order["index"], order["job"]) == ("trainer", 1, job), order
    assert made["process"] == "trainer-1" and made["incarnation"] == order["incarnation"] and made["idle_s"] == 8 * 3600, made
    told = await world.admin.ask("DELETE", "/sessions/" + made["session"])
    assert (told["state"], told["cause"], told["reason"]) == ("ended", "killed", "admin has ended it"), told
    await agent.await_session(made["session"], there=False)
    begun, ended = await world.audit("/sessions/%s shell" % made["session"]), await world.audit("/sessions/%s killed" % made["session"])
    assert "trainer-1 of job" in begun["target"] and begun["target"].endswith(": vi 'a file' '\u00e9'"), begun
    assert ended["target"].endswith(": vi 'a file' '\u00e9'") and ended["method"] == "END", ended
    await agent.end()


async def run(folder, url, names):
    world = World(folder, url)
    tests = [(name, test) for name, test in globals().items() if name.startswith("test_") and (not names or name in names)]
    assert len(tests) == len(names) or not names, names
    for name, test in tests:
        since = time.monotonic()
        await asyncio.wait_for(test(world), 170)
        print("ok %s %.1f s" % (name, time.monotonic() - since), flush=True)


if __name__ == "__main__":
    asyncio.run(run(sys.argv[1], sys.argv[2], sys.argv[3:]))
