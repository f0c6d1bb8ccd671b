#!/usr/bin/env bash
# Webhooks at the end of jobs: what they get; receivers that do not answer, answer late, with 500, or lead elsewhere; a kill of the
# scheduler before one has answered; and addresses that the scheduler does not call
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
curl=/usr/bin/curl
[ -x $curl ] || { echo "$curl is not installed: webhooks need it"; exit 77; }
mkdir "$work/r"
begin receiver receives "$python" "$EDL_SOURCE_DIR/tests/lib/webhook_receiver.py" "$work/r"
base=http://127.0.0.1:$(cat "$work/r/port")
scheduler() { # OPTION...
    begin scheduler 'known nodes' edl-scheduler --conf '' --state-dir "$work/state" --listen 127.0.0.1:0 "$@"
    scheduler=$pid
    EDL_SERVER=http://$(cat "$work/state/address")
    EDL_TOKEN_FILE=$work/state/admin-token
    export EDL_SERVER EDL_TOKEN_FILE
}
metric() { curl -sS -H "Authorization: Bearer $(cat "$EDL_TOKEN_FILE")" "$EDL_SERVER/metrics" | sed -n "s/^$1 //p"; }
metric_is() { [ "$(metric "$1")" = "$2" ]; }
calls() { jq -c "select(.path | startswith(\"$1\"))" "$work/r/calls" 2>/dev/null; } # PATH
n_calls() { [ "$(calls "$1" | wc -l)" -ge "$2" ]; }
over() { # NAME URL [OPTION...]: a job with that webhook, which is over at once
    local name=$1 url=$2
    shift 2
    edl submit --no-upload --cpu 100m --memory 64Mi --name "$name" --webhook "$url" "$@" -- sleep 1000 >/dev/null 2>"$work/said"
    edl kill "$name" >/dev/null
}
log_says() { grep -qF -- "$1" "$work/scheduler.log"; }

scheduler --webhook-allow 127.0.0.1 --notify-timeout 120s --notify-tries 2
over flaky "$base/flaky"
over good "$base/200?secret=abc&x=%7B1%2C2%7D"
over gone "$base/404?secret=abc"
over moved "$base/302"
over silent "$base/hang"
over many "$base/200/many" --array 0-99
await 120 'a good receiver has it' n_calls '/200?' 1
call=$(calls '/200?')
is() { holds "$1" <<<"$call" || fail "not so: $1: $call"; }
is '.path == "/200?secret=abc&x=%7B1%2C2%7D" and .headers["content-type"] == "application/json"'
is '.headers["user-agent"] | startswith("edl/")'
is '.body.version == 1 and .body.id == .headers["x-edl-notice-id"] and .body.more == 0'
is '.body.notices | length == 1 and .[0].event == "end" and .[0].name == "good" and .[0].state == "killed" and .[0].array == null'
# what it gets is what the API's description says
curl -sS "$EDL_SERVER/openapi.json" | jq '.components.schemas.Notice.required | sort' >"$work/required"
jq '.body.notices[0] | keys' <<<"$call" | cmp - "$work/required" || fail "it has $(jq -c '.body.notices[0] | keys' <<<"$call")"
await 120 'the array has one' n_calls '/200/many' 1
call=$(calls '/200/many')
is '.body.notices | length == 1 and .[0].array == {name: "many", jobs: 100, succeeded: 0, failed: 0, killed: 100, first_failed: null}'

# while one does not answer and another waits for its next try, the others are served; each end is told without the secret
await 120 'one that refuses is given up at once' log_says 'notice-failed: 1 notice of admin to http://127.0.0.1'
await 120 'it is told why' log_says 'given up after 1 try: it answered 404'
await 120 'no redirect is followed' log_says 'given up after 1 try: it answered 302, and no redirect is followed'
await 120 'it is tried again' n_calls /flaky 2
[ "$(calls /flaky | jq -r .body.id | sort -u | wc -l)" = 1 ] || fail 'the second try has another number'
await 120 'three were sent' metric_is 'edl_notices_sent_total{channel="webhook"}' 3
await 120 'the one that does not answer was called' n_calls /hang 1
await 120 'two have failed' metric_is 'edl_notices_failed_total{channel="webhook"}' 2
[ "$(calls /200 | wc -l)" = 2 ] || fail "it was called $(calls /200 | wc -l) times"
end "$scheduler"
scheduler --webhook-allow 127.0.0.1 --notify-timeout 5s --notify-tries 2
await 120 'one that does not answer is given up' log_says 'given up after 2 tries: Operation timed out'
await 120 'nothing waits' metric_is edl_notices_waiting 0
end "$scheduler"
scheduler --webhook-allow 127.0.0.1
! grep -F secret=abc "$work/scheduler.log" || fail 'the log has a secret'

# killed while a receiver has not answered: it is called again, with the same number
over late "$base/hang?late"
await 120 'the receiver is called' n_calls '/hang?late' 1
kill -9 "$scheduler"
wait "$scheduler" || true
touch "$work/r/gate"
scheduler --webhook-allow 127.0.0.1
await 120 'it is called again' n_calls '/hang?late' 2
await 120 'nothing waits' metric_is edl_notices_waiting 0
[ "$(calls '/hang?late' | jq -r .body.id | sort -u | wc -l)" = 1 ] || fail 'it has another number'
[ "$(calls '/hang?late' | jq -r '.body.notices[0].id' | sort -u | wc -l)" = 1 ] || fail 'its notice has another number'
end "$scheduler"

# by default no address of the machine, of its networks or of a cloud is called, under whatever name
scheduler
before=$(wc -l <"$work/r/calls")
for url in "$base/200" http://[::1]/ http://169.254.169.254/latest http://10.0.0.1/ http://192.168.1.1:8080/x; do
    ! edl submit --no-upload --webhook "$url" -- true >"$work/said" 2>&1 || fail "$url is taken"
    grep -qF 'the scheduler does not call' "$work/said" || fail "$url: $(cat "$work/said")"
done
n=0
for host in localhost 127.1 0x7f000001 2130706433; do
    n=$((n + 1))
    over "odd-$n" "http://$host:${base##*:}/200"
done
await 120 'they are given up' metric_is 'edl_notices_failed_total{channel="webhook"}' 4
four_told() { [ "$(grep -c 'its address is none that webhook-allow lets the scheduler call' "$work/scheduler.log")" -ge 4 ]; }
await 120 'the log tells why' four_told
[ "$(wc -l <"$work/r/calls")" = "$before" ] || fail "it was called: $(tail -n 1 "$work/r/calls")"
end "$scheduler"
# a cluster that calls nobody says so
scheduler --webhook-allow none
! edl submit --no-upload --webhook https://hooks.example/ -- true >"$work/said" 2>&1 || fail 'a webhook is taken'
grep -qF 'webhook-allow' "$work/said" || fail "it says $(cat "$work/said")"
