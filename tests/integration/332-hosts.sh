#!/usr/bin/env bash
# A driver of Horovod (a fake one: its protocol) that is a process of the job follows by `edl hosts --discovery` how it grows, loses a
# process and shrinks; the same lists are asked for from outside and by another job.
# Takes 10 s: a job grows, loses a process, has it again and shrinks, and each is waited for
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 2 --cpu 2000m
cat >"$work/driver" <<'END'
#!/bin/sh
[ "$EDL_INDEX" = 0 ] || exec sleep 1000
unset EDL_SERVER EDL_TOKEN EDL_TOKEN_FILE XDG_RUNTIME_DIR
exec python3 "$1/tests/lib/horovod_driver.py" 0.3 edl hosts --discovery >"$2/driver.log"
END
chmod +x "$work/driver"
job() { # NAME MAX COMMAND...
    jq -n --arg name "$1" --argjson max "$2" '{name: $name, fault_tolerant: true, grace: "1s", restart: {max: 20, backoff: "200ms"},
        roles: [{role: "trainer", min: 1, max: $max, cpu: "200m", command: $ARGS.positional}]}' --args "${@:3}"
}
job horovod 2 "$work/driver" "$EDL_SOURCE_DIR" "$work" | edl submit - >/dev/null
told() { # LINE: the driver's newest
    [ "$(tail -n 1 "$work/driver.log" 2>/dev/null)" = "hosts $1" ] || while_job horovod false
}
await 120 'both hosts' told 'trainer-0:1 trainer-1:1'
edl scale horovod 1:3 >/dev/null
await 120 'the third host' told 'trainer-0:1 trainer-1:1 trainer-2:1'

# outside: the same, by the node's address, and all of it
[ "$(edl hosts horovod.trainer --hostfile)" = $'trainer-0 slots=1\ntrainer-1 slots=1\ntrainer-2 slots=1' ] || fail "$(edl hosts horovod --hostfile)"
[ "$(edl hosts horovod --discovery --addresses)" = 127.0.0.1:3 ] || fail "$(edl hosts horovod --discovery --addresses)"
edl hosts horovod --json | holds '[.hosts[] | .state == "running" and (.ports | length) > 0 and .gpus == []] | length == 3 and all'
[ "$(edl hosts horovod | awk 'NR > 1 { print $1, $3, $5, $6 }' | sort -u | wc -l)" = 3 ] || fail "$(edl hosts horovod)"

# the next incarnation is the same host: it comes back with the rank behind those that stayed
edl node cordon node-1 node-2 >/dev/null # it comes back when its end was seen
kill -9 "$(pids horovod trainer 1)"
await 120 'the host is gone' told 'trainer-0:1 trainer-2:1'
edl node uncordon node-1 node-2 >/dev/null
await 120 'the host is back' told 'trainer-0:1 trainer-2:1 trainer-1:1'
edl scale horovod 1:1 >/dev/null
await 120 'one is left' told 'trainer-0:1'
! grep -e failed -e 'no host' "$work/driver.log" || fail 'the script failed at some time'

# another job asks by name; a role and a job that are not there are named
cat >"$work/asks" <<'END'
edl hosts horovod.trainer --discovery
edl hosts --addresses
edl hosts "$EDL_JOB.trainer" --hostfile
edl hosts "$EDL_JOB.nobody" || echo "status $?"
END
job asks 1 sh "$work/asks" | jq '.fault_tolerant = false | .roles[0].max = 1' >"$work/asks.json"
edl submit "$work/asks.json" >/dev/null
edl wait asks --timeout 120 || fail "asks: $(edl logs asks)"
edl logs asks >"$work/answers"
diff - "$work/answers" <<END || fail 'inside another job'
[trainer-0] trainer-0:1
[trainer-0] 127.0.0.1
[trainer-0] trainer-0 slots=1
[trainer-0] edl: job asks has no role "nobody"
[trainer-0] status 1
END
if edl hosts horovod.trainr 2>"$work/err"; then fail 'an unknown role'; fi
grep -qx 'try: edl hosts horovod.trainer' "$work/err" || fail "no remedy: $(cat "$work/err")"
edl kill horovod >/dev/null
cluster_stop
