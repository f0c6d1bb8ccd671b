#!/usr/bin/env bash
# An agent that knows several schedulers follows the one that leads, within a lease: when the leader dies, when it stands still and
# when it was deposed and does not know it. What a lower term says does not count: no order of it is carried out, and its lease does
# not count. One that is told of in an answer is asked as well. The process never notices.
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
lease=20 # a report that takes longer than a seventh of it is given up, and others are asked
# shellcheck disable=SC2016
program='echo started >>runs; curl -sS --max-time 240 --unix-socket "$EDL_SOCKET" http://localhost/jobs/self/slow >call; exec sleep 1000'
workspace=$work/workspace told=$work/told.log
mkdir "$workspace"
mkfifo "$work/commands"
"$python" "$EDL_SOURCE_DIR/tests/lib/schedulers.py" $lease "$workspace" "$(jq -nc --arg p "$program" '["sh", "-c", $p]')" a b c \
    <"$work/commands" >"$told" 2>"$work/schedulers.log" &
exec 8>"$work/commands"
has() { grep -q "^$1" "$told"; }
await 120 "schedulers" has 'c [0-9]'
url() { sed -n "s|^$1 \([0-9]*\)$|http://127.0.0.1:\1|p" "$told"; }

oks=0 marked=0
is_done() { [ "$(grep -c '^ok$' "$told")" -ge $oks ]; }
be() { # WORD NAME...: a scheduler does that from now on
    oks=$((oks + 1))
    echo "$*" >&8
    await 120 "$*" is_done
}
mark() { marked=$(wc -l <"$told"); }
since() { tail -n +$((marked + 1)) "$told"; }
reported() { since | grep -q "^$1 report $2\$"; } # NAME TERM,STATE
never_stood() { # no report lacked it, it was started once, and it was never frozen
    [ "$(since | sed -n '/ report .*,running$/d; / report /p')" = '' ] || fail "$1: a report has another process"
    [ "$(cat "$workspace/runs")" = started ] || fail "$1: it was started again"
    holds '(.frozen_us // 0) == 0 and (.frozen_since_us // 0) == 0' <"$(echo "$work"/state/processes/*/supervisor.json)" || fail "$1: it stood still"
}
agent() { # PATTERN OPTION...
    local pattern=$1
    shift
    # shellcheck disable=SC2046
    begin agent "$pattern" edl-agent --node n1 --state-dir "$work/state" --conf '' --runtime direct --no-foreign --heartbeat 200ms --address 127.0.0.1 \
        --cut-off-kill 5m --cpu 2 --memory 1Gi $([ "$(id -u)" != 0 ] || echo --allow-root) "$@"
    agent=$pid
}

# it joins at the one that leads, whichever it asked first, and learns of the third one there
echo token >"$work/join-token"
be knows a b c
be standby b a
be lead a 1
agent 'joined as n1' --join "$(url b),$(url a)" --join-token-file "$work/join-token"
await 120 "the process" reported a 1,running
[ "$(jq -c .servers "$work/state/member.json")" = "[\"$(url b)\",\"$(url a)\"]" ] || fail "member.json: $(cat "$work/state/member.json")"
[ "$(jq -c '[.term, (.servers | length)]' "$work/state/schedulers.json")" = '[1,3]' ] || fail "$(cat "$work/state/schedulers.json")"
[ -f "$workspace/runs" ] || fail "it did not start"

await 120 "its call" has 'a call'

# the leader dies; the other one does not know who leads, and then leads
be standby b
mark
be dead a
be lead b 2
await 120 "the next leader" reported b '2,running'
never_stood "a leader that died"
await 120 "its call" has 'b call'

# b stands still, with a call of the process; a comes back as if nothing had happened, and orders that nothing runs
be rogue a 1
mark
be frozen b
asked_twice() { [ "$(since | grep -c '^a report')" -ge 2 ]; }
await 120 "the one that was deposed" asked_twice
be lead c 3
await 120 "the one that it learnt of" reported c '3,running'
never_stood "a leader that stood still"
since | lacks '^a orders' || fail "it took orders of a term that is over"
call_is_answered() { grep -q '"from": "c"' "$workspace/call"; }
await 120 "the call that hung" call_is_answered

# another address of the one that leads, in the same term: nobody else leads
told_of() { grep -c "leads now, in term $1\$" "$work/agent.log"; }
await 120 "its leader in the log" told_of 3
be lead a 3
be dead c
mark
await 120 "its other address" reported a '3,running'
be lead c 3
be dead a
await 120 "its first address" reported c '3,running'
be rogue a 1
[ "$(told_of 3)" = 1 ] || fail "told twice of one leader: $(cat "$work/agent.log")"

# now nothing draws it away: it stays, and so does its poll. A busy machine may lose it a report: then the count begins anew.
unbroken() { # PATTERN [OTHER]: since the last line of PATTERN there are six reports to c, and two lines of OTHER
    since | awk -v broken="$1" -v other="${2:-}" '
        $0 ~ broken { c = o = 0 }
        /^c report/ { c++ }
        other != "" && $0 ~ other { o++ }
        END { exit !(c >= 6 && (other == "" || o >= 2)) }'
}
mark
await 120 "reports to the leader alone" unbroken '^[ab] |^c orders'

# one that stores nothing is believed; another one is asked meanwhile, and leads if it may
be lead c 3 unstored
mark
await 120 "the others, and a poll that stays" unbroken '^[abc] orders' '^a report'
be standby b
be lead b 4
await 120 "the one with a higher term" reported b '4,running'
never_stood "a leader that stored nothing"

# the next agent knows the term as well: alone with the one that was deposed it has no lease
end "$agent"
be dead b
be dead c
mark
agent adopted
agent_asks() { [ "$(since | grep -c '^a report 4,')" -ge 3 ]; }
await 120 "the one that was deposed" agent_asks
is_frozen() { holds '.frozen_since_us > 0' <"$(echo "$work"/state/processes/*/supervisor.json)"; }
await 120 "the end of the lease" is_frozen
[ "$(cat "$workspace/runs")" = started ] || fail "it was started again"
be lead c 5
is_thawed() { ! is_frozen; }
await 120 "the leader" reported c '5,running'
await 120 "it to go on" is_thawed

be rogue c 6 # which has the highest term: now it counts
await 120 "its end" reported c 6
