#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sessions through a running scheduler, with both ends played here (session_ends.py).

    session_relay.py STATE-DIR URL [TEST...]        those that fit the patterns; none: test_*

STATE-DIR has the tokens and, for TLS, ca.pem. Each test has a node and a job of its own."""
import asyncio
import fnmatch
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
        async with asyncio.timeout(120):
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


async def test_a_slow_reader_stops_the_writer(world):
    """and nothing is lost; the other direction goes on meanwhile"""
    agent, job = await world.node_and_job()
    made, person, node = await open_session(world.admin, agent, job)
    data = random_bytes(BYTES * 4)
    sending = asyncio.create_task(node.send(data))
    seen = -1
    while seen != (seen := (await world.admin.ask("GET", "/sessions/" + made["session"]))["out_bytes"]):
        await pass_bytes(person, node, 1 << 20)
    assert not sending.done() and seen < len(data), (seen, len(data))
    assert await person.get_exactly(len(data)) == data
    await sending
    await world.admin.ask("DELETE", "/sessions/" + made["session"])
    assert await person.get_all() == b"" == await node.get_all()
    assert (await person.finish(), await node.finish()) == (204, 204)
    await agent.end()


async def test_a_slow_writer(world):
    """little pieces, each by itself, as they are typed and echoed"""
    agent, job = await world.node_and_job()
    _, person, node = await open_session(world.admin, agent, job)
    for i in range(500):
        piece = bytes([i % 256]) * (i % 30 + 1)
        await person.send(piece)
        assert await node.get_exactly(len(piece)) == piece
        await node.send(piece)
        assert await person.get_exactly(len(piece)) == piece
    await agent.end()


async def leave(world, agent, job, who, what, when):
    """one side dies; what becomes of the session, and of the other side"""
    made, person, node = await open_session(world.admin, agent, job, come=when != "first")
    sides = {"person": person, "node": node}
    mine, others = sides.pop(who), sides.popitem()[1]
    if when == "first":
        await mine.come()
    elif when == "moving":
        mine_sends, other_sends = asyncio.create_task(mine.send(random_bytes(BYTES * 4))), asyncio.create_task(others.send(random_bytes(BYTES * 4)))
        await asyncio.gather(mine.get_exactly(1 << 19), others.get_exactly(1 << 19))
    elif when == "behind its last words":
        await mine.send(b"last words")
    elif when == "while it is not read":
        mine_sends = asyncio.create_task(mine.send(random_bytes(BYTES * 4)))
        await asyncio.sleep(0)
        while not (await world.admin.ask("GET", "/sessions/" + made["session"]))["%s_bytes" % ("in" if who == "person" else "out")]:
            pass
    mine.vanish(*what)
    if when == "first":
        if who == "person":
            return await world.state(made["session"]), None
        await world.admin.ask("DELETE", "/sessions/" + made["session"])
        return None, None
    rest = bytearray()
    try:
        rest += await others.get_all()
    except Cut:
        pass
    told = await world.state(made["session"])
    if when in ("moving", "while it is not read"):
        mine_sends.cancel()
        await asyncio.gather(mine_sends, return_exceptions=True)
    if when == "moving":
        await asyncio.gather(other_sends, return_exceptions=True)
    others.vanish()
    mine.vanish()
    return told, bytes(rest)


async def test_sides_die_at_each_point(world):
    agent, job = await world.node_and_job()
    points = [(who, what, when) for who in ("person", "node") for what in (("in",), ("out",), ("in", "out"))
              for when in ("first", "quiet", "moving", "behind its last words", "while it is not read")]
    before = await metric(world, "edl_sessions_open"), await metric(world, "edl_http_connections")
    for who, what, when in points:
        if who == "node" and what == ("out",):
            continue  # a node that takes no more and goes on telling is none that has died
        told, rest = await leave(world, agent, job, who, what, when)
        if told is not None:
            assert told["cause"] == ("person_gone" if who == "person" else "node_gone"), (who, what, when, told)
        if when == "behind its last words" and who == "node" and "out" not in what:
            assert rest in (b"last words", b""), rest  # an RST may overtake them
    await none_is_left(world, before)
    await agent.end()


async def none_is_left(world, before):
    """no session is open but those of before, and no connection of one stays"""
    async with asyncio.timeout(120):
        while (await metric(world, "edl_sessions_open"), await metric(world, "edl_http_connections") <= before[1] + 2) != (before[0], True):
            await asyncio.sleep(0.1)


async def metric(world, name):
    reader, writer = await world.address.connect()
    writer.write(("GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer %s\r\n\r\n" % world.admin.token).encode())
    text = (await reader.read()).decode()
    writer.close()
    return next(float(line.split()[1]) for line in text.splitlines() if line.startswith(name + " "))


async def test_nobody_comes(world):
    """the node has 20 s, the person 30"""
    agent, job = await world.node_and_job()
    without_node = await world.admin.ask("POST", "/jobs/%s/sessions" % job, {"kind": "shell"})
    half = person_side(world.admin, without_node["session"])
    await half.come()
    _, late, node = await open_session(world.admin, agent, job, come=False)
    await node.come()
    since = time.monotonic()
    told = await world.state(without_node["session"])
    assert 19 < time.monotonic() - since < 29, time.monotonic() - since
    assert told["cause"] == "node_gone" and "did not answer in time" in told["reason"] and "edl nodes" in told["remedy"], told
    assert await half.get_all() == b""
    assert await node.get_all() == b""
    assert 29 < time.monotonic() - since < 40, time.monotonic() - since
    problem = await refused(410, "did not come for it in time", late.come_out())
    assert problem["status"] == 410
    await agent.end()


async def test_who_may(world):
    ann, bob = await world.person("ann"), await world.person("bob")
    eve, olga = await world.person("eve", "viewer"), await world.person("olga", "operator")
    agent, job = await world.node_and_job(owner=ann)
    other, _ = await world.node_and_job()
    path = "/jobs/%s/sessions" % job
    wanted = {"kind": "shell"}
    await refused(403, "belongs to ann, and you are bob", bob.ask("POST", path, wanted))
    await refused(403, "needs the role user", eve.ask("POST", path, wanted))
    await refused(403, "nobody but ann says that", olga.ask("POST", path, dict(wanted, ends_job=True)))
    await refused(401, "valid bearer token", Client(world.address).ask("POST", path, wanted))
    made, person, node = await open_session(ann, agent, job, wanted)
    name = made["session"]
    for client, wanted_status in ((bob, 404), (Client(world.address, "0" * 64), 401)):
        await refused(wanted_status, "", client.ask("GET", "/sessions/" + name))
        await refused(wanted_status, "", client.ask("DELETE", "/sessions/" + name))
    await refused(403, "is one of ann", person_side(bob, name).come_out())
    await refused(403, "is one of ann", person_side(olga, name).come_out())
    await refused(404, "no such session", other.side(name).come_out())
    stolen = agent.side(name)
    stolen.client = other.client
    await refused(401, "not the credential of node", stolen.come_out())
    await refused(409, "is made once", person_side(ann, name).come_out())
    again = await person_side(ann, name).come_in()
    assert await again.answer() == 409
    assert [one["session"] for one in (await ann.ask("GET", "/sessions"))["sessions"]] == [name]
    assert not [one for one in (await bob.ask("GET", "/sessions"))["sessions"] if one["session"] == name]
    told = next(one for one in (await olga.ask("GET", "/sessions"))["sessions"] if one["session"] == name)
    assert (told["user"], told["job"], told["state"]) == ("ann", job, "open"), told
    await pass_bytes(person, node, 100000)
    hers, _, _ = await open_session(olga, agent, job)  # her owner sees who looks in, and may end it
    assert (await ann.ask("DELETE", "/sessions/" + hers["session"]))["reason"] == "ann has ended it"
    await agent.end()
    await other.end()


async def test_rights_that_go(world):
    """while it runs: a lowered user, a removed one, a token that is revoked; a job's own user keeps his"""
    agent, job = await world.node_and_job()
    for name, take in (("carl", lambda c: ("PATCH", "/users/carl", {"role": "viewer"})), ("dora", lambda c: ("DELETE", "/users/dora", None)),
                       ("emil", lambda c: ("DELETE", "/tokens/%d" % c, None))):
        client = await world.person(name, "operator")
        tokens = (await client.ask("GET", "/tokens"))["tokens"]
        made, person, node = await open_session(client, agent, job)
        stays, _, _ = await open_session(world.admin, agent, job)
        await pass_bytes(person, node, 1000)
        await world.admin.ask(*take(tokens[0]["id"]))
        told = await world.state(made["session"])
        assert told["cause"] == "refused", told
        assert await person.get_all() == b"" == await node.get_all()
        assert (await world.admin.ask("GET", "/sessions/" + stays["session"]))["state"] == "open"
        await world.admin.ask("DELETE", "/sessions/" + stays["session"])
    await agent.end()


