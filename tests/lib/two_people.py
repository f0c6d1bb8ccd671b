# SPDX-License-Identifier: Apache-2.0
"""Who uses a cluster with two schedulers while it is broken: writers with keys, readers of events, and one that asks who leads.

Each is a thread with connections of its own. A writer keeps its key until it has an answer, whoever gives it. A prober is a writer that
speaks to one server alone: it notes the moment from which that one accepts."""
import http.client
import json
import ssl
import threading
import time
import urllib.parse
import uuid

from two_checker import Ack

UNVERIFIED = ssl.create_default_context()
UNVERIFIED.check_hostname = False
UNVERIFIED.verify_mode = ssl.CERT_NONE
RETRY_S = 0.02  # of one that was refused
JOIN_S = 120  # only a hang reaches it
REPORT_S = 0.7  # an agent repeats a report after a seventh of its lease
CALL_S = 1.0  # a server that does not answer for so long is left
# 503: ask again, or another one. 429: more than one person may ask
AGAIN = (503, 429)
UNANSWERED = 0

# of a node on which nothing fits
NODE = {'address': '127.0.0.1', 'cpu_millicores': 1, 'memory_bytes': 1 << 20, 'gpus': 0, 'port_first': 20000, 'port_last': 20999, 'numa_nodes': 1, 'gpu_numa': [],
        'labels': {}, 'boot_id': str(uuid.uuid4()), 'machine_id': uuid.uuid4().hex}


class Servers:
    """Connections of one thread to each of the schedulers."""

    def __init__(self, addresses, token, timeout_s=CALL_S):
        self.addresses, self.token, self.timeout_s = addresses, token, timeout_s
        self.links = {}

    def call(self, server, method, path, body=None, headers=None):
        """status and body; UNANSWERED and why, where the connection is refused, lost or silent."""
        link = self.links.pop(server, None) or self.connect(server)
        try:
            link.request(method, path, body, {**({'Authorization': f'Bearer {self.token}'} if self.token else {}), **(headers or {})})
            answer = link.getresponse()
            read = answer.read()
        except (OSError, http.client.HTTPException, ValueError) as error:
            link.close()
            return UNANSWERED, repr(error).encode()
        if answer.will_close:
            link.close()
        else:
            self.links[server] = link
        return answer.status, read

    def connect(self, server):
        at = urllib.parse.urlsplit(self.addresses[server])
        if at.scheme == 'https':
            return http.client.HTTPSConnection(at.hostname, at.port, timeout=self.timeout_s, context=UNVERIFIED)
        return http.client.HTTPConnection(at.hostname, at.port, timeout=self.timeout_s)

    def submit(self, server, key, name):
        return self.call(server, 'POST', '/jobs', document(name), {'Content-Type': 'application/json', 'Idempotency-Key': key})


def document(name):
    """Of a job that waits: no node has so much memory."""
    return json.dumps({'metadata': {'name': name}, 'spec': {'trainer': {'command': ['true'], 'min-instance': 1, 'max-instance': 1,
                                                                      'resources': {'requests': {'cpu': '900m', 'memory': '64Mi'}}}}})


class Person(threading.Thread):
    """Does its step again and again until it is told to end; an exception of it is kept for the test."""

    def __init__(self, name):
        super().__init__(name=name, daemon=True)
        self.over = threading.Event()
        self.broken = None

    def run(self):
        try:
            while not self.over.is_set():
                self.step()
        except Exception as error:  # pylint: disable=broad-except
            self.broken = error

    def step(self):
        raise NotImplementedError

    def end(self):
        self.over.set()
        self.join()
        if self.broken:
            raise self.broken


class Writer(Person):
    """Submits one job after the other. It asks the server that answered last first, then the next one."""

    def __init__(self, name, addresses, token, pause_s, only=None, timeout_s=CALL_S):
        super().__init__(name)
        self.servers, self.pause_s = Servers(addresses, token, timeout_s), pause_s
        self.order = [only] if only else list(addresses)
        self.n, self.key = 0, None
        self.acks, self.odd, self.tries = [], [], 0  # odd: answers that nobody may get

    def step(self):
        if self.key is None:
            self.n, self.key = self.n + 1, str(uuid.uuid4())
        name, server, sent_s = f'{self.name}-{self.n}', self.order[0], time.monotonic()
        status, body = self.servers.submit(server, self.key, name)
        self.tries += 1
        if status == 201:
            self.acks.append(Ack(self.key, name, json.loads(body)['id'], body, server, sent_s, time.monotonic()))
            self.key = None
            self.over.wait(self.pause_s)
            return
        if status not in (UNANSWERED, *AGAIN):
            self.odd.append(f'{self.name}: {server} answered {status} {body[:300]!r}')
            self.key = None
        self.order.append(self.order.pop(0))
        self.over.wait(RETRY_S)


