#!/usr/bin/env bash
# A machine that stood still as a whole, its supervisors with its programs, goes on after its work was started elsewhere: what ran
# there is frozen before it acts for more than a moment, and killed as it stands. Both freezers of the kernel, three times each.
# Runs at night: it waits for six leases to end
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
skip() {
    echo "$1"
    exit 77
}
[ "$(id -u)" = 0 ] || skip 'only root makes control groups here'
python3 -c 'import os; os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))' 2>"$work/err" || skip 'no process may be real-time here'

begin scheduler policy edl-scheduler --conf '' --state-dir "$work/state" --listen 127.0.0.1:0 --lease 2s
EDL_SERVER=http://$(cat "$work/state/address")
EDL_TOKEN_FILE=$work/state/admin-token
export EDL_SERVER EDL_TOKEN_FILE
chmod 711 "$work"
# it says without a pause that it acts: its incarnation, and when
cat >"$work/spin" <<'END'
import os, time
os.fork()
to = os.open(os.environ['OUT'], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
me = os.environ['EDL_INCARNATION'].encode()
while True:
    os.write(to, b'%s %d\n' % (me, time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000))
END
agent() { # NODE COMMAND: of the shell that becomes the agent
    begin "$1" "joined as $1" sh -c "$2; exec edl-agent --conf '' --node $1 --scheduler $EDL_SERVER --join-token-file $work/state/join-token --state-dir $work/$1 --runtime direct --allow-root --no-foreign --address 127.0.0.1 --stop-processes-on-exit --cpu 2 --cut-off-kill 60s" sh edl-agent
}
has_line_of() { tail -n 1 "$out" 2>"$work/err" | grep -q "^$1 "; } # EXPRESSION
is_gone() { [ "$(pgrep -c -f -- "$work/spin")" = 2 ]; }

stands_still() { # NAME GROUP FILE FROZEN THAWED
    local group=$2 file=$2/$3 round late
    mkdir "$group"
    agent "$1" "echo \$\$ >$group/cgroup.procs"
    for round in 1 2 3; do
        out=$work/$1-$round
        edl node cordon other >"$work/out"
        edl submit --name "$1-$round" --env "OUT=$out" --cpu 500m --memory 32Mi -- python3 "$work/spin" >"$work/out" 2>&1
        await 120 'it runs' has_line_of 1
        edl node uncordon other >"$work/out"
        echo "$4" >"$file"
        await 120 'it runs elsewhere' has_line_of '[2-9]'
        echo "$5" >"$file"
        await 120 'the first one is gone' is_gone
        edl kill "$1-$round" >"$work/out"
        edl wait "$1-$round" --timeout 120 >"$work/out" || true
        late=$(awk '$1 != 1 { elsewhere = 1 } $1 == 1 && elsewhere { if (!first) first = $2; last = $2; n++ } END { print n + 0, last - first }' "$out")
        echo "$1, round $round: ${late% *} acts in ${late#* } us"
        [ "${late#* }" -lt 1500 ] || fail "it acted for ${late#* } us beside the one that runs elsewhere"
        rm "$out"
    done
    end "$pid"
    await 120 'its group is empty' rmdir_group "$group"
}
rmdir_group() {
    find "$1" -mindepth 1 -depth -type d -exec rmdir {} + 2>"$work/err"
    rmdir "$1" 2>"$work/err"
}

agent other :
tried=0
for root in /sys/fs/cgroup/unified /sys/fs/cgroup; do
    if [ -e "$root/cgroup.procs" ] && [ -d "$root" ] && grep -q " $root cgroup2 " /proc/mounts; then
        stands_still unified "$root/edl-test-$$" cgroup.freeze 1 0
        tried=1
        break
    fi
done
if [ -d /sys/fs/cgroup/freezer ]; then
    stands_still freezer "/sys/fs/cgroup/freezer/edl-test-$$" freezer.state FROZEN THAWED
    tried=1
fi
[ $tried = 1 ] || skip 'there are no control groups that can be frozen'
