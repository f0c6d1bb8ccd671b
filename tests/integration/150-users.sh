#!/usr/bin/env bash
# Users: what a token may, what is told when it may not, and that all of it is on record.
# Takes 31 s: over a hundred commands, and then calls about tokens until one is refused, a program each
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 1

edl whoami | grep -q '^admin, admin (admin-token)' || fail "the admin is not known: $(edl whoami)"
edl user add ann
edl user add eve --role viewer
umask 077
for name in ann eve; do edl token create --user $name --note test --ttl 1h >"$work/$name" 2>"$work/note"; done
grep -q 'shown this once' "$work/note" || fail 'nothing is said about how to keep a token'
as() { # NAME ARGUMENT...: edl as that user
    local name=$1
    shift
    EDL_TOKEN_FILE=$work/$name edl "$@"
}

[ "$(as ann whoami --json | jq -r '.user + " " + .role + " " + .via')" = 'ann user token 1' ] || fail 'ann is not known'
as ann submit --name hers -- sleep 1000
await 120 'it runs' job_is hers running
[ "$(api GET /jobs/hers | jq -r .user)" = ann ] || fail 'the job is not hers'
as eve ps | grep -q hers || fail 'a viewer does not see jobs'
if as eve kill hers 2>"$work/err"; then fail 'a viewer killed a job'; fi
grep -q 'needs the role user' "$work/err" || fail "no word of what is missing: $(cat "$work/err")"
grep -q 'edl user set eve --role user' "$work/err" || fail "no word of what to type: $(cat "$work/err")"
edl user set eve --role user
if as eve kill hers 2>"$work/err"; then fail "a user killed another's job"; fi
grep -q 'belongs to ann' "$work/err" || fail "no word of whose it is: $(cat "$work/err")"
job_is hers running || fail 'a job was stopped by a refused request'
# names are of users: eve has a job of that name as well, and each means their own
as eve submit --name hers -- sleep 1001
await 120 'it runs' job_is eve%2Fhers running
[ "$(as ann show hers --json | jq -r .job.user) $(as eve show hers --json | jq -r .job.user)" = 'ann eve' ] || fail 'a name is not their own'
[ "$(as eve show ann/hers --json | jq -r .job.user)" = ann ] || fail "ann/hers is not ann's"
if edl show hers 2>"$work/err"; then fail 'of two jobs of that name one was shown'; fi
grep -q 'several users have a job "hers"' "$work/err" || fail "no word of why: $(cat "$work/err")"
grep -Eq 'say whose it is: (ann|eve)/hers' "$work/err" || fail "no word of what to type: $(cat "$work/err")"
edl ps | grep -q 'ann/hers' && edl ps | grep -q 'eve/hers' || fail "the list does not tell them apart: $(edl ps)"
as eve kill hers
await 120 "eve's is killed" job_is eve%2Fhers killed
job_is ann%2Fhers running || fail "ann's was stopped"
edl user set eve --role operator
as eve kill ann/hers
await 120 'it is stopped' job_is ann%2Fhers killed
[ "$(edl audit --json | jq -rs 'map(.user + " " + .method + " " + .target) | .[-1]')" = 'eve DELETE /jobs/1' ] ||
    [ "$(edl audit --json | jq -rs 'map(.user + " " + .method + " " + .target) | .[-1]')" = 'eve DELETE /jobs/ann%2Fhers' ] ||
    fail "not on record: $(edl audit)"
grep -q 'audit: eve DELETE /jobs/.*: 202 (token 2, request ' "$work"/state/scheduler.log || fail 'not in the log'
sent=/workspaces/ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad # SHA-256 of abc
curl -sS --fail -X PUT -H "Authorization: Bearer $(cat "$work/ann")" --data-binary abc "$EDL_SERVER$sent" >/dev/null
edl audit --json | jq -rs 'map(.user + " " + .method + " " + .target) | .[-1]' | grep -qx "ann PUT $sent" || fail "an upload is not on record: $(edl audit)"
# what ann has sent is hers: others neither see it nor get it, nor may run it; operators may look after it
as eve workspace list | grep -q "${sent##*/}" || fail 'an operator does not see an archive'
edl user set eve --role user
silent as eve workspace list || fail "another's archive is listed: $(as eve workspace list)"
as ann workspace list | grep -q "${sent##*/}" || fail 'her own archive is not listed'
status=$(curl -sS -o "$work/got" -w '%{http_code}' -H "Authorization: Bearer $(cat "$work/eve")" "$EDL_SERVER$sent")
[ "$status" = 404 ] || fail "another's archive is answered with $status: $(cat "$work/got")"
grep -q 'one that others sent is theirs' "$work/got" || fail "it is not told why: $(cat "$work/got")"
jq -n --arg workspace "sha256:${sent##*/}" '{metadata: {name: "stolen"}, spec: {trainer: {entrypoint: "cat x", workspace: $workspace, "min-instance": 1}}}' \
    >"$work/stolen.json"
