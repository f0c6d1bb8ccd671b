#!/usr/bin/env bash
# Control groups of version 2 alone, with all controllers, without systemd: tests/integration/259-control-groups.sh in a virtual
# machine, because on one with hierarchies of version 1 those have the controllers. The agent is in a group that is not the
# root, which it has to leave before it can divide it.
for tool in qemu-system-x86_64 cpio zstd; do
    if ! command -v $tool >/dev/null; then
        echo "$tool is missing"
        exit 77
    fi
done
if [ "$(uname -m)" != x86_64 ]; then
    echo 'the virtual machine is for x86_64'
    exit 77
fi
export machine_wants_kernel=yes
. "$EDL_SOURCE_DIR/tests/lib/machines.sh"
set -eu
mkdir -p "$machines/own/opt/edl/bin" "$machines/own/src/tests/lib" "$machines/own/src/tests/integration"
for program in edl edl-scheduler edl-agent edl-supervisor edl-prober edl-workspace; do cp "$EDL_BUILD_DIR/$program" "$machines/own/opt/edl/bin"; done
cp "$EDL_SOURCE_DIR"/tests/lib/{await,fail,daemons}.sh "$machines/own/src/tests/lib"
cp "$EDL_SOURCE_DIR/tests/integration/259-control-groups.sh" "$machines/own/src/tests/integration"

# as a service manager would put it: in a group of its own, or beside those of its processes where they are
cat >"$machines/own/in-a-group" <<'END'
#!/bin/sh
echo $$ 2>/dev/null >/sys/fs/cgroup/below/cgroup.procs || echo $$ >/sys/fs/cgroup/below/edl-agent/cgroup.procs
exec "$@"
END
cat >"$machines/own/init" <<'END'
#!/bin/bash
export PATH=/opt/edl/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root EDL_SOURCE_DIR=/src EDL_BUILD_DIR=/opt/edl/bin EDL_AGENT_THROUGH=/in-a-group
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
ln -sf /proc/self/fd /dev/fd
mount -t cgroup2 none /sys/fs/cgroup
ip link set lo up
for controller in cpu memory pids cpuset; do echo +$controller >/sys/fs/cgroup/cgroup.subtree_control; done
mkdir /sys/fs/cgroup/below
bash /src/tests/integration/259-control-groups.sh
echo "the test ended with $?"
echo o >/proc/sysrq-trigger
read -r
END
chmod +x "$machines/own/init" "$machines/own/in-a-group"
[ -s "$base.initrd" ] || (cd "$base" && find . | cpio -o -H newc --quiet | zstd -qf -o "$base.initrd.new" && mv "$base.initrd.new" "$base.initrd")
(cd "$machines/own" && find . | cpio -o -H newc --quiet | zstd -1 -q | cat "$base.initrd" - >"$machines/initrd")
timeout 280 qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 2 -m 2048 -nic none -nographic -no-reboot -kernel "$base.vmlinuz" \
    -initrd "$machines/initrd" -append 'console=ttyS0 quiet mitigations=off random.trust_cpu=on tsc=reliable panic=-1' </dev/null >"$machines/console" 2>&1 || true
if ! grep -q 'the test ended with 0' "$machines/console"; then
    tail -n 60 "$machines/console"
    exit 1
fi
