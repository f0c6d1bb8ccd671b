#!/usr/bin/env bash
# Requests that are safe: one that is not understood changes nothing, one that is sent again has no second effect.
# Takes 9 s: some sixty calls are a program each, and the scheduler is killed twice
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 1

ask() { # STATUS METHOD PATH [curl arguments]: the answer's body is in $work/answer
    local wanted=$1 method=$2 path=$3 status
    shift 3
    status=$(api "$method" "$path" -o "$work/answer" -w '%{http_code}' "$@")
    [ "$status" = "$wanted" ] || fail "$method $path: status $status instead of $wanted: $(cat "$work/answer")"
}

document() { # NAME: a job that runs until it is stopped
    printf '{"metadata":{"name":"%s"},"spec":{"trainer":{"entrypoint":"exec sleep 1000","min-instance":1,"max-instance":1}}}' "$1"
}

says() { # WORD: in the last answer
    grep -qF -- "$1" "$work/answer" || fail "the answer does not say '$1': $(cat "$work/answer")"
}

jobs() { api GET '/jobs?state=all' | jq '.jobs | length'; }

# a query key that the call does not know: nothing is done, and the nearest one is told
ask 400 POST '/jobs?dryrun=1' --data-binary "$(document typo)"
says 'dryrun'
says 'did you mean \"dry_run\"?'
[ "$(jobs)" = 0 ] || fail 'a request with an unknown query key submitted a job'
ask 201 POST /jobs --data-binary "$(document stays)"
await 120 'it runs' job_is stays running
ask 400 DELETE '/jobs/stays?dry_run=1'
says 'DELETE /jobs/{job} does not know the query key \"dry_run\"'
ask 400 DELETE '/nodes/n1?force=1'
ask 400 GET '/jobs?stat=all'
says 'did you mean \"state\"?'
ask 200 GET '/jobs/stays'
job_is stays running || fail 'a job was stopped by a request that was refused'

# the same key: the same answer and one job, also after kill -9; another body: 422
keyed() { # STATUS KEY NAME
    ask "$1" POST /jobs -H "Idempotency-Key: $2" -D "$work/headers" --data-binary "$(document "$3")"
}
keyed 201 first-key once
cp "$work/answer" "$work/once"
if grep -qi '^Idempotent-Replayed' "$work/headers"; then fail 'the first answer says that it is not the first'; fi
pid=$(pgrep -f -- "edl-scheduler .*$work" | head -n 1)
[ -n "$pid" ] || fail 'scheduler not found'
kill -9 "$pid"
await 120 'the scheduler is back' job_is once running
keyed 201 first-key once
cmp "$work/once" "$work/answer" || fail 'the answer is not the same'
grep -qi '^Idempotent-Replayed: true' "$work/headers" || fail 'the answer does not say that it was given before'
grep -qi '^Location: /jobs/2' "$work/headers" || fail "a header is missing: $(cat "$work/headers")"
grep -qi '^ETag: "p0.1-1"' "$work/headers" || fail "a header is missing: $(cat "$work/headers")"
keyed 422 first-key twice
says 'was used for a request with another method, path or body'
keyed 400 'two words' twice
ask 400 POST /jobs -H 'Idempotency-Key;' --data-binary "$(document twice)"
says 'is empty'
[ "$(jobs)" = 2 ] || fail 'a request was carried out twice'

# the scheduler dies with a submission in its hands: edl submit asks again, and there is one job (with a
# folder of this machine it would ask for the nodes before)
port=$(printf ':%04X' "${EDL_SERVER##*:}")
waiting_bytes() { # in sockets of the scheduler that nobody has read
    awk -v port="$port" \
        'index($2, port) && $4 == "01" { split($5, q, ":"); if (q[2] != "00000000") n++ } END { exit n == 0 }' /proc/net/tcp
}
agent=$(pgrep -f -- "edl-agent .*$work" | head -n 1)
kill -STOP "$agent" # its reports would be bytes as well
await 120 'what was sent is read' eval '! waiting_bytes'
pid=$(pgrep -f -- "edl-scheduler .*$work" | head -n 1)
kill -STOP "$pid"
edl submit --name again --workspace private -- sleep 1000 >"$work/out" 2>"$work/err" &
submit_pid=$!
(unset EDL_SERVER && await 120 'the submission is sent' waiting_bytes) # nobody is asked: the scheduler stands still
kill -9 "$pid"
kill -CONT "$agent"
wait "$submit_pid" || fail "edl submit did not ask again: $(cat "$work/err")"
grep -q 'asking again' "$work/err" || fail "edl submit does not say that it asked again: $(cat "$work/err")"
await 120 'it runs' job_is again running
[ "$(jobs)" = 3 ] || fail "there are $(jobs) jobs instead of 3"

