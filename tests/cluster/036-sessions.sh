#!/usr/bin/env bash
# Sessions inside processes that are units, of the packaged agent, whose sandbox a session must not have: it is in the control groups
# and mounts of the process, as its account, within its limits, and nothing of it is left when it was killed, or the process ends. Prolog and epilog of that agent mount.
# Takes 40 s: a machine boots
. "$EDL_SOURCE_DIR/tests/lib/machines.sh"
. "$EDL_SOURCE_DIR/tests/lib/units.sh"
on_fail() { cat "$machines/err" "$machines/out"; machine_in n1 sh -c "cat /run/edl-s/log; journalctl -u edl-agent -u edl-session* --no-pager -n 40; ls -la /run/edl-s"; }
edl() { machine_in n1 env EDL_SERVER="$server" EDL_TOKEN_FILE=/run/edl-s/admin-token edl "$@"; }
none() { silent machine_in n1 sh -c "$1 || true"; }

machine_boot n1
machine_in n1 mkdir -m 700 /run/edl-s
units_install n1 || fail 'the units cannot be installed'
machine_in n1 sh -c 'useradd -u 1234 -m -s /bin/bash ann; edl-scheduler --state-dir /run/edl-s --listen 127.0.0.1:0 >/run/edl-s/log 2>&1 &'
await 120 'the scheduler listens' machine_in n1 test -s /run/edl-s/address
server=http://$(machine_in n1 cat /run/edl-s/address)
machine_in n1 sh -c 'rm -f /etc/edl/agent.conf.d/10-this-machine.conf
    printf "scheduler: %s\njoin-token-file: /run/edl-s/join-token\nno-foreign: true\ndefault-user: ann\n" "$0" >/etc/edl/agent.conf.d/own.conf
    mkdir -p /etc/credstore; touch /etc/credstore/edl.join-token; systemctl start edl-agent' "$server" || fail 'there is no agent'
cp "$EDL_SOURCE_DIR/tests/lib/session_driver.py" "$machines/driver.py"
machine_in n1 cat /run/edl-s/admin-token >"$machines/token"
# the driver is a program of this machine in the network of that one
session() {
    EDL_SERVER=$server EDL_TOKEN_FILE=$machines/token timeout 300 nsenter -t "${machine_leader[n1]}" -n "$python" "$machines/driver.py" j "$@"
}
edl submit --name j --cpu 500m --memory 96Mi -- sh -c 'touch /tmp/of-the-job; exec sleep 100000' || fail 'no job'
await 120 'it runs' job_is j running
unit=$(machine_in n1 systemctl list-units 'edl-1.*.service' --no-legend --plain | cut -d' ' -f1)
program=$(machine_in n1 pgrep -x sleep -u ann)

