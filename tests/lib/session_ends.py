# SPDX-License-Identifier: Apache-2.0
"""Both ends of sessions, as dumb as can be: a node's agent that only takes part in sessions, and people.

What they send is any bytes: the scheduler looks at none. Over TCP, TLS (a CA file) or the Unix socket."""
import asyncio
import json
import os
import socket
import ssl

OFFER = {"address": "127.0.0.1", "cpu_millicores": 64000, "memory_bytes": 1 << 36, "gpus": 0, "port_first": 30000, "port_last": 31000}
PIECE = 16384


class Refused(Exception):
    def __init__(self, status, text):
        super().__init__("%d %s" % (status, text))
        self.status = status
        try:
            self.problem = json.loads(text)
        except ValueError:
            self.problem = {"detail": text}


class Cut(Exception):
    """the connection ended before its answer did"""


class Address:
    """where a scheduler is: http://, https:// with ca, unix:/path"""

    def __init__(self, url, ca=None, uid=None):
        self.path, self.context, self.uid = None, None, uid
        if url.startswith("unix:"):
            self.path = url[len("unix:"):]
            return
        scheme, rest = url.split("://") if "://" in url else ("http", url)
        self.host, port = rest.rstrip("/").rsplit(":", 1)
        self.port = int(port)
        if scheme == "https":
            self.context = ssl.create_default_context(cafile=ca)
            if ca is None:
                self.context.check_hostname, self.context.verify_mode = False, ssl.CERT_NONE

    def connect_as(self):
        """to a Unix socket, as that account: the kernel says who connected"""
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        if self.uid is not None:
            os.seteuid(self.uid)
        try:
            sock.connect(self.path)
        finally:
            if self.uid is not None:
                os.seteuid(0)
        sock.setblocking(False)
        return sock

    async def connect(self):
        if self.path is not None:
            return await asyncio.open_unix_connection(sock=self.connect_as(), limit=1 << 18)
        return await asyncio.open_connection(self.host, self.port, ssl=self.context, limit=1 << 18)


def head(method, path, token, more=""):
    bearer = "Authorization: Bearer %s\r\n" % token if token is not None else ""
    return ("%s %s HTTP/1.1\r\nHost: scheduler\r\n%s%s\r\n" % (method, path, bearer, more)).encode()


async def read_head(reader):
    text = await reader.readuntil(b"\r\n\r\n")
    lines = text.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
    return int(lines[0].split()[1]), headers


async def read_chunk(reader):
    """b"" at the end"""
    try:
        size = int((await reader.readuntil(b"\r\n")).split(b";")[0], 16)
        data = await reader.readexactly(size)
        await reader.readexactly(2)
    except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError) as error:
        raise Cut(str(error)) from error
    return data


async def read_body(reader, headers):
    if headers.get("transfer-encoding") == "chunked":
        text = b""
        while piece := await read_chunk(reader):
            text += piece
        return text
    return await reader.readexactly(int(headers.get("content-length", 0)))


class Client:
    def __init__(self, address, token=None):
        self.address, self.token = address, token

    async def ask(self, method, path, body=None, ok=(200, 201, 202, 204)):
        reader, writer = await self.address.connect()
        try:
            data = json.dumps(body).encode() if body is not None else b""
            writer.write(head(method, path, self.token, "Content-Type: application/json\r\nContent-Length: %d\r\n" % len(data)) + data)
            status, headers = await asyncio.wait_for(read_head(reader), 60)
            text = (await asyncio.wait_for(read_body(reader, headers), 60)).decode()
        finally:
            writer.close()
        if status not in ok:
            raise Refused(status, text)
        return json.loads(text) if text else None


class End:
    """one side of a session: what it sends, and what it gets"""

    def __init__(self, client, path):
        self.client, self.path = client, path
        self.out_reader = self.out_writer = self.in_reader = self.in_writer = None

    async def come(self):
        await self.come_out()
        await self.come_in()
        return self

    async def come_out(self):
        self.out_reader, self.out_writer = await self.client.address.connect()
        self.out_writer.write(head("GET", self.path + "/out", self.client.token))
        status, headers = await asyncio.wait_for(read_head(self.out_reader), 60)
        if status != 200:
            raise Refused(status, (await read_body(self.out_reader, headers)).decode())
        return self

    async def come_in(self):
        self.in_reader, self.in_writer = await self.client.address.connect()
        self.in_writer.write(head("POST", self.path + "/in", self.client.token, "Transfer-Encoding: chunked\r\n"))
        return self

    async def send(self, data):
        for at in range(0, len(data), PIECE):
            piece = data[at:at + PIECE]
            self.in_writer.write(b"%x\r\n" % len(piece) + piece + b"\r\n")
            await self.in_writer.drain()

    async def finish(self):
        """the status of the answer"""
        self.in_writer.write(b"0\r\n\r\n")
        return await self.answer()

    async def answer(self):
        try:
            status, _ = await asyncio.wait_for(read_head(self.in_reader), 60)
        except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError) as error:
            raise Cut(str(error)) from error
        return status

    async def get(self):
        """the next piece; b"" at the end, Cut"""
        return await read_chunk(self.out_reader)

    async def get_exactly(self, size):
        data = bytearray()
        while len(data) < size:
            piece = await self.get()
            if not piece:
                raise Cut("the stream ended behind %d of %d bytes" % (len(data), size))
            data += piece
        return bytes(data)

    async def get_all(self):
        data = bytearray()
        while piece := await self.get():
            data += piece
        return bytes(data)

    def vanish(self, *what):
        """closes connections as a program that is killed does: "in", "out", or both"""
        for name in what or ("in", "out"):
            writer = getattr(self, name + "_writer")
            if writer is not None:
                writer.transport.abort()


