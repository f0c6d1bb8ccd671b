# SPDX-License-Identifier: Apache-2.0
"""JobServer and JobClient beside a command edl that answers from a file: pods, stages, calls, and what a pod is started with."""
import json
import os
import subprocess
import tempfile
import threading
import unittest
import urllib.error
import urllib.request
from unittest import mock

from edl.jobserver import _client, _command, _pods, _server

HOSTS = [
    {"host": "trainer-0", "index": 0, "incarnation": 1, "address": "10.0.0.7", "ports": [20000, 20001], "gpus": [2], "state": "running"},
    {"host": "trainer-2", "index": 2, "incarnation": 5, "address": "10.0.0.8", "ports": [], "gpus": [], "state": "preparing"},
    {"host": "trainer-1", "index": 1, "incarnation": 4, "address": "10.0.0.8", "ports": [20000], "gpus": [], "state": "stopping"},
]


class Pods(unittest.TestCase):
    def test_a_pod_is_an_incarnation_and_has_upstreams_words(self):
        self.assertEqual(_pods.pods_of(HOSTS), [
            {"pod_id": "pod_0_1", "running": "1", "addr": "10.0.0.7", "pod_port": "20000", "trainer_ports": ["20001"], "gpus": ["2"]},
            {"pod_id": "pod_2_5", "running": "0", "addr": "10.0.0.8", "pod_port": "", "trainer_ports": [], "gpus": []},
        ])

    def test_a_stage_ends_when_the_pods_are_others(self):
        stages = _pods.Stages("a_b", 7)
        two, one = _pods.pods_of(HOSTS), _pods.pods_of(HOSTS[:1])
        self.assertEqual([stages.flag(pods) for pods in (two, two, one, two)], ["a_b_7_1", "a_b_7_1", "a_b_7_2", "a_b_7_3"])

    def test_sizes(self):
        sizes = _pods.sizes(3, 1, 1)
        self.assertEqual([next(sizes) for _ in range(4)], [2, 3, 2, 3])
        self.assertEqual(next(_pods.sizes(2, 5, 1)), 1)