class Asker(Person):
    """Asks each server who it is, all the time."""

    def __init__(self, addresses, pause_s=0.1):
        super().__init__('asker')
        self.servers, self.pause_s = Servers(addresses, '', 0.5), pause_s
        self.tells = []  # (seconds, server, role, term)

    def step(self):
        for server in self.servers.addresses:
            self.ask(server)
        self.over.wait(self.pause_s)

    def ask(self, server):
        role, term = role_of(self.servers, server)
        self.tells.append((time.monotonic(), server, role, term))


def role_of(servers, server):
    """'leader', 'standby', 'away', or '' where nobody answers; and the term."""
    status, body = servers.call(server, 'GET', '/healthz')
    if status != 200:
        return '', 0
    health = json.loads(body)
    role = health.get('role', 'alone')
    return 'leader' if role == 'alone' else role, health.get('term', 0)


class Reader(Person):
    """Follows the events by long polls, over every change of the leader."""

    def __init__(self, name, addresses, token):
        super().__init__(name)
        self.servers, self.order = Servers(addresses, token, 5.0), list(addresses)
        self.revisions, self.odd = [], []

    def step(self):
        after = self.revisions[-1] if self.revisions else 0
        status, body = self.servers.call(self.order[0], 'GET', f'/events?after={after}&wait=2')
        if status == 200:
            self.revisions += [event['revision'] for event in json.loads(body)['events']]
            return
        if status not in (UNANSWERED, *AGAIN):
            self.odd.append(f'{self.name}: {self.order[0]} answered {status} {body[:300]!r}')
        self.order.append(self.order.pop(0))
        self.over.wait(RETRY_S)


class Reporter(Person):
    """A node that has room for nothing and reports ten times a second: how long each answer takes, and who refuses."""

    def __init__(self, addresses, token, pause_s=0.1):
        """token: good for one join."""
        super().__init__('reporter')
        self.order, self.pause_s = list(addresses), pause_s
        self.report, credential = dict(NODE), uuid.uuid4().hex * 2
        self.take_part(Servers(addresses, token, 10.0), json.dumps({**NODE, 'node': 'reporter', 'credential': credential}))
        self.servers = Servers(addresses, credential, REPORT_S)
        self.report.update(session=0, version='0', foreign_cpu_millicores=0, foreign_memory_bytes=0, complete=True, processes=[])
        self.answers = []  # (seconds when sent, took, server, status, lease)

    def take_part(self, servers, body):
        """On a busy machine another scheduler may lead since the token was given."""
        by_s = time.monotonic() + JOIN_S
        while (answer := servers.call(self.order[0], 'POST', '/nodes/join', body, {'Content-Type': 'application/json'}))[0] != 201:
            if answer[0] not in (UNANSWERED, *AGAIN) or time.monotonic() > by_s:
                raise ValueError(f'the reporter may not join: {answer[0]} {answer[1]}')
            self.order.append(self.order.pop(0))
            self.over.wait(RETRY_S)

    def step(self):
        sent_s = time.monotonic()
        body = {**self.report, 'sent_us': int(time.clock_gettime(time.CLOCK_BOOTTIME) * 1e6)}
        status, answer = self.servers.call(self.order[0], 'POST', '/nodes/reporter/report', json.dumps(body), {'Content-Type': 'application/json'})
        heard = json.loads(answer) if status == 200 else {}
        self.answers.append((sent_s, time.monotonic() - sent_s, self.order[0], status, heard.get('lease_us', 0)))
        if status == 409:  # of a run that has not heard this node yet
            self.report['session'] = json.loads(answer)['session']
        elif status != 200:
            self.order.append(self.order.pop(0))
        self.over.wait(self.pause_s)

    def has_lease(self):
        return any(lease_us for *_, lease_us in self.answers)

    def heard_between(self, since_s, until_s):
        """How long each answer with a lease took, of those that were asked for and came in that time."""
        return [took_s for sent_s, took_s, _, status, lease_us in self.answers if sent_s >= since_s and sent_s + took_s <= until_s and status == 200 and lease_us]
