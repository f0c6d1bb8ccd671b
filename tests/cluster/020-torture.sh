#!/usr/bin/env bash
# The agent is killed again and again while processes of every bad habit come and go: nothing of them is left, nobody else is
# harmed, and of no slot two incarnations live at a time. EDL_KILLS (12) kills in each runtime; EDL_RUNTIME is some of systemd,
# direct, and grouped (direct in a unit that may divide its control group); all else.
# Takes 20 s: twelve kills in each runtime, and machines boot
. "$EDL_SOURCE_DIR/tests/lib/machines.sh"
kills=${EDL_KILLS:-12}
array=96        # jobs with one process, of all habits, besides one job with four that begin again
kills_an_array=40 # the next one is submitted then, so that as many come and go to the end
on_fail() {
    machine_in n1 sh -c 'tail -n 25 /run/edl/agent.log; tail -n 12 /run/edl/scheduler.log; ls /run/torture/slots | wc -l; ps -eo pid,ppid,stat,args --sort=pid | tail -n 30'
}
edl() { machine_in n1 env EDL_SERVER="http://$address" EDL_TOKEN_FILE=/run/edl/scheduler/admin-token edl "$@"; }
until_gone() { # PROGRAM
    while machine_in n1 sh -c "kill -0 \$(cat /run/edl/$1.pid)" 2>/dev/null; do read -r -t 0.02 <> <(:) || true; done
}
machine_boot n1

# what each process does, by its number; whatever it leaves behind holds the lock of its slot
machine_in n1 sh -c 'mkdir -p /run/edl /run/torture && cat >/run/torture/habit' <<'END'
exec 9>>"/run/torture/slots/$EDL_JOB.$EDL_ROLE.$EDL_INDEX"
flock -n 9 || echo "$EDL_JOB $EDL_ROLE $EDL_INDEX $EDL_INCARNATION" >>/run/torture/two-at-a-time
echo "$EDL_JOB $EDL_ROLE $EDL_INDEX $EDL_INCARNATION" >>/run/torture/started
case $((${EDL_ARRAY_INDEX:-$EDL_INCARNATION} % 9)) in
0) exit 0 ;;
1) setsid sleep 600 & exit 0 ;;
2) (setsid sh -c 'sleep 601 & sleep 602' &) & exit 0 ;;
3) trap '' TERM; sleep 0.4; exit 1 ;;
4) exit 1 ;;
5) [ "$1" = limited ] && exec perl -e 'my $all = "x" x 100000000; sleep 603'; exit 137 ;;
6) for i in 1 2 3 4 5 6 7 8; do (trap '' TERM; while :; do sleep 0.02 & wait; done) & done; exit 0 ;;
7) exec sleep 0.7 ;;
8) [ "$1" = limited ] && exec perl -e 'if (fork) { select undef, undef, undef, 0.3; exit } for (;;) { defined fork or select undef, undef, undef, 0.05 }'; exit 0 ;;
esac
END

