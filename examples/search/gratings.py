# SPDX-License-Identifier: Apache-2.0
"""One trial: edl-trainer trains the network of gratings.json with the values of the search, and each pass tells its error."""
import os
import re
import subprocess
import sys

import edl

here = os.path.dirname(os.path.abspath(__file__))
trial = edl.trial(depth=1, operator="square", width=32, rate=1e-3)
arguments = {"depth": trial.depth, "rate": trial.rate}
if trial.depth > 0:
    arguments.update({"width": trial.width, trial.operator: 1})
command = ["edl-trainer", "--local", f"--config={here}/gratings.json", f"--data={sys.argv[1]}", f"--num_passes={trial.until or 3:g}",
           "--config_args=" + ",".join(f"{name}={value}" for name, value in arguments.items())]
done = 0
with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as trainer:
    for line in trainer.stdout:
        print(line, end="", flush=True)
        found = re.match(r"Test samples=\d+ cost=(\S+) .*=(\S+)", line)
        if found:
            done += 1
            edl.progress({"pass": done, "cost": float(found[1]), "error": float(found[2])})
sys.exit(trainer.returncode)
