#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether the checker of two schedulers sees what it is there for, and the proxy cuts where it is told to: histories with one thing wrong."""
import os
import socket
import sys
import tempfile
import threading
import unittest

sys.dont_write_bytecode = True

import cut_proxy  # noqa: E402
import two_checker as checker  # noqa: E402


def ack(job, name, body=b'x'):
    return checker.Ack(f'key of {name}', name, job, body, 'a', 1.0, 2.0)


class Writes(unittest.TestCase):
    def test_all_are_there(self):
        self.assertEqual(checker.writes_lost([ack(1, 'one'), ack(2, 'two')], {1: 'one', 2: 'two', 3: 'nobody was told of it'}), [])

    def test_one_is_missing(self):
        self.assertEqual(checker.writes_lost([ack(1, 'one'), ack(2, 'two')], {1: 'one'}), ['job 2 (two) was acknowledged by a and is not there'])

    def test_its_number_has_another_one(self):
        self.assertEqual(checker.writes_lost([ack(1, 'one')], {1: 'other'}), ['job 1 (one) was acknowledged by a and is other'])

    def test_it_is_there_twice(self):
        self.assertEqual(checker.writes_lost([ack(1, 'one')], {1: 'one', 2: 'one'}), ['one is there 2 times'])

    def test_a_number_was_told_twice(self):
        self.assertEqual(checker.numbers_twice([ack(1, 'one'), ack(1, 'two')]), ['job 1 was told to be one and two'])

    def test_another_answer_by_its_key(self):
        acks = [ack(1, 'one'), ack(2, 'two')]
        self.assertEqual(checker.answers_differ(acks, {'key of one': b'x'}), [])
        self.assertEqual(len(checker.answers_differ(acks, {'key of one': b'x', 'key of two': b'y'})), 1)


class Ticks(unittest.TestCase):
    def ticks(self, **slots):
        with tempfile.TemporaryDirectory() as folder:
            for slot, lines in slots.items():
                with open(os.path.join(folder, slot), 'w', encoding='ascii') as f:
                    f.write(lines)
            return checker.Ticks(folder)

    def test_one_process(self):
        ticks = self.ticks(s='1 10 1 5.0\n1 10 2 5.2\n1 10 3 8.0\n1 10 4')  # the last line is being written
        self.assertEqual((ticks.double_grants(), ticks.ended()), ([], []))
        self.assertAlmostEqual(ticks.standstill_s(), 2.8)
        self.assertAlmostEqual(ticks.standstill_s(8.5), 0.0)
        self.assertEqual((ticks.silent_since(8.5, 1.0), ticks.silent_since(9.5, 1.0)), ([], ['s']))

    def test_one_behind_the_other(self):
        ticks = self.ticks(s='1 10 1 5.0\n1 10 2 5.2\n2 11 1 5.3\n')
        self.assertEqual((ticks.double_grants(), len(ticks.ended())), ([], 1))

    def test_two_at_one_time(self):
        self.assertEqual(len(self.ticks(s='1 10 1 5.0\n2 11 1 5.1\n1 10 2 5.2\n').double_grants()), 1)

    def test_two_of_one_incarnation(self):
        self.assertEqual(len(self.ticks(s='1 10 1 5.0\n1 11 1 5.1\n1 10 2 5.2\n').double_grants()), 1)


class Order(unittest.TestCase):
    def test_events(self):
        self.assertEqual(checker.gaps_of_events({'r': [1, 2, 3]}, [1, 2, 3, 4]), [])
        for seen in ([1, 3], [1, 2, 2], [2, 1]):
            self.assertNotEqual(checker.gaps_of_events({'r': seen}, [1, 2, 3]), [], seen)
        self.assertNotEqual(checker.gaps_of_events({'r': [1, 2, 3]}, [1, 2]), [])
        self.assertNotEqual(checker.gaps_of_events({}, [1, 3]), [])

    def test_terms(self):
        tells = [(1.0, 'a', 'leader', 1), (2.0, 'b', 'standby', 1), (3.0, 'b', 'leader', 2)]
        self.assertEqual(checker.terms_disordered(tells, [1, 1, 2]), [])
        self.assertEqual(len(checker.terms_disordered([*tells, (4.0, 'b', 'leader', 1)], [1, 2])), 1)
        self.assertEqual(len(checker.terms_disordered(tells, [1, 2, 1])), 1)


class Proxy(unittest.TestCase):
    def setUp(self):
        self.server = socket.create_server(('127.0.0.1', 0))
        self.proxy = cut_proxy.CutProxy(('127.0.0.1', 0), self.server.getsockname())
        self.proxy.start()

    def tearDown(self):
        self.proxy.end()
        self.server.close()

    def links(self):
        client = socket.create_connection(('127.0.0.1', self.proxy.port), 20)
        server = self.server.accept()[0]
        server.settimeout(20)
        return client, server

    @staticmethod
    def all_of(link):
        data = b''
        try:
            while True:
                piece = link.recv(100)
                if not piece:
                    return data
                data += piece
        except ConnectionError:
            return data

    def cut(self, direction, n_bytes):
        self.proxy.cut_after('127.0.0.1', direction, n_bytes)
        client, server = self.links()
        talker, listener = (client, server) if direction == cut_proxy.TO_SERVER else (server, client)
        heard = []
        reader = threading.Thread(target=lambda: heard.append(self.all_of(listener)))
        reader.start()
        talker.sendall(b'0123456789')
        reader.join(20)
        self.assertTrue(self.proxy.was_cut.wait(20))
        for link in (client, server):
            link.close()
        return heard[0]

    def test_it_cuts_either_way(self):
        # a reset may overtake what was sent before it
        for direction in (cut_proxy.TO_SERVER, cut_proxy.TO_CLIENT):
            for n_bytes in (0, 4, 9):
                self.assertIn(self.cut(direction, n_bytes), (b'0123456789'[:n_bytes], b''))

    def test_it_passes_on_what_is_of_others(self):
        self.proxy.cut_after('10.0.0.1', cut_proxy.TO_SERVER, 0)
        client, server = self.links()
        client.sendall(b'hello')
        self.assertEqual(server.recv(10), b'hello')
        server.sendall(b'there')
        self.assertEqual(client.recv(10), b'there')
        for link in (client, server):
            link.close()


unittest.main()
