#!/usr/bin/env bash
# Words of users and programs that hold line ends and escapes: refused from people, and one line of the log stays one line.
# Takes 5 s: three jobs, and some twenty commands and calls about them
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 1
log=$work/state/scheduler.log
forged='\u001b[31mred\n18:00:00.000 warning edl-scheduler: FORGED line'

printable() { # FILE: nothing in it steers a terminal
    if LC_ALL=C grep -n -e $'[\001-\010\013-\037\177]' "$1"; then fail "control characters in $1"; fi
}

edl submit --name inj -- sleep 1000
status=$(api DELETE /jobs/inj -H 'Content-Type: application/json' -d "{\"reason\":\"$forged\"}" -o "$work/out" -w '%{http_code}')
[ "$status" = 400 ] || [ "$status" = 422 ] || fail "a reason with line ends gives $status: $(cat "$work/out")"
holds '.errors[0].pointer == "/reason"' <"$work/out" || fail "no pointer: $(cat "$work/out")"
status=$(api POST /tokens -H 'Content-Type: application/json' -d "{\"note\":\"$forged\"}" -o "$work/out" -w '%{http_code}')
[ "$status" = 400 ] || [ "$status" = 422 ] || fail "a note with line ends gives $status: $(cat "$work/out")"

# names that nobody checks before they are told of
api GET '/jobs/%1b%5b31mno%0a18:00:00.000%20warning%20edl-scheduler:%20FORGED%20line/why' >/dev/null
edl why $'\033[31mno\nsuch job' 2>"$work/err" && fail 'there is such a job'
[ "$(grep -vc '^try: ' "$work/err")" = 1 ] || fail "more than a line: $(cat "$work/err")"
printable "$work/err"

# a program's name is its job's, and comes back in the reason of its end
printf '{"metadata":{"name":"odd"},"spec":{"trainer":{"command":["%s"],"min-instance":1,"max-instance":1}}}' "$forged" >"$work/job.json"
edl submit "$work/job.json"
await 120 'it fails' job_is odd failed
edl show odd --all >"$work/out"
edl why odd >>"$work/out"
printable "$work/out"
api GET '/jobs/odd/processes?state=all' | jq -r '.processes[0].reason' >"$work/reason"
grep -q 'FORGED line' "$work/reason" || fail "the reason does not name the program: $(cat "$work/reason")"
printable "$work/reason"
[ "$(wc -l <"$work/reason")" = 1 ] || fail "more than a line: $(cat "$work/reason")"

# what a program writes: a terminal is shown escapes, and of a bar its last state; --raw and a pipe have the bytes
written=$'\033[2Jred\t\342\200\256left\n10%\r100%\n'
jq -n --arg text "$written" '{name: "writes", roles: [{role: "trainer", min: 1, max: 1, command: ["printf", "%s", $text]}]}' | edl submit - >"$work/out"
await 120 'it has written' job_is writes succeeded
on_a_terminal() { "$python" -c 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))' "$@"; }
edl logs writes >"$work/piped"
on_a_terminal edl logs --raw writes | tr -d '\r' >"$work/raw" # of the terminal's own line ends, and of the bar
on_a_terminal edl logs writes | sed 's/\r$//' >"$work/shown"
printf '[trainer-0] %s\n' $'\033[2Jred\t\342\200\256left' $'10%\r100%' >"$work/wanted"
cmp "$work/piped" "$work/wanted" || fail "piped: $(cat -v "$work/piped")"
tr -d '\r' <"$work/wanted" | cmp "$work/raw" - || fail "raw: $(cat -v "$work/raw")"
printf '[trainer-0] %s\n' '\x1b[2Jred'$'\t''\u202eleft' '100%' >"$work/wanted"
cmp "$work/shown" "$work/wanted" || fail "shown: $(cat -v "$work/shown")"

edl kill inj --reason 'enough'
await 120 'the job ends' job_is inj killed
edl why inj >"$work/out"
edl events >>"$work/out"
printable "$work/out"
printable "$log"
if grep -q '^18:00:00.000 warning edl-scheduler: FORGED' "$log" "$work/out"; then fail 'a line that nobody wrote'; fi
cluster_stop