async def test_a_process_that_ends(world):
    agent, job = await world.node_and_job()
    number = (await world.admin.ask("GET", "/jobs/" + job))["id"]
    tells, person, node = await open_session(world.admin, agent, job)
    silent, other, _ = await open_session(world.admin, agent, job)
    agent.let_end(number, 3)
    await agent.report()
    await node.send(b"it has ended")  # its node tells of it, in its own words
    await node.finish()
    assert await person.get_all() == b"it has ended"
    assert (await world.state(tells["session"]))["cause"] == "ended"
    assert await other.get_all() == b""  # and where it tells nothing the session ends nevertheless
    told = await world.state(silent["session"])
    assert told["cause"] == "process_gone" and "trainer-0 of job %s has ended" % job in told["reason"] and "edl logs" in told["remedy"], told
    await agent.end()


async def test_farewell_of_a_process_that_ended(world):
    """as long as its node says something, or a person has not read all: beyond the 10 s of a silent node"""
    agent, job = await world.node_and_job()
    number = (await world.admin.ask("GET", "/jobs/" + job))["id"]
    slow, person, node = await open_session(world.admin, agent, job)
    quiet, other, pings = await open_session(world.admin, agent, job)
    data = random_bytes(1 << 23)
    sending = asyncio.create_task(node.send(data))
    await pings.send(b"\x09" + b"\0" * 7)
    agent.let_end(number, 3)
    await agent.report()
    await asyncio.sleep(13)  # it is about time
    assert await person.get_exactly(len(data)) == data
    await sending
    await node.send(b"it has ended")
    await node.finish()
    assert await person.get_all() == b"it has ended"
    assert (await world.state(slow["session"]))["cause"] == "ended"
    assert (await world.admin.ask("GET", "/sessions/" + quiet["session"]))["state"] == "open"
    assert len(await other.get_all()) == 8
    assert (await world.state(quiet["session"]))["cause"] == "process_gone"  # nothing came for 20 s
    await agent.end()