if as eve submit "$work/stolen.json" 2>"$work/err"; then fail "a job runs in another's archive"; fi
grep -q 'there is no workspace sha256:.* of yours' "$work/err" || fail "no word of whose it is: $(cat "$work/err")"
curl -sS --fail -X PUT -H "Authorization: Bearer $(cat "$work/eve")" --data-binary abc "$EDL_SERVER$sent" >/dev/null # who has it has it
as eve workspace list | grep -q "${sent##*/}" || fail 'what she has sent is not hers'
# token calls have a rate: nobody fills the audit log with them, nor pushes out what others did
rate() { # asks as ann until it is refused; $asked: how often it was not, $status: with what
    asked=0
    while status=$(curl -sS -o "$work/got" -D "$work/headers" -w '%{http_code}' -X POST -H "Authorization: Bearer $(cat "$work/ann")" \
        -d '{"ttl_s": 60}' "$EDL_SERVER/tokens"); [ "$status" = 201 ] && [ $asked -lt 300 ]; do
        asked=$((asked + 1))
        status=$(curl -sS -o "$work/deleted" -D "$work/headers" -w '%{http_code}' -X DELETE -H "Authorization: Bearer $(cat "$work/ann")" \
            "$EDL_SERVER/tokens/$(jq .id "$work/got")")
        [ "${status:0:1}" = 2 ] || break
        asked=$((asked + 1))
    done
}
rate
if [ "$status" != 429 ] || [ $asked -gt 250 ]; then fail "$asked token calls, then $status: $(cat "$work/got")"; fi
grep -qi '^Retry-After: [1-6]' "$work/headers" || fail "no word of when to come again: $(cat "$work/headers")"
edl audit --json | jq -rs 'map(select(.user == "eve" and .method == "DELETE")) | length' | grep -qx 2 || fail "what eve did is gone: $(edl audit)"
edl token list | grep -q 'eve *test' || fail 'tokens are not listed'
edl user remove eve
if as eve ps 2>"$work/err"; then fail 'a token outlived its user'; fi
grep -q 'edl token create' "$work/err" || fail "no word of how to come in: $(cat "$work/err")"
edl user list | grep -q '^eve  *none' || fail "who was removed is not kept out: $(edl user list)"
edl user remove --forget eve | grep -qx 'eve: forgotten' || fail 'eve is not forgotten'
edl user list | lacks '^eve' || fail "who was forgotten is listed: $(edl user list)"
edl group add vision --permille 600 | grep -q '^vision: 60.0% guaranteed, weight 1' || fail 'the group is not made'
edl group add speech --permille 100
if edl group set speech --permille 401 2>"$work/err"; then fail 'more than all is guaranteed'; fi
grep -q '600 are guaranteed to others' "$work/err" || fail "no word of what is left: $(cat "$work/err")"
edl group set speech --weight 3
edl user set ann --group vision
as ann submit --name grown --min 1 --max 2 -- sleep 1000
await 120 'it runs' job_is grown running
edl group list | grep -qE '^vision +60.0% +[1-9][0-9.]*% +1 +1 +-$' || fail "what it holds is not told: $(edl group list)"
edl user list | grep -qE '^ann +user +vision' || fail "her group is not told: $(edl user list)"

# the hours of a window: of users, of their groups now, and of each job
as ann usage --since 1h --by group | grep -qE '^vision +2 ' || fail "by group: $(edl usage --since 1h --by group)"
edl usage --by group | grep -qE '^- +[0-9]+ ' || fail "users of no group are not told: $(edl usage --by group)"
edl usage --since 1h --by job --user ann | grep -qE '^[0-9]+ +grown +ann +running ' || fail "by job: $(edl usage --since 1h --by job)"
[ "$(edl usage --since 1h --json | jq -r '.users | map(select(.user == "ann"))[0].jobs')" = 2 ] || fail "by user: $(edl usage --since 1h --json)"
if edl usage --since 2030-01-01 2>"$work/err"; then fail 'a time to come was taken'; fi
grep -q 'is to come' "$work/err" || fail "a time to come: $(cat "$work/err")"
if edl usage --by node 2>"$work/err"; then fail 'something else was taken'; fi
grep -q 'none of user, group, job' "$work/err" || fail "by something else: $(cat "$work/err")"

