#!/usr/bin/env bash
# People ask more than a scheduler can answer: one has 9,000 jobs that wait and asks over 165 connections what another one would
# do, somebody else reads whatever is long over 40. No node loses its lease of 10 s, reports are read within a quarter
# of it, and who asks for little is answered meanwhile.
# Takes 22 s: asks over 205 connections, for long enough to measure answers
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
seconds=${EDL_FAIR_SECONDS:-12}

begin scheduler policy edl-scheduler --conf '' --state-dir "$work/state" --listen 127.0.0.1:0 --lease 10s
address=$(cat "$work/state/address")
export EDL_SERVER=http://$address EDL_TOKEN_FILE=$work/state/admin-token
for node in n1 n2; do
    begin $node "joined as $node" edl-agent --conf '' --node $node --scheduler "$EDL_SERVER" --join-token-file "$work/state/join-token" \
        --state-dir "$work/$node" --runtime direct --allow-root --no-foreign --address 127.0.0.1
done
edl user add bob --role user
edl user add eve --role viewer
edl user add ann --role operator
for name in bob eve ann; do edl token create --user $name --ttl 1h >"$work/$name" 2>"$work/err"; done

call() { # USER PATH [CURL ARGUMENTS...]
    local user=$1 path=$2
    shift 2
    curl -sS --fail --max-time 30 -H "Authorization: Bearer $(cat "$work/$user")" "$@" "$EDL_SERVER$path"
}
figure() { # NAME: with its labels
    call eve /metrics | awk -v name="$1" '$1 == name { print $2 }'
}
job_state() { call ann "/jobs/$1" | jq -r .state; }

call ann /jobs -d '{"metadata":{"name":"stays"},"spec":{"trainer":{"entrypoint":"exec sleep 1000","min-instance":1}}}' >"$work/answer"
await 120 'a job of an operator runs' job_is stays running
for n in $(seq 0 8); do # they wait: nothing here has as many cores
    call bob /jobs -d "{\"metadata\":{\"name\":\"waits-$n\"},\"spec\":{\"array\":\"0-999\",\"trainer\":{\"entrypoint\":\"true\",\"min-instance\":1,\"resources\":{\"requests\":{\"cpu\":\"1000\"}}}}}" \
        >"$work/answer"
done
[ "$(figure 'edl_jobs{state="queued"}')" = 9000 ] || fail 'there are no 9,000 jobs that wait'

printf '{"metadata":{"name":"dry"},"spec":{"trainer":{"entrypoint":"true","min-instance":1}}}' >"$work/dry.json"
"$python" "$EDL_SOURCE_DIR/tests/lib/crowd.py" --until 200 --body "$work/dry.json" "$address" "$work/bob" 165 "$seconds" POST '/jobs?dry_run=1' >"$work/asks" &
asks=$!
"$python" "$EDL_SOURCE_DIR/tests/lib/crowd.py" "$address" "$work/eve" 40 "$seconds" GET '/jobs?limit=1000' /cluster /usage '/events?limit=1000' \
    /metrics /jobs/37/why >"$work/reads" &
reads=$!
longest=0 looks=0
while kill -0 $asks 2>"$work/err"; do
    before=$(date +%s%N)
    call ann /jobs/stays >"$work/answer"
    took=$((($(date +%s%N) - before) / 1000000))
    longest=$((took > longest ? took : longest))
    looks=$((looks + 1))
done
wait $asks $reads
echo "dry runs: $(cat "$work/asks")"
echo "reads: $(cat "$work/reads")"
waited=$(figure 'edl_http_longest_wait_seconds{caller="node"}')
lost=$(figure edl_nodes_lost_total)
echo "reports waited ${waited:-for ever} s at most, $lost leases ended; an operator was answered $looks times, within $longest ms"
[ "$lost" = 0 ] || fail 'a lease ended'
job_is stays running || fail "the job of an operator is $(call ann /jobs/stays | jq -r .state)"
awk -v waited="${waited:-99}" 'BEGIN { exit !(waited < 2.5) }' || fail "a report waited $waited s"
[ "$longest" -lt 20000 ] || fail "who asks for little waited $longest ms"
[ "$(jq '.statuses["200"] // 0' "$work/asks")" -gt 0 ] || fail 'no dry run was answered'
[ "$(jq '.statuses["200"] // 0' "$work/reads")" -gt 0 ] || fail 'nothing was read'
echo "fair: all good"