async def test_a_session_that_is_over_is_read_to_its_end(world):
    """also when its node leaves meanwhile"""
    agent, job = await world.node_and_job()
    made, person, node = await open_session(world.admin, agent, job)
    sending = asyncio.create_task(node.send(random_bytes(BYTES * 4)))
    seen = -1
    while seen != (seen := (await world.admin.ask("GET", "/sessions/" + made["session"]))["out_bytes"]):
        await asyncio.sleep(0.2)
    await world.admin.ask("DELETE", "/sessions/" + made["session"])
    node.vanish()
    await asyncio.gather(sending, return_exceptions=True)
    await asyncio.sleep(3)  # it is about time
    assert len(await person.get_all()) == seen
    await agent.end()


async def test_a_session_ends_its_job(world):
    ann = await world.person("anton")
    agent, job = await world.node_and_job(owner=ann)
    made, person, node = await open_session(ann, agent, job, {"kind": "shell", "ends_job": True})
    await pass_bytes(person, node, 10)
    person.vanish()
    async with asyncio.timeout(120):
        while (told := await world.admin.ask("GET", "/jobs/" + job))["state"] != "killed":
            await asyncio.sleep(0.05)
    assert "its session ended" in told["reason"], told
    assert (await world.state(made["session"]))["cause"] == "person_gone"
    await agent.end()


