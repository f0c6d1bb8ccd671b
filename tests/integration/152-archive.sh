#!/usr/bin/env bash
# One user submits arrays and kills them, again and again: jobs that are over leave memory and then the database until the bounds
# hold, without a call that would make turns; what another user's ended jobs are is still there; who is too fast is refused for a moment.
# Takes 16 s: 2,400 jobs are submitted, killed and put into the archive
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/daemons.sh"
. "$EDL_SOURCE_DIR/tests/lib/state_sql.sh"
keep=60 rounds=12 size=200

begin scheduler "policy" edl-scheduler --state-dir "$work/scheduler" --listen 127.0.0.1:0 --keep-jobs $keep --max-user-jobs 500 \
    --keep-jobs-size 1Mi
EDL_SERVER=http://$(sed 's,^http://,,' "$work/scheduler/address")
EDL_TOKEN_FILE=$work/scheduler/admin-token
export EDL_SERVER EDL_TOKEN_FILE
for name in ann eve; do
    edl user add $name >/dev/null
    (umask 077 && edl token create --user $name >"$work/$name.token" 2>/dev/null)
done

call() { # USER CURL-ARGUMENT... PATH: what it says, and the status on the last line
    local user=$1
    shift
    curl -sS --max-time 120 -w '\n%{http_code}' -H "Authorization: Bearer $(cat "$work/$user.token")" "${@:1:$#-1}" "$EDL_SERVER${!#}"
}
rows() { # WHERE
    state_sql "SELECT count(*) FROM job WHERE $1"
}
is_drained() { # every job of eve's that is over and kept counts against keep-jobs, and what is deleted is gone
    [ "$(rows 1)" -le $((keep + 1)) ]
}

for i in 1 2 3; do
    EDL_TOKEN_FILE=$work/ann.token edl submit --name "hers-$i" -- true >/dev/null
    EDL_TOKEN_FILE=$work/ann.token edl kill "hers-$i" >/dev/null
done
body() { # NAME
    jq -nc --arg name "$1" --arg array "0-$((size - 1))" \
        '{metadata: {name: $name}, spec: {array: $array, trainer: {command: ["true"], "min-instance": 1, "max-instance": 1}}}'
}
submitted() { # NAME: taken; one who is too fast is told so, and may come again
    local said
    said=$(call eve -H 'Content-Type: application/json' -d "$(body "$1")" /jobs)
    case $said in
    *201) ;;
    *409) case $said in *'being put away'*'submit again in a second'*) return 1 ;; *) fail "refused otherwise: $said" ;; esac ;;
    *) fail "the array is not taken: $said" ;;
    esac
}
for i in $(seq $rounds); do
    await 120 "room for array $i" submitted "many-$i"
    said=$(call eve -X DELETE "/arrays/many-$i")
    case $said in *20?) ;; *) fail "the array is not killed: $said" ;; esac
done

await 120 "the archive at its bound of $keep jobs, there are $(rows 1)" is_drained
[ "$(rows "user = 'ann'")" = 3 ] || fail "of another user's three jobs that are over $(rows "user = 'ann'") are there"
for i in 1 2 3; do
    EDL_TOKEN_FILE=$work/ann.token edl show "hers-$i" >/dev/null || fail "hers-$i is not told of"
done
[ "$(rows 'archived = 0')" -le $((keep + 1)) ] || fail "$(rows 'archived = 0') jobs would be loaded by a start"
edl show "many-$rounds-$((size - 1))" >/dev/null || fail 'the last job of the last array is not there'
[ "$(curl -sS -H "Authorization: Bearer $(cat "$work/scheduler/admin-token")" "$EDL_SERVER/metrics" |
    awk '/^edl_jobs\{/ { n += $2 } END { print n }')" -le $((keep + 1)) ] || fail 'the metrics count more jobs than are kept'

# documents that are long: the bound is in bytes
long=$(head -c 60000 /dev/zero | tr '\0' x)
for i in $(seq 12); do
    said=$(jq -nc --arg name "long-$i" --arg x "$i$long" '{metadata: {name: $name}, spec: {trainer: {command: ["true", $x],
        "min-instance": 1, "max-instance": 1}}}' | call eve -H 'Content-Type: application/json' -d @- /jobs)
    case $said in *201) ;; *) fail "a long document is not taken: $said" ;; esac
    call eve -X DELETE "/jobs/long-$i" >/dev/null
done
kept_bytes() {
    state_sql "SELECT bytes FROM archived_share WHERE \"user\" = '*'"
}
end "$pid" # what was in memory is archived by a scheduler that keeps nothing there
begin scheduler "policy" edl-scheduler --state-dir "$work/scheduler" --listen 127.0.0.1:0 --keep-jobs 20 --keep-jobs-size 200Ki
EDL_SERVER=http://$(sed 's,^http://,,' "$work/scheduler/address")
in_bytes() {
    [ "$(rows 'archived = 1')" -gt 0 ] && [ "$(kept_bytes)" -le 204800 ] && [ "$(rows 1)" -le 21 ]
}
await 120 'the archive at its bound of bytes' in_bytes
[ "$(rows "user = 'ann'")" = 3 ] || fail "long documents of one user push out another's jobs"
