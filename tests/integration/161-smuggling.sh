#!/usr/bin/env bash
# A head that two readers read differently is refused, and ends its connection: by the scheduler, and by the agent that takes a job's calls.
# Each hides a second request where a reader in between would see a body, or asks for more than it seems to. (All spellings: test_http_head.c)
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 1 --cpu 1000m

cat >"$work/smuggle.py" <<'END_OF_PROGRAM'
import os
import socket
import sys

NEXT = b"GET /jobs/self/hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
LENGTH = str(len(NEXT)).encode()
POST = b"POST /jobs HTTP/1.1\r\nHost: x\r\n"
CASES = [
    POST + b"Content-Length : " + LENGTH + b"\r\n\r\n" + NEXT,
    POST + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + NEXT,
    POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n" + NEXT,
    POST + b"Content-Length: " + LENGTH + b"\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + NEXT,
    POST + b"X: a\r\n Content-Length: " + LENGTH + b"\r\n\r\n" + NEXT,
    POST + b"X: a\nContent-Length: " + LENGTH + b"\r\n\r\n" + NEXT,
    b"GET /jobs/self HTTP/1.1\r\n\r\n" + NEXT,
    b"GET /jobs/self HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n" + NEXT,
    b"GET /jobs/self\0/hidden HTTP/1.1\r\nHost: x\r\n\r\n" + NEXT,
]


def ask(address, request):
    """every answer, until the other end closes the connection"""
    if address.startswith("/"):
        link = socket.socket(socket.AF_UNIX)
        link.settimeout(90)
        link.connect(address)
    else:
        host, port = address.rsplit(":", 1)
        link = socket.create_connection((host, int(port)), 90)
    link.sendall(request)
    answer = b""
    try:
        while piece := link.recv(65536):
            answer += piece
    except ConnectionResetError:
        pass  # what it had not read when it closed
    return answer


address, out = sys.argv[1:]
address = os.environ["EDL_SOCKET"] if address == "EDL_SOCKET" else address
with open(out + ".new", "w") as lines:
    for number, case in enumerate(CASES):
        answer = ask(address, case)
        good = answer.startswith(b"HTTP/1.1 400 ") and answer.count(b"\r\nX-Request-Id: ") == 1
        print(number, "refused" if good else answer, file=lines)
    plain = ask(address, b"GET /jobs/self/secret HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    print("plain", plain.split(b" ")[1].decode(), file=lines)
os.rename(out + ".new", out)
END_OF_PROGRAM

check() { # WHERE PLAIN: what a plain call is answered with
    [ "$(grep -c ' refused$' "$work/$1")" = 9 ] || fail "$1: $(cat "$work/$1")"
    grep -qx "plain $2" "$work/$1" || fail "$1 does not answer plain calls: $(cat "$work/$1")"
}

"$python" "$work/smuggle.py" "${EDL_SERVER#http://}" "$work/scheduler"
check scheduler 401
jq -n --arg python "$python" --arg file "$work/smuggle.py" --arg out "$work/agent" \
    '{name: "smuggles", roles: [{role: "trainer", min: 1, max: 1, cpu: "100m", command: [$python, $file, "EDL_SOCKET", $out]}]}' |
    edl submit - >/dev/null
await 120 'the job has asked' test -e "$work/agent"
check agent 200
cluster_stop
echo "smuggling: all good"
