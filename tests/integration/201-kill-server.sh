#!/usr/bin/env bash
# kill -9 of parameter servers while a job trains. Before the first checkpoint: the trainers' values come back, and the cost stays where
# it was. Behind one: the server goes on from it, and the job says how many updates are lost. The submission told of both.
# Runs at night, and for trainer/ scheduler/core/model/: it trains two jobs
# Takes 20 s: two jobs train one after the other, and a server of each is killed
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 2
small_corpus 60 2500

# event_text JOB NAME: of the newest such event of the job
event_text() {
    api GET '/events?after=0&limit=1000' | jq -r --arg name "$2" --argjson id "$(job_field "$1" .id)" \
        '[.events[] | select(.event == $name and .job_id == $id) | .text] | last // ""'
}
recovered() { event_text "$1" server-recovered | grep -q "$2"; }

flags='--learning-rate 0.05 --dropout 0 --batch 16'
hold_at kept 20000 200 # small files have smaller chunks
training_job kept 2 2 1000000 "$flags" | sed 's|^  grace|  checkpoint: {period: 30m}\n  grace|' >"$work/job.yaml"
edl submit "$work/job.yaml" >"$work/said" 2>&1 || fail "submit: $(cat "$work/said")"
grep -q 'note: parameter servers keep checkpoints on their own nodes.*checkpoint: {path: DIR}' "$work/said" || fail "submit says: $(cat "$work/said")"
await 120 'it trains' records_at_least kept 9300
victim=$(pids kept pserver 1)
kill -9 "$victim"
let_go kept
await 120 'the event' while_job kept recovered kept '^pserver-1 is back without its checkpoint, with the values that trainers had: [0-9]* of [0-9]* updates are lost, [0-9]* of [0-9]* rows have start values, '
n=$(job_field kept .records_total)
await 120 'training went on' records_at_least kept "$((n + 4600))"
edl kill kept >/dev/null
await 120 'it is killed' job_is kept killed
edl show kept | grep -q '^lost  *[0-9]* of [0-9]* updates' || fail "edl show: $(edl show kept)"
# before: of the passes that were over by then; after: of all that were trained since
worst=$(edl logs kept | sed -n 's/.*Pass \([0-9]*\) done here: .*mean Cost \([0-9.]*\),.*/\1 \2/p' | awk '$1 == 3 { before = $2 > before ? $2 : before } $1 > 4 { after = $2 > after ? $2 : after } END { print before, after; exit !(before > 0 && after > 0 && after < before + 0.15) }') ||
    fail "the highest costs of pass 3, and of those behind 4: $worst"

training_job saved 1 1 1000000 "$flags" | sed "s|^  grace|  checkpoint: {period: 100ms, path: $work/checkpoints}\n  grace|" >"$work/job.yaml"
mkdir -p "$work/checkpoints"
edl submit "$work/job.yaml" >"$work/said" 2>&1 || fail "submit: $(cat "$work/said")"
grep -q 'parameter servers' "$work/said" && fail "submit says: $(cat "$work/said")"
await 120 'it trains' records_at_least saved 1000
await 120 'a checkpoint' while_job saved test -e "$work/checkpoints/saved-$(job_field saved .id)/pserver-0.ckpt"
victim=$(pids saved pserver 0)
kill -9 "$victim"
await 120 'the event' while_job saved recovered saved '^pserver-0 is back with its checkpoint: [0-9]* of [0-9]* updates are lost$'
[ "$(api GET /metrics | sed -n 's/^edl_updates_lost_total //p')" = "$(("$(job_field saved .updates_lost)" + "$(job_field kept .updates_lost)"))" ] || fail "metrics: $(api GET /metrics | grep updates)"
edl kill saved >/dev/null
await 120 'it is killed' job_is saved killed
cluster_stop
