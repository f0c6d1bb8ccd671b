#!/usr/bin/env bash
# A node of two schedulers on one PostgreSQL: its join line has both, and its processes go on when the one that leads is killed, and
# when it is stopped and goes on behind the other one. So do the commands of people that follow a job: nothing is missing, and nothing
# is printed twice. A session ends, and says what to type.
# Takes 14 s: what was stopped has to be missed
set -eu
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
. "$EDL_SOURCE_DIR/tests/lib/postgresql.sh"
postgresql_start p
postgresql_database p edl
url=postgresql://postgres@/edl?host=$postgresql_dir/p

scheduler() { # NAME PATTERN
    begin "$1" "$2" edl-scheduler --conf '' --state-dir "$work/state-$1" --listen "https://127.0.0.1:${port[$1]:-0}" --store "$url" --scheduler-name "$1" --lease 20s
    of[$1]=$pid port[$1]=$(sed 's/.*://' "$work/state-$1/address")
}
declare -A of port
export EDL_CA=$work/state-a/ca.pem EDL_TOKEN_FILE=$work/state-a/admin-token XDG_STATE_HOME=$work/of-edl
edl_at() { # NAME WORD...
    EDL_SERVER=https://127.0.0.1:${port[$1]} edl "${@:2}"
}
scheduler a 'leads (term 1)'
line=$(edl_at a admin standby add b 2>/dev/null)
# shellcheck disable=SC2086
$line --conf '' --state-dir "$work/state-b" >/dev/null || fail "the line: $line"
scheduler b 'standby of a (term 1)'
knows_b() { edl_at a nodes | grep -q 'b standby'; }
await 120 "a knows of b" knows_b
both() { [[ $(edl_at a node add --foreground 2>/dev/null) == edl-agent\ --join\ https://*:${port[a]},https://*:${port[b]}\ * ]]; }
await 120 "both in the line" both

# the address of another cluster in the line of a node is passed over, and named where no address is the right one
begin other 'listening on' edl-scheduler --conf '' --state-dir "$work/state-other" --listen https://127.0.0.1:0
other=https://127.0.0.1:$(sed 's/.*://' "$work/state-other/address")
line=$(edl_at a node add n1 --foreground 2>/dev/null)
line=${line/--join /--join $other,}
wrong=${line/,https:*:${port[b]} /,https://127.0.0.1:1 }
# shellcheck disable=SC2086
said=$($wrong --state-dir "$work/wrong" --conf '' --client-conf '' 2>&1) && fail 'it joined another cluster'
[[ $said == *"$other: the server is not the one that the pin names"*"https://127.0.0.1:1: "* ]] || fail "addresses that are none: $said"
# shellcheck disable=SC2046,SC2086
begin agent "joined as n1" $line --state-dir "$work/node" --conf '' --client-conf '' --runtime direct --no-foreign --heartbeat 500ms --address 127.0.0.1 \
    --cpu 2 --memory 1Gi --cut-off-kill 5m --stop-processes-on-exit $([ "$(id -u)" != 0 ] || echo --allow-root)
declare -A of_person seen
person() { # NAME WORD...: a command in the background; its output is $work/out/NAME
    "${@:2}" >"$work/out/$1" 2>"$work/out/$1.said" &
    of_person[$1]=$!
}
export EDL_SERVER=https://127.0.0.1:${port[a]},https://127.0.0.1:${port[b]}
mkdir "$work/out"
# shellcheck disable=SC2016
program='echo started; i=0; until [ -e "$1" ]; do i=$((i + 1)); echo "line $i"; sleep 0.1; done; exit 7'
person submit edl submit --follow --name one -- sh -c "$program" - "$work/over"
runs_at() { [ "$(edl_at "$1" show one --json 2>/dev/null | jq -r .job.state)" = running ]; }
await 120 "the job" runs_at a
person logs edl logs --follow one
person wait edl wait one
person events edl events --follow
person exec edl exec one -- sh -c 'echo in; exec sleep 1000'
grows() { # NAME: there is more of its output than before
    local n
    n=$(wc -l <"$work/out/$1")
    [ "$n" -gt "${seen[$1]:-0}" ] || return 1
    seen[$1]=$n
}
for name in logs submit events exec; do await 120 "the output of $name" grows $name; done
has_ended() { ! lives "${of_person[$1]}"; }
ended() { # NAME STATUS
    local status=0
    await 120 "the end of $1" has_ended "$1"
    wait "${of_person[$1]}" || status=$?
    [ $status = "$2" ] || fail "$1: status $status: $(cat "$work/out/$1.said")"
}
knows_term() { holds --argjson term "$1" '.term >= $term' <"$work/node/schedulers.json"; }
never_stood() {
    [ "$(edl_at "$1" logs one | grep -c started)" = 1 ] || fail "it was started again: $(edl_at "$1" logs one)"
    holds '(.frozen_us // 0) == 0 and (.frozen_since_us // 0) == 0' <"$(echo "$work"/node/processes/*/supervisor.json)" || fail "it stood still"
}

# whoever logs in at one address knows them all
login=$(edl_at a user add joe 2>/dev/null | grep '^edl login')
joe() { env -u EDL_SERVER -u EDL_CA -u EDL_TOKEN_FILE XDG_CONFIG_HOME="$work/joe" "$@"; }
# shellcheck disable=SC2086
said=$(joe ${login/${port[a]}/${port[b]}} 2>&1) && fail 'a standby lets him in'
[[ $said == *"another one leads: edl login https://127.0.0.1:${port[a]}, and the rest of your line"* ]] || fail "at the standby: $said"
# shellcheck disable=SC2086
joe $login >/dev/null || fail "$login"
[[ $(joe edl whoami) == joe,*"${port[a]}" ]] || fail "$(joe edl whoami)"

kill -9 "${of[a]}"
await 120 "the node at b" knows_term 2
await 120 "the job at b" runs_at b
never_stood b
[[ $(joe edl whoami) == joe,*"${port[b]}" ]] || fail "$(joe edl whoami) $(cat "$work/joe/edl/client.conf")"
for name in logs submit; do await 120 "more of $name" grows $name; done
ended exec 255
grep -q 'the session is over; the job goes on' "$work/out/exec.said" && grep -q '^try: the same command' "$work/out/exec.said" || fail "exec: $(cat "$work/out/exec.said")"

scheduler a 'standby of b (term 2)'
kill -STOP "${of[b]}"
token=$(cat "$work/joe/edl/token")
said=$(joe edl logout 2>&1) # none leads yet
[[ $said == *"logged out of https://127.0.0.1:${port[a]},https://127.0.0.1:${port[b]}" && $said != *'stays good'* ]] || fail "logout: $said"
said=$(EDL_TOKEN_FILE='' EDL_TOKEN=$token edl whoami 2>&1) && fail "his token is good still: $said"
await 120 "the node at a" knows_term 3
kill -CONT "${of[b]}"
await 120 "the job at a" runs_at a
never_stood a
for name in logs submit; do await 120 "more of $name" grows $name; done
touch "$work/over"
ended submit 7
ended logs 0
ended wait 1
grep -q '^job one (1) failed: .* exit code 7' "$work/out/wait" || fail "wait: $(cat "$work/out/wait" "$work/out/wait.said")"
edl logs one >"$work/out/all"
[ "$(sed -n 's/^\[trainer-0\] line //p' "$work/out/all")" = "$(seq "$(grep -c line "$work/out/all")")" ] || fail "the log: $(cat "$work/out/all")"
cmp "$work/out/all" "$work/out/logs" || fail 'logs --follow is another one than the log'
grep '^\[trainer-0\] ' "$work/out/submit" | cmp "$work/out/all" - || fail 'submit --follow printed another log'
has_failed() { grep -q job-failed "$work/out/events"; }
await 120 "the last event" has_failed
end "${of_person[events]}"
awk '$1 != NR { exit 1 }' "$work/out/events" || fail "events: $(cat "$work/out/events")"