measure() { # one runtime
    runtime=$1
    # shellcheck disable=SC2034
    fail_in="$1: "
    local limited='' i deadline left ended jobs=1 by=direct scope=''
    [ "$runtime" = direct ] || limited=limited
    [ "$runtime" = systemd ] && by=systemd
    machine_in n1 sh -c 'rm -rf /run/torture/slots /run/torture/started /run/torture/two-at-a-time /run/edl/scheduler /var/lib/edl
        mkdir -p /run/torture/slots; : >/run/edl/agent.log; setsid sleep 9999 </dev/null >/dev/null 2>&1 & echo $! >/run/edl/bystander
        edl-scheduler --state-dir /run/edl/scheduler --listen 127.0.0.1:0 >/run/edl/scheduler.log 2>&1 & echo $! >/run/edl/scheduler.pid'
    deadline=$((SECONDS + 120))
    until machine_in n1 test -s /run/edl/scheduler/address; do
        [ $SECONDS -lt $deadline ] || fail 'the scheduler does not listen'
        read -r -t 0.05 <> <(:) || true
    done
    address=$(machine_in n1 cat /run/edl/scheduler/address)
    machine_in n1 sh -c "printf '%s' '{\"metadata\":{\"name\":\"again\"},\"spec\":{\"fault_tolerant\":true,\"grace\":\"1s\",
        \"trainer\":{\"min-instance\":4,\"max-instance\":4,\"command\":[\"sh\",\"/run/torture/habit\"],
        \"resources\":{\"requests\":{\"cpu\":\"10m\"}}}}}' >/run/edl/again"
    edl submit /run/edl/again >/dev/null

    for ((i = 0; i < kills; i++)); do
        if [ $((i % kills_an_array)) = 0 ]; then
            edl submit --name "habits-$i" --array "0-$((array - 1))" --cpu 20m --memory 16Mi -- sh /run/torture/habit $limited >/dev/null
            jobs=$((jobs + array))
        fi
        # a scope cannot be had twice while something of the last agent is in it
        [ "$runtime" != grouped ] || scope="systemd-run --quiet --scope -p Delegate=yes --unit agent-$i"
        machine_in n1 sh -c "$scope"' edl-agent --node n1 --scheduler "http://$(cat /run/edl/scheduler/address)" --heartbeat 300ms --runtime '"$by"' \
            --join-token-file /run/edl/scheduler/join-token --state-dir /var/lib/edl/agent --allow-root --no-foreign --tasks-max 64 \
            >>/run/edl/agent.log 2>&1 & echo $! >/run/edl/agent.pid'
        read -r -t "0.$((RANDOM % 5))$((RANDOM % 10))" <> <(:) || true
        [ $i = $((kills - 1)) ] && break
        machine_in n1 sh -c 'kill -9 $(cat /run/edl/agent.pid)' 2>/dev/null || true
        until_gone agent # it holds the lock of its folder as long as it dies
    done
    # all that were submitted end, however many are left; nothing of it stands still
    ended=-1
    edl kill again >/dev/null 2>&1 || true
    until [ "$ended" = $jobs ]; do
        left=$(edl ps --all --json | jq '[.jobs[] | select(.state == "succeeded" or .state == "failed" or .state == "killed")] | length')
        [ "$left" = "$ended" ] || deadline=$((SECONDS + 120))
        ended=$left
        if [ $SECONDS -ge $deadline ]; then
            edl nodes n1 | head -n 6
            edl why "$(edl ps --all --json | jq -r '[.jobs[] | select(.state == "queued")][0].id // 1')" || true
        fi
        [ $SECONDS -lt $deadline ] || fail "$ended of $jobs jobs ended: $(edl ps --all --json | jq -c '[.jobs[].state] | group_by(.) | map({(.[0]): length}) | add')"
        read -r -t 0.3 <> <(:) || true
    done

    [ "$runtime" != grouped ] || machine_in n1 cat /run/edl/agent.log | lacks 'limits of processes are not held\|cannot make a control group\|cannot set' ||
        fail 'control groups could not be used'
    machine_in n1 test ! -e /run/torture/two-at-a-time || fail "two incarnations at a time: $(machine_in n1 cat /run/torture/two-at-a-time)"
    machine_in n1 sort -o /run/edl/sorted /run/torture/started || fail 'who was started is not known'
    silent machine_in n1 uniq -d /run/edl/sorted || fail "started twice: $(machine_in n1 uniq -d /run/edl/sorted)"
    machine_in n1 sh -c 'kill -0 $(cat /run/edl/bystander)' || fail 'a bystander was killed'
    left=$(machine_in n1 pgrep -a -f 'habit|sleep 60|sleep 0|perl' || true)
    [ -z "$left" ] || fail "left: $left"
    # no kill of the agent is a failure of a job
    left=$(edl ps --all --json | jq -r '.jobs[] | select(.state == "failed") | .name + ": " + .reason' |
        grep -v 'exit code 1 (\|exit code 137\|out of memory' || true)
    [ -z "$left" ] || fail "jobs failed that should not: $left"
    [ "$(edl ps --all --json | jq '[.jobs[] | select(.state == "succeeded")] | length')" -ge $((jobs / 2)) ] || fail 'jobs failed that should not'
    left=$(machine_in n1 find /sys/fs/cgroup -type d -name 'edl-*-*' 2>/dev/null || true)
    [ -z "$left" ] || fail "control groups are left: $left"
    echo "$runtime: $kills kills, $(machine_in n1 sh -c 'wc -l </run/torture/started') processes started, $SECONDS s"
    machine_in n1 sh -c 'kill $(cat /run/edl/agent.pid) $(cat /run/edl/bystander) $(cat /run/edl/scheduler.pid)'
    until_gone agent
    until_gone scheduler
}
for each in ${EDL_RUNTIME:-systemd direct grouped}; do measure "$each"; done
