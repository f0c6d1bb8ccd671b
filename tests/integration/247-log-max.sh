#!/usr/bin/env bash
# A program writes far more than the node keeps of it: the disk holds the newest part, the program does not notice, who follows
# misses no line, and who comes later is told what is missing. Logs of processes that have ended are bounded together.
# Takes 17 s: a program writes 16 MiB in a hundred pieces, 40 ms apart, and logs are cut each 2 s
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
. "$EDL_SOURCE_DIR/tests/lib/state_sql.sh"
cluster_start --nodes 1
edl node cordon node-1
EDL_DEV_TEST=$work edl-agent --node small --scheduler "$EDL_SERVER" --join-token-file "$work/state/scheduler/join-token" \
    --state-dir "$work/small" --conf '' --runtime direct --no-foreign --heartbeat 200ms --stop-processes-on-exit \
    --log-max 1Mi --old-logs-max 2Mi $([ "$(id -u)" != 0 ] || echo --allow-root) >"$work/small.log" 2>&1 &
agent=$!
# shellcheck disable=SC2154
trap 'status=$?; set +e; kill "$agent" 2>/dev/null; (exit $status); on_exit' EXIT
is_there() { api GET /nodes/small | holds '.state == "ready"'; }
await 120 'the node is there' is_there

# 100 pieces of 160 KiB, one each 40 ms: 16 MiB; in the middle and at the end it waits to be told
mkfifo "$work/gate"
cat >"$work/talk.sh" <<'END'
n=0
for piece in {1..100}; do
    seq -f 'line %06.0f of a program that talks' $((n * 4096 + 1)) $(((n + 1) * 4096))
    n=$((n + 1))
    read -r -t 0.04 <> <(:)
    [ $piece != 50 ] || read -r <"$1"
done
echo 'and that was all'
read -r <"$1"
END
edl submit --name talk -- bash "$work/talk.sh" "$work/gate" >/dev/null
await 120 'it runs' job_is talk running
log=$(find "$work/small/logs" -name 'trainer-0.*.log')
wrote() { [ "$(stat -c %s "$log")" -ge "$1" ]; }
await 120 'it wrote more than the scheduler keeps' wrote $((1 << 19))
# what follows asks an agent that stands still, and cuts all of that when it goes on: it is told, and the rest is followed
kill -STOP "$agent"
edl logs talk -f >"$work/followed" &
follower=$!
await 120 'it wrote twice what is kept' wrote $((2 << 20))
kill -CONT "$agent"
await 300 'it wrote half' wrote $((50 * 4096 * 36))
is_short() { [ "$(du -k "$log" | cut -f1)" -le 1100 ] || grep -q 'cannot give back' "$work/small.log"; }
await 120 'half a log is within its bound' is_short
echo >"$work/gate"
wrote_all() { tail -c 100 "$log" | grep -q 'that was all'; }
await 300 'it wrote all' wrote_all
[ "$(stat -c %s "$log")" -gt 14000000 ] || fail "it wrote $(stat -c %s "$log") bytes only"
if grep -q 'cannot give back' "$work/small.log"; then
    echo 'the file system of this folder has no holes'
    kill "$agent" "$follower"
    exit 77
fi
await 120 'the log is within its bound' is_short

# while it lives: the end, and a line that says what is missing
late() { edl logs talk >"$work/late" && [ "$(tail -n 1 "$work/late")" = '[trainer-0] and that was all' ]; }
await 120 'its end, as far as the scheduler has heard it' late
head -n 1 "$work/late" | grep -Eq '^\[trainer-0\] \[edl: bytes 0 to [0-9,]* of trainer-0 are gone: node small keeps the newest \(log-max\)\]$' || fail "no word of what is missing: $(head -n 3 "$work/late")"
exact() { # FILE: the bytes that it says are missing end where its first line begins
    local said first
    said=$(sed -n '1s/.* to \([0-9,]*\) of.*/\1/p' "$1" | tr -d ,)
    first=$(sed -n '2s/.*line 0*\([0-9]*\) of.*/\1/p' "$1")
    [ $((said + 1)) = $(((first - 1) * 36)) ] || fail "bytes to $said are gone, and line $first follows"
}
exact "$work/late"
priority=0
kept() { # by the scheduler, in case the machine dies; with the next commit
    edl scale talk --priority $((priority += 1)) >/dev/null
    [ "$(state_sql "SELECT count(*) FROM log_tail WHERE text LIKE '%missing here%' AND text LIKE '%that was all%'")" = 1 ]
}
await 300 'what is kept of it says so too' kept

# who followed has every line from the first one seen to the last, in order, or a word where some are missing
echo >"$work/gate"
edl wait talk --timeout 120 || fail "$(job_field talk .reason)"
wait $follower
[ "$(tail -n 1 "$work/followed")" = '[trainer-0] and that was all' ] || fail "the end: $(tail -n 1 "$work/followed")"
awk '/ are gone: node / { told = 1; cut = ""; next }
    cut { exit }
    / line / { for (i = 1; i <= NF; i++) if ($i == "line") n = $(i + 1) + 0
        if (last && n != last + 1 && !told) { cut = "after " last " comes " n; next } last = n; told = 0; lines++ } # what is gone may begin in a line
    END { if (cut) print cut; if (lines < 1000) print lines " lines only"; exit cut != "" || lines < 1000 }' "$work/followed" || fail 'lines are missing without a word'

# after its end
ended() { api GET /jobs/talk/logs | holds .end; }
await 120 'its end is here' ended
edl logs talk >"$work/after"
exact "$work/after"
grep -q 'that was all' "$work/after" || fail 'the end is not there after the end'

# logs of processes that have ended: 2 MiB together, the newest
for i in 1 2 3 4; do
    edl submit --name "old-$i" -- sh -c "head -c 900000 /dev/zero | tr '\\0' $i; echo" >/dev/null
    edl wait "old-$i" --timeout 120
done
old_within() { [ "$(du -sk "$work/small/logs" | cut -f1)" -le 2200 ]; }
await 120 'old logs are within their bound' old_within
edl logs old-4 | grep -q 4444 || fail 'the newest is gone'
kill "$agent"
wait "$agent" || true
cluster_stop