async def test_jobs_without_such_a_process(world):
    agent, job = await world.node_and_job(n=3)
    path, wanted = "/jobs/%s/sessions" % job, {"kind": "exec", "command": ["id"]}
    problem = await refused(404, "has no process trainer-7", world.admin.ask("POST", path, dict(wanted, process="trainer-7")))
    assert problem["remedy"] == "those that run: trainer-0, trainer-1, trainer-2", problem
    for name in ("pserver-0", "trainer", "trainer-x", "-1", "trainer-99999999999", ""):
        await refused(404, "those that run", world.admin.ask("POST", path, dict(wanted, process=name)))
    await refused(404, "no job", world.admin.ask("POST", "/jobs/surely-none/sessions", wanted))
    await world.admin.ask("POST", "/jobs", {"metadata": {"name": "waits"}, "spec": {"trainer": {
        "entrypoint": "true", "min-instance": 1, "max-instance": 1, "node-selector": {"ends": agent.name}, "resources": {"requests": {"cpu": "900"}}}}})
    problem = await refused(409, "job waits waits since 20", world.admin.ask("POST", "/jobs/waits/sessions", wanted))
    assert "edl why waits" in problem["remedy"], problem
    agent.machine = {"reads_files": True}
    await agent.report()
    problem = await refused(426, "does not say that it opens sessions", world.admin.ask("POST", path, wanted))
    assert "upgrade edl-agent on " + agent.name in problem["remedy"], problem
    await world.admin.ask("DELETE", "/jobs/" + job, {})
    async with asyncio.timeout(120):
        while (await world.admin.ask("GET", "/jobs/" + job))["state"] != "killed":
            await asyncio.sleep(0.05)
    problem = await refused(409, "has ended: it was killed at 20", world.admin.ask("POST", path, wanted))
    assert "edl logs " + job in problem["remedy"], problem
    await agent.end()


async def brief_nodes_that_are_lost(world):
    """with a lease of 6 s"""
    agent, job = await world.node_and_job()
    made, person, _ = await open_session(world.admin, agent, job)
    await agent.end()
    assert await person.get_all() == b""
    told = await world.state(made["session"])
    assert told["cause"] == "node_gone" and "is lost" in told["reason"], told


async def brief_idle(world):
    """with session-idle 10s; what says that a side is there moves nothing"""
    agent, job = await world.node_and_job()
    since = time.monotonic()
    quiet, _, still = await open_session(world.admin, agent, job)
    busy, person, node = await open_session(world.admin, agent, job)
    await still.send(b"\x09" + b"\0" * 7)  # a frame that says nothing else
    while (await world.admin.ask("GET", "/sessions/" + quiet["session"]))["state"] != "ended":
        await pass_bytes(person, node, 100)
        await asyncio.sleep(0.1)
    assert 9 < time.monotonic() - since < 120, time.monotonic() - since
    told = await world.state(quiet["session"])
    assert told["cause"] == "idle" and "nothing has moved in it for 10 s" in told["reason"] and "session-idle" in told["remedy"], told
    assert (await world.admin.ask("GET", "/sessions/" + busy["session"]))["state"] == "open"
    await world.admin.ask("DELETE", "/sessions/" + busy["session"])
    await agent.end()


