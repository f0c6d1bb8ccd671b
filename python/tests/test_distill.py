# SPDX-License-Identifier: Apache-2.0
"""edl.distill and edl.teach: frames and their enemies, readers with real teachers. The pure parts: test_distill_dispatch."""
import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
from typing import Any, Iterator, List, Optional
from unittest import mock

try:
    import numpy as np
except ImportError:
    raise unittest.SkipTest("there is no numpy (python3-numpy)") from None

import edl
import edl.teach
from edl.distill import DistillReader, NoAnswer, Refused, _wire
from edl.distill._teachers import read_address

DEADLINE_S = 120


def joined(parts: List[Any]) -> bytes:
    return b"".join(bytes(part) for part in parts)


class Frames(unittest.TestCase):
    def test_tensors_come_back(self) -> None:
        values = {"x": np.arange(24, dtype=np.float32).reshape(2, 3, 4), "größe": np.array([1, 2], np.int64), "none": np.empty((0, 5)),
                  "flags": np.array([True, False]), "column": np.arange(12).reshape(3, 4).T[:2]}
        found = _wire.read_tensors(joined(_wire.tensors(values)))
        self.assertEqual(list(found), list(values))
        for name, value in values.items():
            self.assertEqual(found[name].dtype, value.dtype)
            np.testing.assert_array_equal(found[name], value)
        with self.assertRaisesRegex(ValueError, "c has the type complex128"):
            _wire.tensors({"c": np.zeros(1, complex)})

    def test_shapes_that_numpy_has_not_are_refused(self) -> None:
        for shape in ((2**63, 0), (0, 2**64 - 1), (2**30, 2**30, 2**30, 0), (2**40,)):
            head = _wire.TENSOR.pack(1, 0, len(shape), 0) + b"".join(extent.to_bytes(8, "little") for extent in shape) + b"x"
            with self.assertRaises(_wire.BadFrame):
                _wire.read_tensors(b"\1" + b"\0" * 7 + head + b"\0" * (-len(head) % 8))

    def test_any_bytes_are_refused_or_read(self) -> None:
        draw = random.Random(5)
        whole = joined(_wire.tensors({"x": np.arange(6, dtype=np.int32).reshape(2, 3), "y": np.zeros(2)}))
        read = 0
        for _ in range(4000):
            bad = bytearray(whole[: draw.randrange(len(whole) + 1)] if draw.random() < 0.3 else whole)
            for _ in range(draw.randrange(4)):
                if bad:
                    bad[draw.randrange(len(bad))] = draw.choice((0, 1, 255, draw.randrange(256)))
            try:
                _wire.read_tensors(bytes(bad))
                read += 1
            except _wire.BadFrame:
                pass
            with contextlib.suppress(_wire.BadFrame):
                _wire.header(bytes(bad[:16]).ljust(16, b"\0"))
            with contextlib.suppress(_wire.BadFrame):
                _wire.read_welcome(bytes(bad))
        self.assertGreater(read, 100)  # what was changed may be a value
        huge = _wire.struct.pack("<I4xHBBI2Q", 1, 1, 0, 2, 0, 2**63, 2**63) + b"x" * 8
        with self.assertRaises(_wire.BadFrame):
            _wire.read_tensors(huge)

    def test_frames_are_those_of_c(self) -> None:
        """tests/unit/test_teacher_wire.c has the same bytes."""
        values = {"image": np.arange(6, dtype=np.float32).reshape(2, 3) / 4, "n": np.array([5, -6], np.int64),
                  "flag": np.array([True, False, True]), "none": np.empty((0, 4), np.int8)}
        task = _wire.frame(_wire.TASK, (258).to_bytes(8, "little"), *_wire.tensors(values))
        self.assertEqual(joined(task).hex(),
                         "45444c5401080000b00000000000000002010000000000000400000000000000050000020000000002000000000000000300000000000000"
                         "696d616765000000000000000000803e0000003f0000403f0000803f0000a03f010003010000000002000000000000006e00000000000000"
                         "0500000000000000faffffffffffffff04000801000000000300000000000000666c61670000000001000100000000000400060200000000"
                         "000000000000000004000000000000006e6f6e6500000000")
        student, teacher, secret = bytes(range(32)), bytes(range(32, 64)), bytes([7] * 32)
        self.assertEqual(joined(_wire.frame(_wire.HELLO, _wire.hello(student, "Zoë"))).hex(),
                         "45444c5401010000280000000000000000000000000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f5a6fc3ab")
        for key, role, expected in ((secret, "teacher", "15dbdeef00d15642db96402c8b70e8ff22e83f6a3ffaddeae0a09835f7d896e1"),
                                    (secret, "student", "3c466cba0b46d79bffa4129f27e206d4f76498d1a9fbf02320a15f74189d4ee7"),
                                    (b"", "teacher", "16f99246e058295ff7d48df83293997d96a7c60cf49173c583bbd464544b793d")):
            self.assertEqual(_wire.proof(key, role, student, teacher).hex(), expected)
        self.assertEqual(_wire.service_secret(secret).hex(), "17183fb8740ef716b04dbd429b0aab1838826bdea4ce54f77a62b27cf6386d19")

    def test_proofs(self) -> None:
        secret, nonces = b"s" * 32, (b"a" * 32, b"b" * 32)
        said = _wire.proof(secret, "teacher", *nonces)
        _wire.check_proof(secret, "teacher", *nonces, said)
        for wrong in ((b"t" * 32, "teacher", *nonces), (secret, "student", *nonces), (secret, "teacher", *reversed(nonces))):
            with self.assertRaises(_wire.BadProof):
                _wire.check_proof(*wrong, said)
        self.assertNotEqual(_wire.service_secret(secret), secret)