class Beside(unittest.TestCase):
    """A command edl that writes down its words and prints what it was given, or fails."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        with open(f"{self.folder}/edl", "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\necho "$@" >>{self.folder}/asked\n[ -f {self.folder}/answer ] && exec cat {self.folder}/answer\n'
                       "echo 'edl: there is no job' >&2; exit 1\n")
        os.chmod(f"{self.folder}/edl", 0o755)
        patch = mock.patch.dict(os.environ, {"PATH": f"{self.folder}:{os.environ['PATH']}"})
        patch.start()
        self.addCleanup(patch.stop)

    def answers(self, value):
        with open(f"{self.folder}/answer", "w", encoding="utf-8") as file:
            json.dump(value, file)

    def asked(self):
        with open(f"{self.folder}/asked", encoding="utf-8") as file:
            return file.read().splitlines()


class Server(Beside):
    def setUp(self):
        super().setUp()
        self.http = _server.listen(("127.0.0.1", 0), _server.JobServer("test_job_id_1234"))
        self.addCleanup(self.http.server_close)
        thread = threading.Thread(target=self.http.serve_forever, args=(0.01,))
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.http.shutdown)

    def call(self, path, body=None):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.http.server_address[1]}{path}", data=body) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    def test_query(self):
        status, answer = self.call("/rest/1.0/get/query_pods?job_id=test_job_id_1234")
        self.assertEqual((status, answer), (404, {"error": "edl: there is no job"}))
        self.answers({"hosts": HOSTS})
        status, answer = self.call("/rest/1.0/get/query_pods?job_id=test_job_id_1234")
        self.assertEqual((status, answer["job_id"], len(answer["pods"])), (200, "test_job_id_1234", 2))
        self.assertTrue(answer["job_stage_flag"].startswith("test_job_id_1234_"))
        for _ in range(20):  # many ask, edl is not asked for each
            self.assertEqual(self.call("/rest/1.0/get/query_pods")[1], answer)
        self.assertEqual(self.asked()[0], "hosts test-job-id-1234.trainer --json")
        self.assertLess(len(self.asked()), 10)

    def test_other_calls(self):
        self.assertEqual(self.call("/rest/1.0/post/job_runtime_static", b'{"estimated_run_time": 1}'), (200, {}))
        self.assertEqual(self.call("/rest/1.0/post/else", b"")[0], 404)
        self.assertEqual(self.call("/rest/1.0/post/job_runtime_static", b"x" * (_server.BODY_MAX + 1))[0], 400)
        self.assertEqual(self.call("/")[0], 404)
        self.assertEqual(self.call("/rest/1.0/get/query_pods?job_id=another")[0], 404)

    def test_a_change_scales_the_job(self):
        self.answers({})
        _server.JobServer("a_b").change(2)
        self.assertEqual(self.asked(), ["scale a-b 2 --role trainer"])

    def test_the_clients_variable_has_the_port(self):
        with mock.patch.dict(os.environ, {"PADDLE_JOBSERVER": "http://127.0.0.1:9999"}):
            self.assertEqual(_server.parse([]).port, 9999)
        self.assertEqual(_server.parse(["--node_ips", "10.0.0.1,10.0.0.2", "--pod_num_of_node", "2"]).pods, 4)


class Client(Beside):
    def pod(self, text, **more):
        """The lines that a program prints which a pod runs."""
        told = {"EDL_INDEX": "2", "EDL_INCARNATION": "5", "EDL_ADDRESS": "10.0.0.8", "EDL_PORTS": "20000,20001", "RANK": "1", "WORLD_SIZE": "3"}
        done = subprocess.run(["/bin/sh", "-c", text], env={"PATH": os.environ["PATH"], **told, **more}, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    def text(self, *words):
        return _client.text_of_command(_client.parse(list(words)), self.folder)

    def program(self, name, text):
        with open(f"{self.folder}/{name}", "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(f"{self.folder}/{name}", 0o755)

    def test_a_pod_is_prepared_and_told(self):
        os.mkdir(f"{self.folder}/a pod")
        self.program("package.sh", '#!/bin/sh\necho "prepared $1 $2"; mkdir -p "a pod/$2"; cp train.sh "a pod/$2"\n')
        self.program("train.sh", 'echo "$PWD $1 $PADDLE_POD_ID $PADDLE_CURRENT_ENDPOINT $PADDLE_TRAINER_PORTS ${RANK-none} ${PADDLE_TRAINER_ID-none}"\n')
        words = ["--package_sh", "./package.sh", "--pod_path", "a pod", "train.sh", "it's"]
        at = os.path.realpath(f"{self.folder}/a pod/pod_2_5")
        said = self.pod(self.text("--nodes_range", "1:3", *words))
        self.assertEqual(said, ["prepared -pod_id pod_2_5", f"{at} it's pod_2_5 10.0.0.8:20000 20001 none none"])
        self.assertEqual(self.pod(self.text("--nodes_range", "3:3", *words))[1].split()[-2:], ["1", "1"])

    def test_the_job(self):
        with mock.patch.dict(os.environ, {"PADDLE_EDL_IMAGENET_PATH": "/data", "PADDLE_EDL_FLEET_CHECKPOINT_PATH": "kept"}):
            job = _client.document(_client.parse(["--nodes_range", "1:3", "train.py"]), "/here")
        self.assertEqual((job["name"], job["checkpoint"]), ("test-job-id-1234", {"path": "/here/kept"}))
        self.assertEqual((job["roles"][0]["min"], job["roles"][0]["max"], job["roles"][0]["ports"]), (1, 3, 2))
        self.assertEqual(job["env"]["PADDLE_EDL_IMAGENET_PATH"], "/data")
        self.assertEqual(job["env"]["PADDLE_RUNING_ENV"], "PADDLE_EDL")
        self.assertEqual(job["env"]["PADDLE_EDLNODES_RANAGE"], "1:3")

    def test_refused_or_no_command(self):
        with mock.patch("sys.stderr"):
            self.assertEqual(_client.main(["train.py"]), 1)
        with mock.patch.dict(os.environ, {"PATH": "/nowhere"}):
            self.assertRaisesRegex(_command.CommandError, "edl-client", _command.command, "ps")


if __name__ == "__main__":
    unittest.main()
