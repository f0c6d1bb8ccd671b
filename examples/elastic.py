#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A whole program that may grow, shrink and lose processes: it counts the bytes of files.

    edl submit --min 1 --max 4 -- python3 $PWD/elastic.py /data/part-*

Each file is a task. Each process takes tasks until there are none; the sums are in EDL_OUTPUT_DIR/counted, a line
per task that counts.
"""
import os
import signal
import sys

import edl


def main(files: "list[str]") -> None:
    # ends any wait at once; the task under way goes back, and somebody else takes it
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    if not edl.dataset_exists():
        edl.put_dataset("the files of the command line", [[edl.Chunk(path)] for path in files])
    for task in edl.tasks():
        with task:
            path = task.chunks[0].path
            with open(path, "rb") as file:
                n_bytes = sum(len(block) for block in iter(lambda: file.read(1 << 20), b""))
            if task.done():  # else somebody else has it by now
                line = f"{task.pass_number} {task.id} {path} {n_bytes}\n"
                with open(os.path.join(edl.me().output_dir, "counted"), "a", encoding="utf-8") as out:
                    out.write(line)
        edl.progress(task=task.id, bytes=n_bytes)
    if edl.elected():  # one of all processes comes here
        edl.model_saved("counted")


if __name__ == "__main__":
    main(sys.argv[1:])