class Started:
    """A teacher in a process of its own."""

    def __init__(self, folder: str, port: int = 0, function: str = "double", **environment: str) -> None:
        self.port = port or free_port()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "edl.teach", f"taught:{function}", "--port", str(self.port), "--max-batch", "16"], cwd=folder,
            env={**os.environ, **environment}, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        assert "listening" in line, line
        self.rest: List[str] = []
        self._reader = threading.Thread(target=lambda: self.rest.extend(self.process.stderr or ()), daemon=True)
        self._reader.start()

    def end(self, how: int = signal.SIGTERM) -> int:
        self.process.send_signal(how)
        status = self.process.wait(DEADLINE_S)
        self._reader.join(DEADLINE_S)
        assert self.process.stderr is not None
        self.process.stderr.close()
        return status


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


TAUGHT = '''
import numpy as np

def double(fields):
    assert set(fields) <= {"x", "label"}, fields
    return {"p": fields["x"] * 2 + 1}

double.feeds = [{"name": "x", "type": "float32", "shape": []}]
double.fetches = ["p"]

def any_fields(fields):
    return {"p": fields["x"] * 2 + 1}

def raises(fields):
    raise RuntimeError("it is broken")

def no_number(fields):
    return {"p": fields["x"] * np.nan}

def too_few(fields):
    return {"p": fields["x"][:1]}
'''


def batches() -> Iterator[Any]:
    """24 of 8 samples and one of 2."""
    first = 0
    for batch in range(25):
        n = 8 if batch < 24 else 2
        yield [(np.float32(first + i), batch) for i in range(n)]
        first += n


