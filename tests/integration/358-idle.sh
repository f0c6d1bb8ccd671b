#!/usr/bin/env bash
# edl-idle: a command that works goes on and ends well once it is idle; an empty place ends by itself, without a scheduler; whoever comes
# into its group, or with its environment, holds it; SIGTERM ends it at once.
# Takes 15 s: three times two seconds in which nothing happens, beside others
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 1 --cpu 4000m

says() { edl logs "$1" | grep -q "$2"; }
submit() { # NAME ARGUMENT...: of edl-idle
    local name=$1
    shift
    edl submit --name "$name" --cpu 500m --memory 100Mi -- edl-idle "$@" >/dev/null
}
ends_well() { # NAME SAYS...
    edl wait "$1" --timeout 300 >/dev/null || fail "$1 ended otherwise: $(edl logs "$1")"
    says "$1" "$2" || fail "$1 does not say why it ends: $(edl logs "$1")"
}

# it works for longer than it may be idle, and then does nothing
cat >"$work/works" <<'END'
import sys, time
end = time.monotonic() + 4
while time.monotonic() < end:
    pass
open(sys.argv[1] + "/worked", "w").close()
time.sleep(1000)
END
# as a session: in a group below that of the process, where that is its own, and with its environment
cat >"$work/visitor" <<'END'
import os, sys
pid = sys.argv[1]
environ = dict(word.split(b"=", 1) for word in open(f"/proc/{pid}/environ", "rb").read().split(b"\0") if word)
group = next(line[3:].strip() for line in open(f"/proc/{pid}/cgroup") if line.startswith("0::"))
for root in "/sys/fs/cgroup", "/sys/fs/cgroup/unified":
    try:
        if group != "/":
            os.mkdir(f"{root}{group}/session-test")
        with open(f"{root}{group}/session-test/cgroup.procs", "w") as procs:
            procs.write("0")
    except OSError:
        pass
os.execvpe("sleep", ["sleep", "1000"], environ)
END
submit works --idle 2s -- python3 "$work/works" "$work"
ends_well works 'nothing has worked for 2 s: this ends now'
[ -e "$work/worked" ] || fail "it ended while it worked: $(edl logs works)"
[ "$(edl logs works | grep -c 'this ends in')" -ge 5 ] || fail "it does not say how long is left: $(edl logs works)"

# one that will not hear of an end is killed; one that is alone ends by itself
mkfifo "$work/never"
submit deaf --idle 1s --grace 200ms -- sh -c 'trap "" TERM; while true; do read x <"$0" || true; done' "$work/never"
ends_well deaf 'goes on in spite of SIGTERM: SIGKILL'
submit place --sessions 2s
ends_well place 'nobody has been here for 2 s: this ends now'

# somebody comes into it, and leaves
submit visited --sessions 20s # every two seconds it says how long is left
left() { edl logs visited | grep -c 'nobody has been'; }
await 120 'it says how long is left' while_job visited says visited 'nobody has been here for .* this ends in'
python3 "$work/visitor" "$(pids visited trainer)" &
visitor=$!
await 120 'it sees who is there' while_job visited says visited 'somebody is here again'
told=$(left)
submit clock --sessions 4s
ends_well clock 'this ends now'
[ "$(left)" = "$told" ] || fail "it did not see who was there: $(edl logs visited)"
kill "$visitor"
wait "$visitor" || true
alone() { [ "$(left)" -gt "$told" ]; }
await 120 'it sees that nobody is there' while_job visited alone
edl kill visited >/dev/null

# its command's end is its own; so is SIGTERM, which the command hears once
submit fails --idle 1h sh -c 'exit 7'
! edl wait fails >/dev/null || fail 'a command that failed succeeded'
edl show fails --json | holds '.job.reason | test("exit code 7")' || fail "it ended otherwise: $(edl show fails)"
submit missing --idle 1h no-such-program --idle 3
! edl wait missing >/dev/null || fail 'a command that is not there succeeded'
says missing 'cannot execute no-such-program: ' || fail "it says otherwise: $(edl logs missing)"
submit held --sessions 1h
submit told --idle 1h -- sh -c 'trap "echo told; n=\$((n + 1))" TERM; echo up; while [ "${n:-0}" = 0 ]; do read x <"$0" || true; done; read -t 1 x <>"$0"; exit 3' "$work/never"
await 120 'it waits' while_job told says told up
await 120 'it waits' job_is held running
edl kill held told >/dev/null
! edl wait held --timeout 300 >/dev/null || fail 'a place that was killed succeeded'
! edl wait told --timeout 300 >/dev/null || fail 'a command that was killed succeeded'
[ "$(edl logs told | grep -c told)" = 1 ] || fail "it heard of its end otherwise: $(edl logs told)"
cluster_stop

# without a job around it, and with the command's options for the command
[ "$(edl-idle --idle 1h echo --idle 5 -- x)" = '--idle 5 -- x' ] || fail 'it took a word of the command'
edl-idle --sessions 1s 2>"$work/said" || fail "alone it ends otherwise: $(cat "$work/said")"
status=0
edl-idle --sessions 1s true 2>"$work/said" || status=$?
[ $status = 2 ] && grep -q 'a command ends by --idle' "$work/said" || fail "both are taken: $(cat "$work/said")"
