#!/usr/bin/env bash
# What a process asks that nobody will ever answer is refused at once, not tried again until its agent's patience ends: paths that are not
# there, calls that are people's, methods, queries.
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 1 --cpu 1000m

cat >"$work/wrong.py" <<'END_OF_PROGRAM'
import os
import socket
import sys
import time

CALLS = {
    "GET /jobs/self/nothing": 404,
    "POST /jobs/self/nothing/at/all": 404,
    "GET /services/nobody": 404,
    "POST /jobs/self/tasks": 405,
    "GET /jobs/self/logs": 403,
    "GET /jobs/self/events?after=0": 403,
    "GET /jobs/self/why": 403,
    "GET /jobs": 403,
    "GET /jobs/self/../../nodes": 403,
    "GET /jobs/self/hosts?nobody=knows": 400,
    "GET /jobs/self/tasks%zz": 400,
}


def ask(call):
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(90)
        link.connect(os.environ["EDL_SOCKET"])
        link.sendall((call + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").encode())
        answer = b"".join(iter(lambda: link.recv(65536), b""))
    return int(answer.split(b" ")[1])


out = sys.argv[1]
with open(out + ".new", "w") as lines:
    for call, wanted in CALLS.items():
        began = time.monotonic()
        status = ask(call)
        took = time.monotonic() - began
        print("good" if status == wanted and took < 30 else "bad", call, status, "%.1f s" % took, file=lines, flush=True)
os.rename(out + ".new", out)
END_OF_PROGRAM

jq -n --arg python "$python" --arg file "$work/wrong.py" --arg out "$work/answers" \
    '{name: "asks", roles: [{role: "trainer", min: 1, max: 1, cpu: "100m", command: [$python, $file, $out]}]}' | edl submit - >/dev/null
await 120 'it was answered' test -e "$work/answers"
cat "$work/answers"
! grep -q '^bad' "$work/answers" || fail 'some are not refused at once'
[ "$(grep -c '^good' "$work/answers")" = 11 ] || fail 'some were not asked'
cluster_stop
echo "wrong calls: all good"
