#!/usr/bin/env bash
# What a program writes is in its log and before its reader, whole and in order: also what it writes to /dev/stderr by that name,
# what a reader was too slow for, and, but for what is told, what a full disk had no room for.
# Takes 6 s: programs print 300,000 lines, also for a slow reader and into a full disk
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 1
mkfifo "$work/gate" "$work/go"
is_written() { [ "$(find "$work/state" -path "*/logs/$1/trainer-0.1.log" -printf %s)" = "$2" ]; }

# the names of a program's own output
cat >"$work/names.sh" <<'END'
for i in 1 2 3; do echo "epoch $i"; done
echo 'warning: lr is high' > /dev/stderr
echo 'epoch 4' | tee /dev/stderr
python3 -c 'open("/dev/stdout", "w").write("epoch 5\n")'
echo 'epoch 6'
END
printf '[trainer-0] %s\n' 'epoch 1' 'epoch 2' 'epoch 3' 'warning: lr is high' 'epoch 4' 'epoch 4' 'epoch 5' 'epoch 6' >"$work/expected"
edl submit --name names --follow -- bash "$work/names.sh" 2>"$work/notes" | grep '^\[trainer-0\]' >"$work/followed"
cmp "$work/expected" "$work/followed" || fail "followed: $(cat "$work/followed")"
edl logs names >"$work/after"
cmp "$work/expected" "$work/after" || fail "afterwards: $(cat "$work/after")"

# a reader that looks at nothing until all is written, which is far more than anything between keeps
seq -f 'line %06.0f of a program that prints' 200000 >"$work/lines"
sed 's/^/[trainer-0] /' "$work/lines" >"$work/expected"
edl submit --name many --follow -- sh -c "seq -f 'line %06.0f of a program that prints' 200000; read x <$work/gate" 2>"$work/notes" |
    { read -r <"$work/go"; grep '^\[trainer-0\]' >"$work/followed"; } &
reader=$!
await 120 'all is written' is_written 2 "$(stat -c %s "$work/lines")"
echo >"$work/go"
echo >"$work/gate"
wait $reader
cmp "$work/expected" "$work/followed" || fail "$(wc -l <"$work/followed") of 200000 lines: $(diff "$work/expected" "$work/followed" | head -n 5)"

# one whose job has ended meanwhile
edl submit --name gone --follow -- head -n 50000 "$work/lines" 2>"$work/notes" |
    { read -r <"$work/go"; grep '^\[trainer-0\]' >"$work/followed"; } &
reader=$!
await 120 'its job is over' job_is gone succeeded
echo >"$work/go"
wait $reader
head -n 50000 "$work/expected" | cmp - "$work/followed" || fail "$(wc -l <"$work/followed") of 50000 lines"

# a disk that shrinks to 1 MiB: the program prints on, and what is missing is told in its place
mkdir "$work/disk"
if ! unshare -m mount -t tmpfs none "$work/disk" 2>/dev/null; then
    cluster_stop
    echo 'no tmpfs can be mounted here: the full disk is left out'
    exit 77
fi
edl node cordon node-1
# shellcheck disable=SC2016
EDL_DEV_TEST=$work unshare -m bash -c 'mount -t tmpfs -o size=64m,mode=755 none "$1" && exec edl-agent --node small --scheduler "$EDL_SERVER" \
    --join-token-file "$2/state/scheduler/join-token" --state-dir "$1" --runtime-dir "$2/small-run" --output-dir "$2/output" --conf "" \
    --runtime direct --no-foreign --heartbeat 200ms --stop-processes-on-exit --allow-root' bash "$work/disk" "$work" >"$work/small.log" 2>&1 &
agent=$!
# shellcheck disable=SC2154
trap 'status=$?; set +e; kill "$agent" 2>/dev/null; wait "$agent"; (exit $status); on_exit' EXIT
is_there() { api GET /nodes/small | holds '.state == "ready"'; }
await 120 'the node is there' is_there
cat >"$work/print.py" <<'END'
import sys
gate = open(sys.argv[1] + "/gate")
gate.readline()
for i in range(50000):
    print("line %06d of a program that prints" % i)
open(sys.argv[1] + "/printed", "w").close()
gate.readline()
for i in range(50000, 50010):
    print("line %06d of a program that prints" % i)
END
edl submit --name full --env PYTHONUNBUFFERED= -- python3 "$work/print.py" "$work" >/dev/null
exec 8<>"$work/gate"
await 120 'it runs' job_is full running
disk() { nsenter -t $agent -m mount -o "remount,size=$1" "$work/disk"; }
disk 1m
echo >&8
await 120 'it has printed' while_job full test -e "$work/printed"
disk 64m
its_log() { nsenter -t $agent -m bash -c "cat $work/disk/logs/*/trainer-0.1.log"; }
is_told() { its_log | grep -q '^\[edl: output is missing here, [0-9]* lines of [0-9]* bytes: No space left on device\]$'; }
await 120 'the log tells what is missing' is_told
echo >&8
edl wait full --timeout 120 || fail "full: $(job_field full .reason)"
its_log >"$work/log"
awk '/^\[edl: / { missing += $6; next } /^line [0-9]* of a program that prints$/ { whole++; last = $2 }
    END { if (missing + whole != 50010 || last != 50009) { print missing " and " whole ", last " last; exit 1 } }' "$work/log" ||
    fail "the log has another number: $(tail -n 20 "$work/log")"
kill "$agent"
wait "$agent" || true
cluster_stop