async def brief_limits(world):
    """with sessions-user 3 and sessions-max 8"""
    agent, job = await world.node_and_job()
    ann, bob = await world.person("ann", "operator"), await world.person("bob", "operator")
    path, wanted = "/jobs/%s/sessions" % job, {"kind": "shell"}
    for _ in range(3):
        last, _, _ = await open_session(ann, agent, job, wanted)
    await refused(429, "has as many sessions as one user may: 3", ann.ask("POST", path, wanted))
    await ann.ask("DELETE", "/sessions/" + last["session"])
    await open_session(ann, agent, job, wanted)
    await open_session(bob, agent, job, wanted)
    await open_session(bob, agent, job, wanted)
    await open_session(world.admin, agent, job, wanted)
    await open_session(world.admin, agent, job, wanted)  # 7 of 8: a user gets as many as are still free
    await refused(429, "as many sessions as may be are there already", world.admin.ask("POST", path, wanted))
    problem = await refused(429, "as many sessions as may be", bob.ask("POST", path, wanted))
    assert "sessions-max" in problem["remedy"], problem
    for one in (await world.admin.ask("GET", "/sessions"))["sessions"]:
        await world.admin.ask("DELETE", "/sessions/" + one["session"])
    await agent.end()


async def last_stop(world):
    """the scheduler is told to stop by whoever runs this: a line on standard output asks for it"""
    agent, job = await world.node_and_job()
    made, person, node = await open_session(world.admin, agent, job)
    asks = asyncio.create_task(world.state(made["session"]))
    print("stop it", flush=True)
    assert await person.get_all() == b"" == await node.get_all()
    told = await asks
    assert told["cause"] == "stopping" and "the job goes on" in told["remedy"], told
    agent.stop = True
    for task in agent.tasks:
        task.cancel()
    await asyncio.gather(*agent.tasks, return_exceptions=True)


async def account_of_this_machine(world):
    """an account that comes by the Unix socket, without a token; another one does not get in"""
    mine = Client(Address("unix:" + world.address.path, uid=world.uid))
    name = (await mine.ask("GET", "/whoami"))["user"]
    agent, job = await world.node_and_job(owner=mine)
    made, person, node = await open_session(mine, agent, job)
    await asyncio.gather(pass_bytes(person, node, BYTES), pass_bytes(node, person, BYTES))
    told = await world.admin.ask("GET", "/sessions/" + made["session"])
    assert told["user"] == name, told
    stranger = Client(Address("unix:" + world.address.path, uid=world.uid - 1 if world.uid > 1 else 2))
    try:
        await stranger.ask("POST", "/jobs/%s/sessions" % job, {"kind": "shell"})
        raise AssertionError("a stranger came in")
    except Refused as problem:
        assert problem.status in (401, 403), problem
    await mine.ask("DELETE", "/sessions/" + made["session"])
    await agent.end()


async def heavy_many_sessions(world):
    """400 at once, of 20 people on two nodes, each moves a mebibyte each way; a report is not kept waiting"""
    people = [await world.person("p%d" % i, "operator") for i in range(20)]
    agents = [await world.node_and_job() for _ in range(2)]
    opened = [await open_session(people[i % 20], *agents[i % 2]) for i in range(400)]
    assert await metric(world, "edl_sessions_open") == 400
    await asyncio.gather(*(pass_bytes(*pair, 1 << 20) for _, person, node in opened for pair in ((person, node), (node, person))))
    for _, _, node in opened:
        await node.finish()
    for _, person, _ in opened:
        assert await person.get_all() == b""
    assert await metric(world, "edl_sessions_open") == 0
    for agent, _ in agents:
        await agent.end()


async def run(folder, url, names):
    world = World(folder, url)
    world.uid = int(os.environ.get("EDL_SESSION_UID", 0))
    wanted = names or ["test_*"]
    tests = [(name, test) for name, test in globals().items() if asyncio.iscoroutinefunction(test) and any(fnmatch.fnmatch(name, one) for one in wanted)]
    assert tests, names
    for name, test in tests:
        since = time.monotonic()
        await asyncio.wait_for(test(world), 170)
        print("ok %s %.1f s" % (name, time.monotonic() - since), flush=True)


if __name__ == "__main__":
    asyncio.run(run(sys.argv[1], sys.argv[2], sys.argv[3:]))