class Agent:
    """a node that has no processes but says that those it is ordered run"""

    def __init__(self, address, name, join_token):
        self.client = Client(address)
        self.name, self.join_token = name, join_token
        self.offer = dict(OFFER, labels={"ends": name})
        self.running, self.machine, self.stop = {}, {"reads_files": True, "sessions": True}, False
        self.ended = set()
        self.sessions = {}  # what the orders list
        self.changed = asyncio.Event()
        self.tasks = []

    async def begin(self):
        self.client.token = self.join_token
        joined = await self.client.ask("POST", "/nodes/join", dict(self.offer, node=self.name))
        self.client.token = joined["credential"]
        await self.report()
        self.tasks = [asyncio.create_task(self.poll()), asyncio.create_task(self.beat())]
        return self

    async def end(self):
        self.stop = True  # a wait that ends in the same moment may forget that it was cancelled
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    async def report(self):
        body = dict(self.offer, boot_id="ends", machine=self.machine, processes=list(self.running.values()))
        try:
            await self.client.ask("POST", "/nodes/%s/report" % self.name, body)
        except Refused as refused:
            if refused.status != 409:
                raise
            await self.client.ask("POST", "/nodes/%s/report" % self.name, dict(body, session=refused.problem["session"]))

    async def beat(self):
        while not self.stop:
            await asyncio.sleep(0.5)
            await self.report()

    async def poll(self):
        after = ""
        while not self.stop:
            try:
                orders = await self.client.ask("GET", "/nodes/%s/orders?wait=20%s" % (self.name, after))
            except Refused as refused:
                if refused.status != 503:  # it has not reported to this scheduler yet
                    raise
                continue
            after = "&after=%d" % orders["version"]
            await self.follow(orders)

    def let_end(self, job_id, exit_code=0):
        """its processes end by themselves; reported with the next report"""
        self.ended.add((job_id, exit_code))
        for one in self.running.values():
            if one["job_id"] == job_id:
                one.update(state="exited", exit_code=exit_code)

    async def follow(self, orders):
        self.sessions = {one["session"]: one for one in orders.get("sessions", [])}
        wanted = {}
        for order in orders["processes"]:
            key = (order["job_id"], order["role"], order["index"], order["incarnation"])
            gone = [code for job_id, code in self.ended if job_id == key[0]]
            state = "running" if order["desired"] == "run" and not gone else "exited"
            wanted[key] = dict(job_id=key[0], role=key[1], index=key[2], incarnation=key[3], state=state, pid=4242,
                               **({} if state == "running" else {"exit_code": gone[0] if gone else 0}))
        news = wanted != self.running
        self.running = wanted
        self.changed.set()
        self.changed.clear()
        if news:
            await self.report()

    async def await_session(self, session, there=True):
        async with asyncio.timeout(60):
            while (session in self.sessions) != there:
                try:
                    await asyncio.wait_for(self.changed.wait(), 1)
                except asyncio.TimeoutError:
                    pass
        return self.sessions.get(session)

    def side(self, session):
        return End(self.client, "/nodes/%s/sessions/%s" % (self.name, session))


def person_side(client, session):
    return End(client, "/sessions/%s" % session)


async def run_job(client, agent, name, n=1):
    """a job that runs on that agent's node alone"""
    await client.ask("POST", "/jobs", {"metadata": {"name": name}, "spec": {"trainer": {
        "entrypoint": "sleep 1000", "node-selector": {"ends": agent.name}, "min-instance": n, "max-instance": n, "resources": {"requests": {"cpu": "10m", "memory": "4Mi"}}}}})
    async with asyncio.timeout(60):
        while True:
            listed = await client.ask("GET", "/jobs/%s/processes" % name)
            if sum(one["state"] == "running" for one in listed["processes"]) == n:
                return
            await asyncio.sleep(0.05)


async def open_session(client, agent, job, body=None, come=True):
    """what was answered, and both sides, come or not"""
    made = await client.ask("POST", "/jobs/%s/sessions" % job, body or {"kind": "exec", "command": ["true"]})
    await agent.await_session(made["session"])
    person, node = person_side(client, made["session"]), agent.side(made["session"])
    if come:
        await asyncio.gather(person.come(), node.come())
    return made, person, node
