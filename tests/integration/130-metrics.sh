#!/usr/bin/env bash
# What operators watch: /metrics follows a job through real processes, /readyz knows when the store is not there.
# Takes 21 s: asks some sixty times, and waits for other probers and for a job that grows, shrinks and ends
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 2

figure() { # SERIES: its value
    api GET /metrics | awk -v series="$1" 'substr($0, 1, length(series) + 1) == series " " { print $NF; found = 1 } END { exit !found }' ||
        fail "there is no $1"
}
figure_is() { # SERIES VALUE
    [ "$(figure "$1")" = "$2" ]
}
expect() { # SERIES VALUE
    figure_is "$1" "$2" || fail "$1 is $(figure "$1"), not $2"
}

# --- the form ---
api GET /metrics -D "$work/head" -o "$work/metrics"
grep -qi '^content-type: text/plain; version=0.0.4; charset=utf-8' "$work/head" || fail "$(cat "$work/head")"
bad=$(grep -vE -e '^# HELP [a-z_]+ .+$' -e '^# TYPE [a-z_]+ (gauge|counter|histogram)$' \
    -e '^[a-z_]+(\{[a-z]+="[^"\\]*"(,[a-z]+="[^"\\]*")*\})? [0-9]+(\.[0-9]+)?$' "$work/metrics" || true)
[ -z "$bad" ] || fail "not the format: $bad"
twice=$(grep -v '^#' "$work/metrics" | sed 's/ [^ ]*$//' | sort | uniq -d)
[ -z "$twice" ] || fail "series that come twice: $twice"
n_series=$(grep -vc '^#' "$work/metrics")
status=$(curl -sS -o "$work/answer" -w '%{http_code}' "$EDL_SERVER/metrics")
[ "$status" = 401 ] || fail "without a token: $status"

# --- the figures, before, during and after a job ---
await 120 'both nodes report' figure_is 'edl_nodes{state="ready"}' 2
expect 'edl_jobs{state="running"}' 0
expect edl_jobs_submitted_total 0
for series in edl_memory_available_bytes edl_disk_free_min_bytes 'edl_network_bytes_total{direction="receive"}' edl_load_average \
    'edl_pressure_max_ratio{resource="io"}'; do
    figure "$series" >"$work/value"
done
tells_memory() { differs "$(figure edl_memory_available_bytes)" 0; }
await 120 'a machine tells of its memory' tells_memory
differs "$(figure edl_disk_free_min_bytes)" 0 || fail 'no machine tells of its disks'
edl nodes --json | holds '.nodes | length == 2 and all(.machine.memory_available_bytes > 0 and (.machine.load_milli | length) == 3 and
    ([.machine.disks[].name] == ["state", "output"]) and all(.machine.disks[]; .size_bytes >= .free_bytes))' ||
    fail "$(edl nodes --json)"
edl nodes "$(edl nodes --json | jq -r '.nodes[0].name')" >"$work/one"
grep -q '^state ' "$work/one" || fail "$(cat "$work/one")"

# --- the prober dies: another one answers, and nothing else happens ---
probers() { pgrep -f -- "edl-prober $work/" | sort; }
two_others() { [ "$(probers | wc -l)" = 2 ] && [ "$(comm -12 <(echo "$pids") <(probers) | wc -l)" = 0 ]; }
told_since() { edl nodes --json | holds --argjson us "$1" 'all(.nodes[]; .last_report_us > $us and (.machine.disks | length) == 2)'; }
pids=$(probers)
[ "$(wc -w <<<"$pids")" = 2 ] || fail "two agents have not two probers: $pids"
# shellcheck disable=SC2086 # one word each
kill -9 $pids
await 120 'both agents have another one' two_others
await 120 'both tell of their disks again' told_since "$(($(date +%s%N) / 1000))"
cat >"$work/job.json" <<'JOB'
{"metadata":{"name":"watched"},"spec":{"fault_tolerant":true,"mode":"collective","trainer":{"min-instance":1,"max-instance":3,
 "command":["bash","-c","trap 'exit 0' TERM; while :; do read -t 60 <> <(:); done"],
 "resources":{"requests":{"cpu":"100m","memory":"16Mi"}}}}}
JOB
commits=$(figure edl_db_commit_seconds_count)
plans=$(figure edl_schedule_cycle_seconds_count)
edl submit "$work/job.json"
await 120 'it grows to three' at_least watched trainer 3
await 120 'it is settled' figure_is 'edl_jobs{state="running"}' 1
expect edl_jobs_submitted_total 1
expect 'edl_processes{state="running"}' 3
expect 'edl_process_starts_total{cause="new"}' 3
expect edl_queue_wait_seconds_count 1
expect edl_cpu_granted_cores 0.3
expect 'edl_http_requests_total{method="POST",route="/jobs",code="2xx"}' 1
[ "$(figure edl_db_commit_seconds_count)" -gt "$commits" ] || fail 'no commit was counted'
[ "$(figure edl_schedule_cycle_seconds_count)" -gt "$plans" ] || fail 'no plan was counted'
[ "$(figure edl_loop_busy_seconds_count)" -gt 0 ] || fail 'no pass of the loop was counted'
[ "$(figure 'edl_resizes_total{direction="grow",reason="grown"}')" -ge 1 ] || fail 'no growth was counted'
[ "$(figure 'edl_http_requests_total{method="GET",route="/metrics",code="4xx"}')" = 1 ] || fail 'the call without a token was not counted'
edl scale watched 1:1 >/dev/null
await 120 'two are gone' figure_is 'edl_process_ends_total{cause="stopped"}' 2
await 120 'they were measured' figure_is 'edl_resize_seconds_count{phase="stop"}' 2
edl kill watched
await 120 'it is killed' figure_is 'edl_jobs_ended_total{state="killed"}' 1
expect 'edl_jobs{state="running"}' 0
expect edl_cpu_granted_cores 0
api GET /metrics >"$work/metrics"
[ "$(grep -vc '^#' "$work/metrics")" = "$n_series" ] || fail 'the number of series grew'

# --- readiness: nobody is asked for a token ---
ready() {
    curl -sS -o "$work/answer" -D "$work/head" -w '%{http_code}' "$EDL_SERVER/readyz"
}
[ "$(ready)" = 200 ] || fail "not ready: $(cat "$work/answer")"
holds '.status == "ready"' <"$work/answer" || fail "$(cat "$work/answer")"
db=$(find "$work/state" -name edl.db)
mv "$db" "$db.aside"
[ "$(ready)" = 503 ] || fail 'ready without its database'
grep -qi '^content-type: application/problem+json' "$work/head" || fail "$(cat "$work/head")"
holds '.status == 503 and (.detail | startswith("not ready: ")) and (.remedy | length > 0)' <"$work/answer" ||
    fail "$(cat "$work/answer")"
[ "$(curl -sS -o /dev/null -w '%{http_code}' "$EDL_SERVER/healthz")" = 200 ] || fail 'healthz is about the process alone'
mv "$db.aside" "$db"
[ "$(ready)" = 200 ] || fail "not ready again: $(cat "$work/answer")"

# --- what a program leaves behind ---
expect edl_orphans_reaped_total 0
edl submit --name leaves -- bash -c '(setsid sleep 1000 &) ; exit 0'
edl wait leaves --timeout 120
expect edl_orphans_reaped_total 1

cluster_stop
