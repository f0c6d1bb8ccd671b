# SPDX-License-Identifier: Apache-2.0
"""A trial of a search: its values, and the metric that is kept with its job."""
import json
import os
import subprocess
import sys
import unittest
from typing import Any, Dict, List
from unittest import mock

import edl
from edl import _trial
from tests.test_edl import HEAD, Agent, says

TOLD = {"search": "s", "trial": 7, "rung": 1, "until": 9, "resource": "epoch", "metric": "accuracy",
        "parameters": {"lr": 0.01, "width": 64, "operator": "relu", "number": 3}}
NOTED = HEAD.format("204 No Content") + "\r\n"


def in_trial(told: Any = TOLD) -> Any:
    return mock.patch.dict(os.environ, {"EDL_TRIAL": json.dumps(told)})


class TrialTest(unittest.TestCase):
    def test_values_of_a_trial(self) -> None:
        with in_trial():
            trial = edl.trial(lr=1.0, dropout=0.5)
        self.assertEqual(dict(trial), {"lr": 0.01, "width": 64, "operator": "relu", "number": 3, "dropout": 0.5})
        self.assertEqual((trial.lr, trial["width"], trial.search, trial.rung, trial.until), (0.01, 64, "s", 1, 9))
        self.assertEqual((trial.number, trial["number"], trial.resource, trial.metric), (7, 3, "epoch", "accuracy"))
        with self.assertRaisesRegex(AttributeError, "no parameter 'depth'"):
            trial.depth

    def test_outside_of_a_search(self) -> None:
        trial = edl.trial(lr=1.0)
        self.assertEqual((trial.lr, trial.search, trial.until), (1.0, "", None))

    def test_what_is_no_trial(self) -> None:
        for text in ["[]", "{}", '{"parameters": 3}', "{"]:
            with mock.patch.dict(os.environ, {"EDL_TRIAL": text}), self.assertRaises(ValueError):
                edl.trial()

    def test_the_metric_is_kept_with_the_job(self) -> None:
        with in_trial(), Agent(NOTED, says({})) as agent:
            agent.client().progress({"epoch": 3, "accuracy": 0.5}, loss=2.0)
            self.assertEqual([call for call, _ in agent.asked], ["POST /processes/self/progress", "POST /jobs/self/metrics"])
            self.assertEqual(agent.asked[0][1], {"epoch": 3, "accuracy": 0.5, "loss": 2.0})
            self.assertEqual(agent.asked[1][1], {"epoch": 3, "accuracy": 0.5, "loss": 2.0, "_curve": [[3, 0.5]]})

    def test_the_last_figures_go_out_at_the_end(self) -> None:
        program = "import edl\nfor i in range(3): edl.progress(accuracy=i / 2)\n"
        with in_trial(), Agent(NOTED, says({}), NOTED, NOTED, says({})) as agent:
            slow = f"from edl import _trial\n_trial.TELL_EACH_S = 1e6\n{program}"
            subprocess.run([sys.executable, "-c", slow], check=True, timeout=300, env={**os.environ, "EDL_SOCKET": agent.path})
        kept = [body for call, body in agent.asked if call == "POST /jobs/self/metrics"]
        self.assertEqual(kept[1], {"accuracy": 1.0, "_curve": [[1, 0.0], [2, 0.5], [3, 1.0]]})

    def test_a_long_curve_has_few_points_over_all_its_length(self) -> None:
        kept: List[Dict[str, Any]] = []
        metric = _trial.Metric(TOLD, kept.append)
        with mock.patch.object(_trial, "TELL_EACH_S", 0.0):
            for i in range(1, 1001):
                metric.tell({"accuracy": i / 1000, "epoch": i})
        points = kept[-1]["_curve"]
        self.assertEqual(points[-1], [1000, 1.0])
        self.assertTrue(16 <= len(points) <= 65, len(points))
        self.assertEqual(points, sorted(points))
        self.assertTrue(points[0][0] <= 64)

    def test_the_best_value_of_a_long_way_is_kept(self) -> None:
        kept: List[Dict[str, Any]] = []
        metric = _trial.Metric(TOLD, kept.append)
        for i in range(1, 1001):
            metric.tell({"accuracy": 0.9 if i == 517 else 0.1 if i == 519 else 0.5, "epoch": i})
        metric.end()
        points = kept[-1]["_curve"]
        self.assertIn([517, 0.9], points)
        self.assertIn([519, 0.1], points)
        self.assertEqual(points, sorted(points))

    def test_outside_of_a_search_nothing_is_kept(self) -> None:
        with Agent(NOTED) as agent:
            agent.client().progress(accuracy=0.5)
            with self.assertRaisesRegex(ValueError, "loss is nan, and figures are finite"):
                agent.client().progress(accuracy=0.5, loss=float("nan"))


if __name__ == "__main__":
    unittest.main()
