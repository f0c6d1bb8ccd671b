#!/usr/bin/env bash
# All processes of a job are stopped for longer than a trainer waits for its servers (30 s): when they go on, nobody has lost
# patience. Nobody could answer meanwhile, and nobody could wait either.
# Takes 39 s: a job stands still for longer than a trainer's 30 s
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 2
small_corpus
hold_at train 60000
training_job train 2 2 6 '--reconnect-wait 3s' >"$work/job.yaml"
edl submit "$work/job.yaml"
await 120 'both train' at_least train trainer 2
await 120 'it trains' records_at_least train 1000
live() { api GET '/jobs/train/processes?state=live' | jq -c '[.processes[] | [.role, .index, .incarnation, .pid]] | sort'; }
before=$(live)
pids=$(jq -r '.[][3]' <<<"$before")
[ "$(wc -w <<<"$pids")" = 4 ] || fail "not two trainers and two servers: $before"
# shellcheck disable=SC2086
kill -STOP $pids
stopped_s=$(cut -d. -f1 /proc/uptime)
since() { [ $(($(cut -d. -f1 /proc/uptime) - stopped_s)) -ge 36 ]; }
await 120 'they have stood still for longer than they wait' since
# shellcheck disable=SC2086
kill -CONT $pids
let_go train
edl wait train --timeout 900 || fail "train: $(job_field train .reason)"
exact_counts train
ended=$(api GET '/jobs/train/processes?state=all' | jq -c '[.processes[] | [.role, .index, .incarnation, .pid]] | sort')
[ "$ended" = "$before" ] || fail "others took their places: $before; then $ended"
edl logs train >"$work/train.log"
lacks 'connecting again' <"$work/train.log" || fail "a trainer gave its servers up: $(grep 'connecting again' "$work/train.log")"
cluster_stop