class Readers(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        with open(os.path.join(self.folder.name, "taught.py"), "w", encoding="utf-8") as file:
            file.write(TAUGHT)
        self.started: List[Started] = []
        self.readers: List[DistillReader] = []
        self.addCleanup(self.end)
        silent = mock.patch("edl.distill._pump._say")
        self.said = silent.start()
        self.addCleanup(silent.stop)

    def end(self) -> None:
        for reader in self.readers:
            reader.close()
        for one in self.started:
            if one.process.poll() is None:
                one.end(signal.SIGKILL)

    def teacher(self, function: str = "double", port: int = 0, **environment: str) -> Started:
        one = Started(self.folder.name, port, function, **environment)
        self.started.append(one)
        return one

    def reader(self, *teachers: Started, predicts: Optional[List[str]] = None, ins: Optional[List[str]] = None) -> DistillReader:
        reader = DistillReader(ins or ["x", "label"], predicts or ["p"])
        reader.set_teacher_batch_size(4)
        reader.set_fixed_teacher([f"127.0.0.1:{one.port}" for one in teachers])
        self.readers.append(reader)
        return reader

    def check(self, out: List[Any]) -> None:
        self.assertEqual([len(batch) for batch in out], [8] * 24 + [2])
        samples = [sample for batch in out for sample in batch]
        self.assertEqual([float(x) for x, _label, _p in samples], list(range(194)))
        self.assertTrue(all(float(p) == 2 * float(x) + 1 for x, _label, p in samples))
        self.assertEqual([label for _x, label, _p in samples], [i for i in range(24) for _ in range(8)] + [24, 24])

    def test_names_of_models_are_shown(self) -> None:
        shown = edl.teach._shown("a\x1b[2J\n" + "ß" * 200)  # type: ignore[attr-defined]
        self.assertEqual(shown[:6], "a?[2J?")
        self.assertLessEqual(len(shown.encode()), 120)

    def still(self, teacher: Started) -> socket.socket:
        """A student that has all credit, and sends nothing."""
        one = socket.create_connection(("127.0.0.1", teacher.port))
        self.addCleanup(one.close)
        one.settimeout(DEADLINE_S)
        file = one.makefile("rb")
        self.addCleanup(file.close)
        nonce = os.urandom(32)

        def hear(kind: int) -> bytes:
            found, size = _wire.header(file.read(16))
            self.assertEqual(found, kind)
            return file.read(size)

        one.sendall(joined(_wire.frame(_wire.HELLO, _wire.hello(nonce, "still"))))
        other = hear(_wire.CHALLENGE)[:32]
        one.sendall(joined(_wire.frame(_wire.PROOF, _wire.proof(b"", "student", nonce, other))))
        hear(_wire.WELCOME)
        one.sendall(joined(_wire.frame(_wire.OFFER, (1000).to_bytes(4, "little"))))
        hear(_wire.CREDIT)
        return one

    def test_who_stands_still_holds_up_nobody(self) -> None:
        """Neither another student nor the end."""
        teacher = self.teacher()
        self.still(teacher)
        reader = self.reader(teacher)
        reader.set_sample_list_generator(batches)
        self.check(list(reader()))
        self.still(teacher)
        self.assertEqual(teacher.end(), 0)
        self.assertTrue(any("it has credit and sends no task" in line for line in teacher.rest), teacher.rest)

    def test_in_order_and_once_while_teachers_die(self) -> None:
        """49 tasks, 194 samples, 25 batches in order, 300 epochs; teachers are killed, stopped, and come."""
        draw = random.Random(7)
        teachers = [self.teacher() for _ in range(3)]
        reader = self.reader(*teachers)
        reader.set_sample_list_generator(batches)
        stopped: Optional[Started] = None
        for epoch in range(300):
            for i, batch in enumerate(reader()):
                if i == 0:
                    out = []
                out.append(batch)
                if i == 12 and stopped is not None:
                    stopped.process.send_signal(signal.SIGCONT)
                    stopped = None
                if i == 3 and epoch % 20 == 9:
                    which = draw.randrange(3)
                    teachers[which].end(draw.choice((signal.SIGKILL, signal.SIGTERM)))
                    teachers[which] = self.teacher(port=teachers[which].port)
                elif i == 3 and epoch % 20 == 19:
                    stopped = draw.choice(teachers)
                    stopped.process.send_signal(signal.SIGSTOP)
            self.check(out)
        self.assertEqual(reader._pump.profile["answers"], 300 * 49)  # type: ignore[union-attr]
        for one in teachers:
            self.assertEqual(one.end(), 0)

    def test_three_forms(self) -> None:
        teacher = self.teacher("any_fields")
        samples = [(np.full((2, 3), i, np.float32), i) for i in range(11)]
        reader = self.reader(teacher)
        out = list(reader.set_sample_generator(lambda: iter(samples))())
        self.assertEqual([label for _x, label, _p in out], list(range(11)))
        np.testing.assert_array_equal(out[10][2], np.full((2, 3), 21, np.float32))
        with self.assertRaisesRegex(ValueError, "set_sample_generator was called"):
            reader.set_batch_generator(lambda: iter(()))
        reader = self.reader(teacher)
        reader.set_batch_generator(lambda: iter([(np.arange(10.0), np.arange(10)), (np.arange(3.0), np.arange(3))]))
        out = list(reader())
        self.assertEqual([len(batch) for batch in out], [3, 3])
        np.testing.assert_array_equal(out[0][2], np.arange(10.0) * 2 + 1)
        np.testing.assert_array_equal(out[1][2], np.arange(3.0) * 2 + 1)
        reader = self.reader(teacher)
        reader.set_sample_generator(lambda: iter(()))
        self.assertEqual(list(reader()), [])

    def test_no_teacher_is_waited_for(self) -> None:
        port = free_port()
        reader = DistillReader(["x", "label"], ["p"])
        self.readers.append(reader)
        reader.set_teacher_batch_size(4)
        reader.set_fixed_teacher(f"127.0.0.1:{port}")
        reader.set_sample_list_generator(batches)
        waits = threading.Event()
        self.said.side_effect = lambda text: waits.set() if "waiting for one" in text else None
        out: List[Any] = []
        thread = threading.Thread(target=lambda: out.extend(reader()))
        thread.start()
        self.assertTrue(waits.wait(DEADLINE_S))
        only = self.teacher(port=port)
        thread.join(DEADLINE_S)
        self.check(out)
        # and in the midst of an epoch
        waits.clear()
        out = []
        for i, batch in enumerate(reader()):
            out.append(batch)
            if i == 5:
                only.end(signal.SIGKILL)
                comes = threading.Thread(target=lambda: (waits.wait(DEADLINE_S), self.teacher(port=port)))
                comes.start()
        comes.join(DEADLINE_S)
        self.assertTrue(waits.is_set())
        self.check(out)
        self.assertTrue(any("is there again" in call.args[0] for call in self.said.call_args_list))

    def fails(self, function: str, error: Any, words: str, **options: Any) -> None:
        reader = self.reader(self.teacher(function), **options)
        reader.set_sample_list_generator(batches)
        with self.assertRaisesRegex(error, words):
            list(reader())

    def test_what_is_wrong_is_named(self) -> None:
        self.fails("raises", NoAnswer, "RuntimeError: it is broken")
        self.fails("no_number", NoAnswer, "p of the model taught:no_number is NaN, of sample 0")
        self.fails("too_few", NoAnswer, r"gives p of the shape \(1,\), and was given")
        self.fails("double", Refused, r"has no q; it predicts p", predicts=["q"])
        self.fails("double", Refused, r"wants x, and ins of this reader are y, label", ins=["y", "label"])
        reader = self.reader(self.teacher())
        reader.set_sample_generator(lambda: iter([(np.arange(3, dtype=np.float32), 1)]))
        with self.assertRaisesRegex(NoAnswer, r"x has the shape \(3,\) for each sample, and this teacher wants \(\)"):
            list(reader())
        reader = self.reader(self.started[-1])
        reader.set_sample_generator(lambda: iter([(1.0,)]))
        with self.assertRaisesRegex(ValueError, "a sample has 1 fields, and ins are x, label"):
            list(reader())

    def test_a_generator_that_fails_and_one_that_is_left(self) -> None:
        teacher = self.teacher()
        reader = self.reader(teacher)

        def broken() -> Iterator[Any]:
            yield [(np.float32(1), 1)]
            raise KeyError("mine")

        reader.set_sample_list_generator(broken)
        with self.assertRaisesRegex(KeyError, "mine"):
            list(reader())
        reader = self.reader(teacher)
        reader.set_sample_list_generator(batches)
        for _batch in reader():
            break
        self.check(list(reader()))
        with self.assertRaisesRegex(ValueError, "an epoch of this reader is under way"):
            for _batch in reader():
                list(reader())

    def test_a_secret_is_proved(self) -> None:
        secrets = [os.path.join(self.folder.name, name) for name in ("right", "wrong")]
        for path, digit in zip(secrets, "ab"):
            with open(path, "w", encoding="ascii") as file:
                file.write(digit * 64)
        teacher = self.teacher(EDL_TEACHER_SECRET_FILE=secrets[0])
        heard = threading.Event()
        self.said.side_effect = lambda text: heard.set() if "does not know the secret" in text else None
        for path, knows in ((secrets[1], False), (secrets[0], True)):
            with mock.patch.dict(os.environ, EDL_TEACHER_SECRET_FILE=path):
                reader = self.reader(teacher)
                reader.set_sample_list_generator(batches)
                if knows:
                    self.check(list(reader()))
                else:
                    got: List[Any] = []

                    def read(epoch: Any = reader()) -> None:
                        with contextlib.suppress(RuntimeError):
                            got.extend(epoch)

                    thread = threading.Thread(target=read)
                    thread.start()
                    self.assertTrue(heard.wait(DEADLINE_S))
                    reader._pump.fail(RuntimeError("enough"))  # type: ignore[union-attr]
                    thread.join(DEADLINE_S)
                    self.assertEqual(got, [])

    def test_the_secret_is_asked_for_once(self) -> None:
        """To ask a scheduler that is away may take minutes, in which no other teacher is heard. One that does not know the service yet
        is asked again."""
        asked: List[str] = []

        def secret(_teachers: Any) -> bytes:
            asked.append("")
            if len(asked) == 1:
                raise edl.NotFound("nobody serves under that name", status=404)
            return b""

        teacher = self.teacher()
        reader = self.reader(teacher)
        reader.set_sample_list_generator(batches)
        with mock.patch("edl.distill._teachers.Fixed.secret", secret):
            self.check(list(reader()))
            self.assertEqual(teacher.end(), 0)
            self.teacher(port=teacher.port)
            self.check(list(reader()))
        self.assertEqual(len(asked), 2)

    def test_rubbish_harms_no_teacher(self) -> None:
        teacher = self.teacher()
        draw = random.Random(3)
        for _ in range(200):
            with socket.create_connection(("127.0.0.1", teacher.port)) as stranger:
                size = draw.choice((0, 1, 16, 100, 5000))
                with contextlib.suppress(OSError):
                    head = _wire.HEADER.pack(_wire.MAGIC, 1, draw.randrange(14), 0, size) if draw.random() < 0.7 else b""
                    stranger.sendall(head + draw.randbytes(size))
        reader = self.reader(teacher)
        reader.set_sample_list_generator(batches)
        self.check(list(reader()))
        self.assertEqual(teacher.end(), 0)

    def test_rubbish_harms_no_student(self) -> None:
        """A teacher that answers rubbish is dropped, and another one answers."""
        listening = socket.create_server(("127.0.0.1", 0))
        over = threading.Event()

        def rubbish() -> None:
            draw = random.Random(9)
            listening.settimeout(0.2)
            while not over.is_set():
                try:
                    connected, _address = listening.accept()
                except OSError:
                    continue
                with connected:
                    with contextlib.suppress(OSError):
                        connected.sendall(_wire.HEADER.pack(_wire.MAGIC, 1, draw.randrange(14), 0, 70) + os.urandom(70))

        thread = threading.Thread(target=rubbish)
        thread.start()
        good = self.teacher()
        reader = DistillReader(["x", "label"], ["p"])
        self.readers.append(reader)
        reader.set_teacher_batch_size(4)
        reader.set_fixed_teacher([f"127.0.0.1:{listening.getsockname()[1]}", f"127.0.0.1:{good.port}"])
        reader.set_sample_list_generator(batches)
        for _ in range(3):
            self.check(list(reader()))
        over.set()
        thread.join(DEADLINE_S)
        listening.close()


class Words(unittest.TestCase):
    def test_configuration(self) -> None:
        for bad in ("10.0.0.1", "10.0.0.1:", ":9292", "a:b", "a:70000"):
            with self.assertRaisesRegex(ValueError, "is no teacher: write HOST:PORT"):
                read_address(bad)
        self.assertEqual(read_address("[::1]:9292"), ("::1", 9292))
        for bad_names in (("x", ["p"]), ([], ["p"]), (["x", "x"], ["p"]), (["x"], [])):
            with self.assertRaises(ValueError):
                DistillReader(*bad_names)  # type: ignore[arg-type]
        reader = DistillReader(["x"], ["p"])
        for call, bad_value in ((reader.set_teacher_batch_size, 0), (reader.set_require_max_teacher, 0), (reader.set_fixed_teacher, "")):
            with self.assertRaises(ValueError):
                call(bad_value)  # type: ignore[operator]
        reader.set_sample_generator(lambda: iter(()))
        with mock.patch.dict(os.environ):
            for name in ("EDL_SOCKET", "EDL_TEACHER"):
                os.environ.pop(name, None)
            with self.assertRaisesRegex(ValueError, "no teacher is named"):
                list(reader())
            reader.set_dynamic_teacher("", "imagenet", 3)
            with self.assertRaisesRegex(ValueError, "the service imagenet is known in a cluster only"):
                list(reader())
            os.environ["PADDLE_DISTILL_BALANCE_SERVER"] = "10.0.0.1:7001"
            with self.assertRaisesRegex(ValueError, "PADDLE_DISTILL_SERVICE_NAME is not"):
                list(reader())
            os.environ.update(PADDLE_DISTILL_SERVICE_NAME="other", PADDLE_DISTILL_MAX_TEACHER="many")
            with self.assertRaisesRegex(ValueError, "the service other is known in a cluster only|MAX_TEACHER is 'many'"):
                list(reader())


if __name__ == "__main__":
    unittest.main()
