# SPDX-License-Identifier: Apache-2.0
"""note_records.py FOLDER PROGRAM WORD... - runs a program as it is, and notes which records it has consumed in which epoch.

FOLDER/seen-INDEX.INCARNATION: a line for each, "EPOCH RECORD", when the program asks for the next one. In a job, the
first process of index 1 stands still for good at its 11th record, when FOLDER/held is there; that of index 0 waits
before its first one until FOLDER/go, a pipe, is opened.
"""
import os
import runpy
import sys

import edl

folder, program = sys.argv[1:3]
index, incarnation = os.environ.get("EDL_INDEX", "alone"), os.environ.get("EDL_INCARNATION", "0")
noted = os.open(f"{folder}/seen-{index}.{incarnation}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
epochs, cloud_reader = edl.epochs, edl.cloud_reader
now = -1


def noted_epochs(n):
    global now
    for now in epochs(n):
        yield now


def stand_still():
    os.close(os.open(f"{folder}/held", os.O_WRONLY | os.O_CREAT, 0o666))
    with open(f"{folder}/never", "rb") as pipe:  # a pipe that nobody writes to
        pipe.read()


def noted_reader(*words, **more):
    for i, record in enumerate(cloud_reader(*words, **more)):
        if index == "1" and i == 10 and not os.path.exists(f"{folder}/held"):
            stand_still()
        if index == "0" and i == 0 and now == 0 and os.path.exists(f"{folder}/go"):
            with open(f"{folder}/go", "rb") as pipe:
                pipe.read()
        yield record
        os.write(noted, b"%d %s\n" % (now, record))


edl.epochs, edl.cloud_reader = noted_epochs, noted_reader
sys.argv = sys.argv[2:]
runpy.run_path(program, run_name="__main__")
