#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""answers.py PATTERN ANSWER [PATTERN ANSWER]... -- COMMAND...: runs the command at a terminal of its own, and types each answer once the
terminal says its pattern. What it says is printed; the exit status is the command's, 97 when a pattern did not come in 120 s."""
import os
import pty
import re
import select
import sys

cut = sys.argv.index("--")
words, command = sys.argv[1:cut], sys.argv[cut + 1:]
steps = list(zip(words[::2], words[1::2]))
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(command[0], command)
seen = b""
while True:
    if not select.select([terminal], [], [], 120)[0]:
        sys.stdout.write("answers.py: it does not say: %s\n" % (steps[0][0] if steps else "its end"))
        os.kill(pid, 9)
        sys.exit(97)
    try:
        piece = os.read(terminal, 65536)
    except OSError:
        break
    if not piece:
        break
    sys.stdout.write(piece.decode(errors="replace"))
    sys.stdout.flush()
    seen += piece
    if steps:
        found = re.search(steps[0][0].encode(), seen)
        if found:
            seen = seen[found.end():]
            os.write(terminal, steps.pop(0)[1].encode() + b"\n")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
