#!/usr/bin/env bash
# `edl doctor`: on a node that is well, and on such as are broken in one way each; it changes nothing anywhere.
# In a network namespace: 10.77.0.1 is not loopback.
# Takes 5 s: edl doctor looks at a machine some 16 times, and two schedulers and an agent begin
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/namespace.sh"
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
trap 'status=$?; set +e; umount -l "$work/small" 2>/dev/null; (exit $status); on_exit' EXIT
doctor() { # STATUS ARGUMENT...: into $work/out
    local wanted=$1 status=0
    shift
    edl doctor --conf '' "$@" >"$work/out" 2>&1 || status=$?
    [ "$status" = "$wanted" ] || fail "exit status $status, not $wanted: edl doctor $*"
}
says() { grep -q -e "$1" "$work/out" || fail "no line says: $1"; }

edl-scheduler --state-dir "$work/state" --listen 10.77.0.1:0 2>"$work/scheduler.log" &
pids=$!
await 120 'the scheduler listens' while_runs "$pids" test -s "$work/state/address"
server=$(cat "$work/state/address")
export EDL_CA=$work/state/ca.pem EDL_TOKEN_FILE=$work/state/admin-token EDL_SERVER=$server

# a machine that has not joined: a warning and what to type
doctor 0 --state-dir "$work/none/at/all"
says '^warning  membership: .*edl node add'
[ ! -e "$work/none" ] || fail 'a folder was made'

# one that has
line=$(edl node add --foreground n1 2>/dev/null)
# shellcheck disable=SC2086
$line --state-dir "$work/n1" --runtime direct --allow-root --no-foreign 2>"$work/agent.log" &
agent=$!
pids="$pids $agent"
await 120 'it has joined' while_runs "$agent" grep -q 'joined as n1' "$work/agent.log"
find "$work/n1" -printf '%p %T@ %m\n' | sort >"$work/before"
doctor 0 --state-dir "$work/n1"
for check in 'membership: joined as n1' 'authority: .*pin sha256:' "scheduler's name" 'connection' 'tls' 'answer' 'version' \
    'credential: the scheduler knows it' 'clock offset' 'pidfd' 'state folder' 'agent.conf' 'ulimits'; do
    says "^ok       $check"
done
! grep -qvE '^(ok     |warning|problem) +[^:]*: ' "$work/out" || fail 'not every check is one line'
edl doctor --conf '' --json --state-dir "$work/n1" >"$work/out"
holds '.problems == 0 and (.checks | length) > 15 and all(.checks[]; (.verdict == "ok") or (.verdict == "warning"))' \
    <"$work/out" || fail 'the JSON is wrong'

# the agent need not run
kill "$agent"
wait "$agent" || true
find "$work/n1" -printf '%p %T@ %m\n' | grep -v -e /lease -e /socket -e /processes | sort >"$work/resting"
doctor 0 --state-dir "$work/n1"
find "$work/n1" -printf '%p %T@ %m\n' | grep -v -e /lease -e /socket -e /processes | sort | cmp - "$work/resting" || fail 'something was changed'

# another authority: told at the handshake, and no credential is sent
cp -r "$work/n1" "$work/wrong"
edl-scheduler --state-dir "$work/other" --listen 10.77.0.1:0 2>"$work/other.log" &
pids="$pids $!"
await 120 'another scheduler listens' test -s "$work/other/address"
cp "$work/other/ca.pem" "$work/wrong/ca.pem"
doctor 1 --state-dir "$work/wrong"
says '^problem  tls: .*not signed by the authority.*pin'
! grep -q '^[a-z]* *credential' "$work/out" || fail 'it went on behind a wrong certificate'
echo nonsense >"$work/wrong/ca.pem"
doctor 1 --state-dir "$work/wrong"
says '^problem  authority: '

# nobody there; no such name; something that is no scheduler
doctor 1 --state-dir "$work/n1" --scheduler https://10.77.0.2:7010
says '^problem  connection: .*systemctl status'
doctor 1 --state-dir "$work/n1" --scheduler https://no-such-host.invalid:7010
says "^problem  scheduler's name: .*getent hosts"

# a credential that is refused
edl node drain n1 >/dev/null
edl node remove n1 >/dev/null
doctor 1 --state-dir "$work/n1"
says '^problem  credential: the scheduler refuses it (401).*edl node add n1'

# clocks: a server whose Date is an hour late, and three seconds
"$python" - "$work" "$(edl-agent --version | cut -d' ' -f2)" <<'END' &
import http.server, email.utils, json, sys, time
class Late(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({'version': sys.argv[2]} if self.path == '/version' else {}).encode()
        self.send_response_only(200)
        self.send_header('Date', email.utils.formatdate(time.time() - float(open(sys.argv[1] + '/late').read()), usegmt=True))
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args): pass
server = http.server.HTTPServer(('127.0.0.1', 0), Late)
open(sys.argv[1] + '/port.new', 'w').write(str(server.server_port))
import os; os.rename(sys.argv[1] + '/port.new', sys.argv[1] + '/port')
server.serve_forever()
END
pids="$pids $!"
await 120 'a fake scheduler listens' test -s "$work/port"
echo 3600 >"$work/late"
doctor 1 --state-dir "$work/none" --scheduler "http://127.0.0.1:$(cat "$work/port")"
says '^problem  clock offset: this clock is 3[56][0-9][0-9] s ahead of the scheduler.s.*timedatectl'
echo 10 >"$work/late"
doctor 0 --state-dir "$work/none" --scheduler "http://127.0.0.1:$(cat "$work/port")"
says '^warning  clock offset: this clock is [0-9]* s ahead of'
says '^ok       version: '

# a disk that is too small
mkdir "$work/small"
if mount -t tmpfs -o size=8m,mode=700 none "$work/small" 2>/dev/null; then
    doctor 1 --state-dir "$work/small"
    says '^problem  state folder: .*only [78] MiB of 8 MiB.*larger disk'
    umount "$work/small"
fi

# a folder that others may write to, agent.conf that is wrong, GPUs whose driver does not work, no prober
mkdir -m 777 "$work/open"
doctor 1 --state-dir "$work/open"
says '^problem  state folder: others may write'
printf 'alow-user: ann\n' >"$work/agent.conf"
doctor 1 --conf "$work/agent.conf" --state-dir "$work/none"
says '^problem  agent.conf: .*allow-user'
printf 'gpu 00000000:03:00.0 GPU-a 100 0 0\n' >"$work/gpus"
export EDL_NVML_LIBRARY=$EDL_BUILD_DIR/tests/lib/libnvidia-ml.so.1 EDL_TEST_NVML=$work/gpus
if [ -e "$EDL_NVML_LIBRARY" ]; then
    doctor 0 --state-dir "$work/none"
    says '^ok       gpus: 1, driver 535.129.03, NVML 12.535.129.03'
    echo broken >"$work/gpus"
    doctor 1 --state-dir "$work/none"
    says '^problem  gpus: GPUs are not seen: NVML cannot start: Unknown Error; try: nvidia-smi'
fi
mkdir "$work/bin"
cp "$EDL_BUILD_DIR/edl" "$EDL_BUILD_DIR/edl-doctor" "$work/bin"
PATH=$work/bin:$PATH doctor 1 --state-dir "$work/none"
says '^problem  gpus: edl-prober cannot be started: No such file'

# said wrongly
doctor 2 --no-such-option
echo 'doctor: all good'