# If-Match: a change that was decided on what is no longer so is refused
told() { sed -n 's/^[Ee][Tt]ag: \(.*\)\r$/\1/p' "$work/headers"; } # the ETag of the last answer
etag() { ask 200 GET "$1" -D "$work/headers"; told; }
ask 201 POST /jobs --data-binary '{"metadata":{"name":"seen"},"spec":{"fault_tolerant":true,"trainer":{"entrypoint":"exec sleep 1000","min-instance":1,"max-instance":1}}}'
await 120 'it runs' job_is seen running
seen=$(etag /jobs/seen)
[ -n "$seen" ] || fail 'GET /jobs/seen has no ETag'
[ "$(etag /jobs/seen)" = "$seen" ] || fail 'the ETag changes by itself'
ask 202 PATCH /jobs/seen -H "If-Match: $seen" -D "$work/headers" --data-binary '{"max":2,"priority":7}'
grep -qi '^Location: /jobs/4' "$work/headers" || fail 'no address to look for progress'
[ "$(jq -c '[.roles[0].max, .roles[0].target]' "$work/answer")" = '[2,2]' ] || fail "not scaled: $(cat "$work/answer")"
[ "$(told)" = '"p7.1-2"' ] || fail "the answer to a change has the ETag $(told)"
ask 412 PATCH /jobs/seen -H "If-Match: $seen" --data-binary '{"max":1}'
says 'its ETag is'
ask 412 DELETE /jobs/seen -H 'If-Match: "p1.1-1"'
ask 202 PATCH /jobs/seen -H "If-Match: \"other\", $(etag /jobs/seen)" --data-binary '{"priority":-1}'
# the answer to a change is good for the next one; a forecast changes nothing and has none
ask 202 PATCH /jobs/seen -H "If-Match: $(etag /jobs/seen)" -D "$work/headers" --data-binary '{"priority":4}'
ask 202 PATCH /jobs/seen -H "If-Match: $(told)" -D "$work/headers" --data-binary '{"priority":-1}'
ask 200 PATCH '/jobs/seen?dry_run=1' -H "If-Match: $(told)" -D "$work/headers" --data-binary '{"priority":1}'
silent told || fail 'a forecast has an ETag'
cordoned() { ask 200 PATCH /nodes/node-1 -D "$work/headers" "$@"; }
cordoned -H "If-Match: $(etag /nodes/node-1)" --data-binary '{"state":"cordoned"}'
cordoned -H "If-Match: $(told)" --data-binary '{"state":"ready"}'
[ "$(told)" = '"ready"' ] || fail "the node's ETag is $(told)"
[ "$(api GET /jobs/seen | jq .spec.priority)" = -1 ] || fail 'the priority was not set'
ask 400 PATCH /jobs/seen -H 'If-Match: seen' --data-binary '{"max":1}'
ask 400 PATCH /jobs/seen --data-binary '{"mx":1}'
says '/mx is not known here'
ask 400 PATCH /jobs/seen --data-binary '{"role":"trainer"}'
says 'give min, max, priority, time_limit or at_once'
ask 400 PATCH /jobs/seen --data-binary '{"priority":2000000}'
await 120 'it has grown' job_is seen running
edl scale seen 1:1 --priority 3 | grep -q 'trainer 1 to 1 priority 3' || fail 'edl scale does not say what it changed'
[ "$(api GET /jobs/seen | jq -c '[.spec.priority, .roles[0].max]')" = '[3,1]' ] || fail 'edl scale did not change it'

# pages: each job once, also when the one at the page's end is over
[ "$(api GET '/jobs?state=all&limit=3' | jq -c '[(.jobs | map(.id)), .next]')" = '[[1,2,3],"3"]' ] || fail 'first page'
[ "$(api GET '/jobs?state=all&limit=3&cursor=3' | jq -c '[(.jobs | map(.id)), .next]')" = '[[4],null]' ] || fail 'last page'
ask 400 GET '/jobs?limit=0'
ask 400 GET '/jobs?cursor=x'
edl kill stays once again
await 120 'it is stopped' job_is again killed
[ "$(api GET '/jobs?limit=1&cursor=3' | jq -c '[(.jobs | map(.id)), .next]')" = '[[4],null]' ] || fail 'a page behind one that is over'
edl kill seen
await 120 'it is stopped' job_is once killed
await 120 'it is stopped' job_is stays killed
cluster_stop
