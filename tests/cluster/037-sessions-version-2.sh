#!/usr/bin/env bash
# Runs at night, and for agent/groups/ agent/session/: its machine is an emulated one
# Sessions where control groups of version 2 are alone, with all controllers, without systemd: tests/integration/365-session-groups.sh
# in a virtual machine. There the kernel lets no process be in a group that hands controllers down: a session's is below one that does
# not.
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/virtual.sh"
set -eu
virtual_libraries await fail conditions daemons
mkdir -p "$own/src/tests/integration"
cp "$EDL_SOURCE_DIR/tests/integration/365-session-groups.sh" "$own/src/tests/integration"
cat >"$own/in-a-group" <<'END'
#!/bin/sh
echo $$ 2>/dev/null >/sys/fs/cgroup/below/cgroup.procs || echo $$ >/sys/fs/cgroup/below/edl-agent/cgroup.procs
exec "$@"
END
cat >"$own/init" <<'END'
#!/bin/bash
export PATH=/opt/edl/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root EDL_SOURCE_DIR=/src EDL_BUILD_DIR=/opt/edl/bin EDL_AGENT_THROUGH=/in-a-group
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts
mount -t devpts devpts /dev/pts
mount -t tmpfs tmp /tmp
ln -sf /proc/self/fd /dev/fd
mount -t cgroup2 none /sys/fs/cgroup
ip link set lo up
for controller in cpu memory pids cpuset; do echo +$controller >/sys/fs/cgroup/cgroup.subtree_control; done
mkdir /sys/fs/cgroup/below
bash /src/tests/integration/365-session-groups.sh
echo "the test ended with $?"
echo o >/proc/sysrq-trigger
read -r
END
chmod +x "$own/init" "$own/in-a-group"
virtual_run