# limits: refused, made to wait with the reason, told, taken away again
edl user set ann --max-cpu 1 --max-jobs 3 --max-time 2h
edl group set vision --max-gpus 4
edl user list | grep -qE '^ann .* 1 cores, 3 jobs, 2h' || fail "her limits are not told: $(edl user list)"
edl group list | grep -qE '^vision .* 4 GPUs$' || fail "the limits of a group are not told: $(edl group list)"
status=0; as ann submit --name wide --cpu 2 -- true 2>"$work/err" || status=$?
[ $status != 0 ] && grep -q 'the user ann may have 1 core at once' "$work/err" || fail "over the limit: $status $(cat "$work/err")"
grep -q 'edl user set ann' "$work/err" || fail "no word of whom to ask: $(cat "$work/err")"
status=0; as ann submit --name slow --time 3h -- true 2>"$work/err" || status=$?
[ $status != 0 ] && grep -q 'time_limit' "$work/err" || fail "over the time limit: $status $(cat "$work/err")"
as ann submit --name first --cpu 1 -- sleep 1000
await 120 'it waits for her limit' eval '[ "$(job_field first .reason_code)" = owner-limit ]'
as ann why first | grep -q 'its owner ann may hold 1 core at once' || fail "why: $(as ann why first)"
as ann submit --name second --cpu 1 -- true
status=0; as ann submit --name third --cpu 1 -- true 2>"$work/err" || status=$?
[ $status != 0 ] && grep -q 'at most 3 jobs: there are 3' "$work/err" || fail "too many jobs: $status $(cat "$work/err")"
[ "$(as ann show first --json | jq -r .job.spec.time_limit)" = 7200s ] || fail 'her limit is not that of her jobs'
as ann kill second
as ann scale first --time 90m >"$work/told"
grep -q 'time limit 90m' "$work/told" && [ "$(job_field first .spec.time_limit)" = 5400s ] || fail "a shorter time: $(cat "$work/told")"
status=0; as ann scale first --time 3h 2>"$work/err" || status=$?
[ $status != 0 ] && grep -q 'an admin may give more' "$work/err" || fail "her own longer time: $status $(cat "$work/err")"
edl scale first --time 3:00:00
[ "$(job_field first .spec.time_limit)" = 10800s ] || fail "an admin gave no longer time: $(job_field first .spec.time_limit)"
edl user set ann --max-cpu 0
await 120 'the limit is gone' job_is first running
edl user set ann --max-cpu 500m >"$work/told"
grep -q '^[0-9.]* of 0.5 cores are in use; nothing is ended$' "$work/told" || fail "a limit below the present use: $(cat "$work/told")"
job_is first running || fail 'a job ended for a limit'
edl user set ann --max-cpu 0 >"$work/told"
if grep -q 'in use' "$work/told"; then fail "without a limit: $(cat "$work/told")"; fi
as ann kill first
edl user set ann --max-jobs 0 --max-time 0
edl group set vision --max-gpus 0
status=0; edl user set ann --max-cpu many 2>"$work/err" || status=$?
[ $status = 2 ] && grep -q 'is no amount' "$work/err" || fail "an amount that is none: $status $(cat "$work/err")"

# what an admin decided on what is no longer so is refused: If-Match, with the ETag of what was seen or of the last answer
changed() { # STATUS METHOD PATH TAG [BODY]: sets $tag
    local status
    status=$(api "$2" "$3" -H "If-Match: $4" -D "$work/headers" -o "$work/answer" -w '%{http_code}' --data-binary "${5-}")
    [ "$status" = "$1" ] || fail "$2 $3: status $status instead of $1: $(cat "$work/answer")"
    tag=$(sed -n 's/^[Ee][Tt]ag: \(.*\)\r$/\1/p' "$work/headers")
}
api GET /users/ann -D "$work/headers" >/dev/null
grep -qi '^etag: "user.vision"' "$work/headers" || fail "ann's ETag: $(cat "$work/headers")"
changed 200 PATCH /users/ann '"user.vision"' '{"role":"operator"}'
[ "$tag" = '"operator.vision"' ] || fail "the answer to a change has the ETag $tag"
changed 412 PATCH /users/ann '"user.vision"' '{"role":"viewer"}'
changed 412 DELETE /users/ann '"user.vision"'
changed 200 PATCH /users/ann "$tag" '{"role":"user"}'
changed 200 PATCH /groups/speech '"g100.w3"' '{"weight":2}'
changed 412 DELETE /groups/speech '"g100.w3"'
changed 412 DELETE /nodes/node-1 '"cordoned"'
edl group remove vision
edl user list | lacks vision || fail 'she is of a group that is gone'
if edl user promote ann 2>"$work/err"; then fail 'an unknown action was taken'; fi
grep -q 'try: edl user add NAME .* | set NAME .* | remove .* | list' "$work/err" || fail "actions are not named: $(cat "$work/err")"
cluster_stop