session -- sh -c 'id -un; ls /tmp/of-the-job; pwd; cat /proc/self/cgroup; grep -E "NoNewPrivs|Seccomp:|CapBnd" /proc/self/status; ls /run/user 2>&1; exit 3' >"$machines/out" 2>&1 || status=$?
[ "${status:-0}" = 3 ] || fail "its status is ${status:-0}: $(cat "$machines/out"; machine_in n1 journalctl -n 30 --no-pager)"
[ "$(head -n 2 "$machines/out")" = "ann
/tmp/of-the-job" ] || fail "it does not see what the job sees: $(cat "$machines/out")"
sed -n '/^[0-9]*:/p' "$machines/out" | sed 's,/session-[0-9a-f]*$,,' >"$machines/groups"
machine_in n1 cat "/proc/$program/cgroup" | cmp - "$machines/groups" || fail "it is in other control groups: $(cat "$machines/groups")"
for key in NoNewPrivs Seccomp: CapBnd; do
    [ "$(grep "$key" "$machines/out")" = "$(machine_in n1 grep "$key" "/proc/$program/status")" ] || fail "$key is another one: $(cat "$machines/out")"
done
session --pty 30x90 --kind shell -- sh -c 'stty size; ls -l $(tty)' >"$machines/out" 2>&1 || fail "no terminal: $(cat "$machines/out")"
grep -q '^crw--w---- .* ann ' "$machines/out" || fail "its terminal is $(cat "$machines/out")"
status=0
session -- sh -c 'head -c 300M /dev/zero | tail -c 250M' >/dev/null 2>&1 || status=$?
machine_in n1 test -e "/proc/$program" || fail 'a session took the memory of the process'
status=0
session -- sh -c 'head -c 1 /dev/mem' >"$machines/out" 2>&1 && fail 'it reads a device that the job has not'

# its units go, and its groups
await 120 'no unit of a session is left' none 'systemctl list-units "edl-session-*" --no-legend --plain'
hold() {
    : >"$machines/err"
    session --hold --then ready -- bash -c 'setsid sleep 1711 & (setsid sleep 1711 &); exec sleep 1711' >"$machines/out" 2>"$machines/err" &
    holder=$!
    await 120 'the session is there' grep -q ready "$machines/err"
    await 120 'all of it' eval '[ "$(machine_in n1 pgrep -fc "sleep 17[1]1")" -ge 3 ]'
}
left='pgrep -f "sleep 17[1]1"; pgrep -x edl-session; find /sys/fs/cgroup -path "*.service/program/session-*"'
for what in 'kill -9 $(pgrep -o -x edl-session)' 'kill -9 $(pgrep -n -x edl-session)' 'kill -9 $(pgrep -x edl-session)' 'systemctl kill -s KILL edl-agent' 'systemctl stop "edl-session-*"'; do
    await 120 'the agent answers' eval 'session -- true 2>/dev/null'
    hold
    machine_in n1 sh -c "$what"
    await 120 "nothing is left after $what" none "$left"
    wait $holder || true
    machine_in n1 test -e "/proc/$program" || fail "the process was touched by $what"
done
hold
edl kill j
wait $holder || true
await 120 'nothing is left of the job' none "$left"
await 120 'nor of its unit' none "systemctl list-units '$unit' --no-legend --plain"

# a program in a unit reads what is typed, and edl-idle sees who works and who is there by the unit's groups
edl submit --name types --cpu 100m --memory 64Mi --stdin -- sh -c 'read -r line; echo "got $line"' || fail 'no job'
await 120 'it runs' job_is types running
echo 'a line' | edl attach types >"$machines/out" 2>&1 || fail "it read nothing: $(cat "$machines/out")"
grep -qx 'got a line' "$machines/out" || fail "it read: $(cat "$machines/out")"
edl submit --name idles --cpu 100m --memory 64Mi -- edl-idle --idle 2s -- sleep 100000 || fail 'no job'
# whoever comes first opens it
edl submit --name place --cpu 100m --memory 64Mi -- sh -c 'until [ -e /tmp/open ]; do sleep 0.1; done; exec edl-idle --sessions 4s' || fail 'no job'
await 120 'it runs' job_is place running
edl exec place -- sh -c 'touch /tmp/open; exec sleep 6' || fail "a place with somebody in it ended: $(edl logs place)"
edl wait idles place --timeout 300 || fail "they end otherwise: $(edl logs idles; edl logs place)"

# prolog and epilog are units with all rights of root: they mount, which the sandbox of the agent forbids
machine_in n1 sh -c 'mkdir -p /etc/edl/prolog.d /etc/edl/epilog.d
    printf "#!/bin/sh\nmountpoint -q /mnt || mount -t tmpfs \"job \$EDL_JOB_ID\" /mnt && echo of the prolog >/mnt/told && chown \$EDL_JOB_USER /mnt/told\n" >/etc/edl/prolog.d/10-mount
    printf "#!/bin/sh\numount /mnt\n" >/etc/edl/epilog.d/10-mount
    chmod 755 /etc/edl/prolog.d/10-mount /etc/edl/epilog.d/10-mount'
edl submit --name mounts --cpu 100m --memory 64Mi -- sh -c 'ls -l /mnt; cat /mnt/told' || fail 'no job'
edl wait mounts --timeout 300 || fail "its prolog did not mount: $(edl why mounts; edl nodes; machine_in n1 journalctl -u edl-agent -u 'edl-prolog*' --no-pager -n 30)"
edl logs mounts >"$machines/out"
grep -q ' ann .* told$' "$machines/out" && grep -q 'of the prolog$' "$machines/out" || fail "it sees: $(cat "$machines/out")"
machine_in n1 sh -c 'printf "#!/bin/sh\n[ -e /run/edl-s/again ] || { touch /run/edl-s/again; setsid sleep 1712 & sleep 1712; }\n" >/etc/edl/prolog.d/20-hangs
    chmod 755 /etc/edl/prolog.d/20-hangs'
edl submit --name again --cpu 100m --memory 64Mi -- true || fail 'no job'
await 120 'a prolog hangs' machine_in n1 pgrep -f 'sleep 171[2]'
machine_in n1 systemctl kill -s KILL edl-agent
await 120 'nothing is left of the prolog' none 'pgrep -f "sleep 171[2]"'
edl wait again --timeout 300 || fail "its prolog did not run again: $(edl why again; machine_in n1 journalctl -u edl-agent --no-pager -n 30)"
machine_in n1 sh -c '! mountpoint -q /mnt' || fail 'its epilog did not run before the end was told'
none 'systemctl list-units "edl-prolog-*" "edl-epilog-*" --no-legend --plain' || fail 'a unit of a prolog is left'
