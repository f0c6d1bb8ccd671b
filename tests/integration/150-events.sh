#!/usr/bin/env bash
# Readers of the events while the scheduler is killed again and again and jobs come and go: each has the whole history,
# without a gap and without a repetition, and it is what the database holds.
# Takes 14 s: the scheduler is killed and started again five times
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 1

kill_scheduler() {
    local pid
    pid=$(pgrep -f -- "edl-scheduler .*$work" | head -n 1)
    [ -n "$pid" ] || fail 'scheduler not found'
    kill -9 "$pid"
}

submitted() { edl submit --name "$1" -- true >/dev/null 2>"$work/err"; }
submit() { # NAME: as soon as a scheduler answers
    await 120 'a scheduler takes a job' submitted "$1"
}

newest() {
    api GET '/events?limit=1' | jq .newest
}

mkfifo "$work/end" "$work/says"
database=$(find "$work/state" -name edl.db)
"$python" "$EDL_SOURCE_DIR/tests/lib/history_check.py" "${EDL_SERVER#http://}" "$EDL_TOKEN_FILE" "$database" 3 \
    <"$work/end" >"$work/says" &
checker=$!
exec 8>"$work/end" 9<"$work/says"
read -r -t 120 line <&9
[ "$line" = reading ] || fail "the readers did not start: $line"

for round in 1 2 3 4 5; do
    submit "early-$round"
    kill_scheduler
    submit "late-$round"
    edl kill "late-$round" >/dev/null 2>&1 || true # its end and the next kill may fall together
done
for round in 1 2 3 4 5; do
    edl wait "early-$round" --timeout 120 >/dev/null || fail "early-$round: $(job_field "early-$round" .reason)"
    edl wait "late-$round" --timeout 120 >/dev/null || true
done

last=$(newest)
echo "$last" >&8
submit wake # readers that were at the end wait for an event, some for the next sign of life of the stream, 15 s
cat <&9
wait "$checker" || fail 'a reader does not have the history'
edl wait wake --timeout 120 >/dev/null # nothing happens any more

# what is not there is said, and where to go on
gone=$(api GET "/events?after=$((last + 1000))")
[ "$(jq -r '.status, .after' <<<"$gone" | tr '\n' ' ')" = "410 $(newest) " ] || fail "a revision that is not there: $gone"
edl events --after "$((last + 1000))" 2>"$work/err" && fail 'edl events: no error for a revision that is not there'
grep -q "after=" "$work/err" || fail "edl events does not say where to go on: $(cat "$work/err")"
[ "$(edl events --json | wc -l)" -ge "$last" ] || fail 'edl events does not print them all'
cluster_stop
