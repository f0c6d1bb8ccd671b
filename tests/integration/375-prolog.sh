#!/usr/bin/env bash
# Prolog and epilog of a node: when they run and what they are told, what a failure means for node and job, and that an epilog
# which was due runs, whoever is killed. A root agent also refuses what a stranger could have put there.
set -eu
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/daemons.sh"
prolog=$work/prolog.d epilog=$work/epilog.d
mkdir "$prolog" "$epilog"
chmod 755 "$work"

begin scheduler "policy" edl-scheduler --state-dir "$work/scheduler" --listen 127.0.0.1:0 --lease 60s
EDL_SERVER=http://$(sed 's,^http://,,' "$work/scheduler/address")
EDL_TOKEN_FILE=$work/scheduler/admin-token
export EDL_SERVER EDL_TOKEN_FILE
root=''
[ "$(id -u)" != 0 ] || root=--allow-root
agent_begin() { # NODE ARGUMENT...
    local node=$1
    shift
    # shellcheck disable=SC2086
    begin "$node" "adopted" edl-agent --node "$node" --scheduler "$EDL_SERVER" --join-token-file "$work/scheduler/join-token" \
        --state-dir "$work/$node" --runtime direct --no-foreign --heartbeat 300ms $root --cpu 8 --overcommit "$@"
    agent=$pid
}
n1_begin() { agent_begin n1 --prolog-dir "$prolog" --epilog-dir "$epilog" --prolog-timeout "${limit:-60s}"; }
drop_in() { # FOLDER/NAME, its text on standard input
    cat >"$1.new"
    chmod 755 "$1.new"
    mv "$1.new" "$1"
}
node_is() { # STATE REASON
    local told
    told=$(edl nodes --json | jq -r '.nodes[] | select(.name == "n1") | .state + ": " + .reason') || return 1
    case $told in "$1: $2"*) ;; *) return 1 ;; esac
}
ready() { edl node uncordon n1 >/dev/null; }
submit() { # JOB ARGUMENT...
    local job=$1
    shift
    edl submit --name "$job" "$@" >/dev/null
}
# what a drop-in that hangs leaves: its own number, that of a child in a session of its own, and who runs it
hang='setsid sleep 1000 & echo $PPID >"'$work'/runner"; echo $! $$ >"'$work'/hangs.new"; mv "'$work'/hangs.new" "'$work'/hangs"; sleep 1000'
hangs() { [ -e "$work/hangs" ]; }
nothing_hangs() {
    local pid
    for pid in $(cat "$work/hangs"); do ! lives "$pid" || return 1; done
}
: >"$work/log"
n1_begin

# one prolog before the first of three processes, one epilog behind the last, in the order of their names, with a clean environment
drop_in "$prolog/20-second" <<<'#!/bin/sh
echo "prolog 2" >>"'"$work"'/log"'
drop_in "$prolog/10-first" <<<'#!/bin/sh
echo "prolog 1" >>"'"$work"'/log"
{ pwd; readlink /proc/self/fd/0; env | grep -vE "^(PWD|SHLVL|_)=" | sort; } >"'"$work"'/seen"
echo "the first line of a prolog"'
drop_in "$prolog/30-other.sh" <<<'#!/bin/sh
echo "prolog other" >>"'"$work"'/log"'
echo 'exit 1' >"$prolog/40-no-program"
drop_in "$epilog/50-last" <<<'#!/bin/sh
echo "epilog $EDL_JOB_ID" >>"'"$work"'/log"'
export SECRET=1
submit first --min 3 --max 3 -- sh -c "echo program >>$work/log"
edl wait 1 >/dev/null
[ "$(paste -sd, "$work/log")" = "prolog 1,prolog 2,program,program,program,epilog 1" ] || fail "it ran: $(cat "$work/log")"
who=$(id -un) home=/root
[ "$(id -u)" = 0 ] || home=$HOME
cat >"$work/wanted" <<END_OF_WANTED
/
/dev/null
EDL_DROP_IN=prolog
EDL_GPUS=
EDL_JOB_GID=$(id -g)
EDL_JOB_ID=1
EDL_JOB_NAME=first
EDL_JOB_UID=$(id -u)
EDL_JOB_USER=$who
EDL_NODE=n1
EDL_VISIT=$work/n1/visits/1
HOME=$home
LANG=C.UTF-8
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
SHELL=/bin/sh
END_OF_WANTED
diff "$work/wanted" "$work/seen" || fail "the environment of a prolog is another one"
await 120 'the log has what a prolog wrote' grep -q 'prolog 10-first of job 1: the first line of a prolog' "$work/n1.log"
[ ! -e "$work/n1/visits/1" ] || fail "a job that is gone is remembered"

# it fails: the node is set aside with the reason, the job goes on elsewhere without a try less
drop_in "$prolog/20-second" <<<'#!/bin/sh
echo "mounting"; echo "no route to host" >&2; exit 3'
submit moves -- true
await 120 'n1 set aside' node_is quarantined 'prolog 20-second ended with 3: no route to host'
edl why moves >"$work/told"
grep -q 'node n1: prolog 20-second ended with 3' "$work/told" || fail "edl why does not name the prolog: $(cat "$work/told")"
agent1=$agent
agent_begin n2
edl wait moves >/dev/null || fail "it did not run elsewhere"
edl events | grep -q 'node-quarantined.*20-second' || fail "no event tells of it: $(edl events)"
end "$agent"
agent=$agent1
edl node cordon n2 >/dev/null
rm "$prolog/20-second"
ready

# two jobs have their prologs beside each other: each waits for the other's
drop_in "$prolog/10-first" <<<'#!/bin/sh
: >"'"$work"'/began.$EDL_JOB_NAME"
until [ -e "'"$work"'/began.left" ] && [ -e "'"$work"'/began.right" ]; do sleep 0.05; done'
submit left -- true
submit right -- true
edl wait left right >/dev/null || fail "two prologs did not run at a time"

# killed in the middle of it: what it began is ended, and the epilog runs
drop_in "$prolog/10-first" <<<'#!/bin/sh
'"$hang"
: >"$work/log"
submit stopped -- true
await 120 'the prolog' hangs
edl kill stopped >/dev/null
await 120 'its end' job_is stopped killed
nothing_hangs || fail "a prolog of a job that was killed goes on"
[ "$(cat "$work/log")" = "epilog $(edl show stopped --json | jq .job.id)" ] || fail "no epilog: $(cat "$work/log")"

# the agent is killed in the middle of it, and what runs it as well: the rest is ended, and the prolog runs again
rm "$work/hangs"
submit again -- true
await 120 'the prolog' hangs
kill -STOP "$(cat "$work/runner")"
kill -9 "$agent"
kill -9 "$(cat "$work/runner")"
wait "$agent" 2>/dev/null || true
drop_in "$prolog/10-first" <<<'#!/bin/sh
for pid in $(cat "'"$work"'/hangs"); do if kill -0 $pid 2>/dev/null; then echo "still there: $pid" >>"'"$work"'/log"; fi; done
echo again >>"'"$work"'/log"'
: >"$work/log"
n1_begin
edl wait again >/dev/null || fail "its job did not run: $(edl why again)"
[ "$(paste -sd, "$work/log")" = "again,epilog $(edl show again --json | jq .job.id)" ] || fail "behind an agent that was killed: $(cat "$work/log")"

# it ended while there was no agent: its epilog runs before that is told
: >"$work/log"
submit alone -- sh -c "until [ -e $work/go ]; do sleep 0.05; done; echo program >>$work/log"
await 120 'a process' job_is alone running
kill -9 "$agent"
wait "$agent" 2>/dev/null || true
: >"$work/go"
await 120 'its end' grep -q program "$work/log"
drop_in "$epilog/50-last" <<<'#!/bin/sh
export PATH="'"$PATH"'" EDL_SERVER="'"$EDL_SERVER"'" EDL_TOKEN_FILE="'"$EDL_TOKEN_FILE"'"
edl show alone --json | jq -r .job.state >>"'"$work"'/log"'
n1_begin
edl wait alone >/dev/null || fail "it failed: $(edl why alone)"
[ "$(paste -sd, "$work/log")" = 'again,program,running' ] || fail "its epilog: $(cat "$work/log")"

# an epilog that fails: the job has succeeded, the node is set aside; so it is also where the agent could not tell at once
drop_in "$epilog/50-last" <<<'#!/bin/sh
exit 7'
submit ends -- true
edl wait ends >/dev/null || fail "an epilog failed, and its job with it"
await 120 'n1 set aside' node_is quarantined 'epilog 50-last ended with 7'
ready

# it takes too long: all of it is killed
rm "$epilog/50-last" "$work/hangs"
end "$agent"
limit=1s
n1_begin
drop_in "$prolog/10-first" <<<'#!/bin/sh
'"$hang"
submit late -- true
await 120 'n1 set aside' node_is quarantined 'prolog 10-first took longer than 1 s'
nothing_hangs || fail "a prolog goes on behind its time"
edl kill late >/dev/null

# what a stranger could have put there is not run
if [ "$(id -u)" = 0 ]; then
    drop_in "$prolog/10-first" <<<'#!/bin/sh
touch "'"$work"'/stranger"'
    chown nobody "$prolog/10-first"
    ready
    submit owner -- true
    await 120 'n1 set aside' node_is quarantined "prolog 10-first is not run: $prolog/10-first is not root"
    chown root "$prolog/10-first"
    chmod 777 "$prolog"
    ready
    await 120 'n1 set aside' node_is quarantined "prolog 10-first is not run: $prolog is not root"
    [ ! -e "$work/stranger" ] || fail "it was run"
    chmod 755 "$prolog"
    ready
    edl wait owner >/dev/null || fail "it does not run"
    [ -e "$work/stranger" ] || fail "it was not run"
    # a link leads through a folder of others to a program of root's: they would choose which
    mkdir -m 777 "$work/open"
    ln -s /bin/true "$work/open/through"
    ln -sf "$work/open/through" "$prolog/10-first"
    submit through -- true
    await 120 'n1 set aside' node_is quarantined "prolog 10-first is not run: $work/open is not root"
    chmod 755 "$work/open"
    ready
    edl wait through >/dev/null || fail "a link of root's is not followed"
fi
