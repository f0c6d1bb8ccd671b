# shellcheck shell=bash
# machines.sh - real machines for a test: Debian with systemd as PID 1 in systemd-nspawn, on a network of their own
#
#   . "$EDL_SOURCE_DIR/tests/lib/machines.sh"      # skips with the reason where that is impossible
#   machine_boot n1 n2                             # 10.77.0.11 and on, at once; the programs are in /opt/edl/bin
#   machine_in n1 COMMAND...
#   machine_reboot n1                              # in good order
#   machine_freeze n1, machine_thaw n1             # hangs, as seen from outside
#   machine_cut n1                                 # power off without a word; machine_boot n1 is the next boot
#   machine_link n1 down                           # or up: its cable
#   machine_cable n1 30 0 2000                     # loses 30 % of what it is sent and nothing of what it sends, takes 2 s each way
#   machine_cable n1                               # a good one again
#   $machines/shared                                # a folder, /shared on each of them
#   machine_has=PACKAGE,PACKAGE                     # before that: what its machines have besides, in a root of their own
#   machine_wants_kernel=yes                       # before that: a test that boots $base under $base.vmlinuz by itself
#   machine_wants_root=only                        # before that: what it takes is made, and nothing is run (machine-roots)
# The test itself is at 10.77.0.1, in a network namespace of its own. What a machine writes lives until the test ends. The
# root that all of them share is made once per list of packages and kept (EDL_MACHINES_DIR, else beside the builds).
machine_packages=systemd,systemd-sysv,dbus,iproute2,procps,jq,curl,libmicrohttpd12,libjansson4,libsqlite3-0,libsystemd0
machine_packages=$machine_packages,libcurl3-gnutls,libyaml-0-2,libgnutls30,libarchive13,libsnappy1v5,zlib1g,libjs-chart.js
# shellcheck disable=SC1091
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/await.sh"
machine_hierarchies='cpu cpuacct cpuset memory blkio pids devices freezer systemd unified'

machines_skip() {
    echo "no machines can be made here: $1"
    exit 77
}

# the root of all machines: read-only below each one's own writes. One that has more is made out of the one that has the least
machines_root() {
    local dir=${EDL_MACHINES_DIR:-${EDL_BUILD_DIR:?}/../machines} sources='' file
    mkdir -p "$dir"
    dir=$(cd "$dir" && pwd)
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do [ -s "$file" ] && sources="$sources $file"; done
    (
        flock 9
        machines_root_of "$machine_packages" --variant=minbase --include="$machine_packages" &&
            { [ -z "${machine_has:-}" ] || machines_root_of "$machine_packages,$machine_has" --variant=custom --include="$machine_has" \
                --setup-hook="tar -C '$(machines_root_at "$machine_packages")' --exclude=./dev -c . | tar -C \"\$1\" -x"; }
    ) 9>"$dir/lock" || machines_skip "mmdebstrap cannot make a root, see above"
    base=$(machines_root_at "$machine_packages${machine_has:+,$machine_has}")
}

# PACKAGES; of this release, since the programs are built for its libraries
machines_root_at() { echo "$dir/$(. /etc/os-release && echo "$VERSION_CODENAME $1" | sha256sum | cut -c1-16)"; }

machines_root_of() { # PACKAGES OPTION...: unless it is there
    local root new
    root=$(machines_root_at "$1")
    new=$root.new
    [ ! -e "$root/etc/machine-id" ] || return 0
    rm -rf "$root" "$new"
    # dpkg leaves out by itself what nobody reads there: mmdebstrap would have each archive read by a filter in Python
    # shellcheck disable=SC2016,SC2086
    mmdebstrap --quiet "${@:2}" --setup-hook='mkdir -p "$1/etc/dpkg/dpkg.cfg.d" && printf "%s\n" \
        force-unsafe-io "path-exclude=/usr/share/doc/*" "path-exclude=/usr/share/locale/*" "path-exclude=/usr/share/man/*" >"$1/etc/dpkg/dpkg.cfg.d/machines"' \
        "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$new" $sources || return 1
    rm -rf "$new/etc/hostname" "$new"/usr/share/{doc,locale,man}/*
    : >"$new/etc/machine-id"
    mkdir -p "$new/opt/edl/bin"
    mv "$new" "$root"
}

# the kernel that Debian has for virtual machines: everything that a test needs is built into it
machines_kernel() {
    (
        flock 9
        [ -s "$base.vmlinuz" ] && exit 0
        rm -rf "$base.kernel"
        mkdir "$base.kernel"
        cd "$base.kernel" || exit 1
        apt-get download -qq "$(apt-cache depends linux-image-cloud-amd64 | sed -n '0,/Depends: linux-image/s/.*Depends: \(linux-image.*\)/\1/p')" 2>/dev/null || exit 1
        dpkg-deb -x ./*.deb . && mv boot/vmlinuz* "$base.vmlinuz" && rm -rf "$base.kernel"
    ) 9>"${base%/*}/lock" || machines_skip "the kernel of linux-image-cloud-amd64 cannot be had"
}

if [ -z "${EDL_TEST_MACHINES:-}" ]; then
    [ "$(id -u)" = 0 ] || machines_skip "only root can"
    for machine_tool in systemd-nspawn mmdebstrap unshare ip nsenter; do
        command -v $machine_tool >/dev/null || machines_skip "$machine_tool is missing"
    done
    unshare -n true 2>/dev/null || machines_skip "no network namespace (unshare -n)"
    machines_root # while there is a network
    [ -z "${machine_wants_kernel:-}" ] || machines_kernel
    [ "${machine_wants_root:-}" != only ] || exit 0
    EDL_TEST_MACHINES=$base exec unshare -n "$BASH" "$0" "$@"
fi

base=$EDL_TEST_MACHINES
machines=$(mktemp -d)
mkdir -m 777 "$machines/shared"
machine_n=0
declare -A machine_pid machine_leader machine_address machine_cable_pid

# where the control group of this test is in a hierarchy: below our own, never the parent's
machine_group() { # HIERARCHY
    local own mount=/sys/fs/cgroup/$1
    case $1 in
    unified) own=$(sed -n 's/^0:://p' /proc/self/cgroup) ;;
    systemd) own=$(sed -n 's/^[0-9]*:name=systemd://p' /proc/self/cgroup) ;;
    *) own=$(sed -n "s/^[0-9]*:\\([a-z,]*,\\)\\?$1\\(,[a-z,]*\\)\\?://p" /proc/self/cgroup) ;;
    esac
    [ -d "$mount" ] || { [ "$1" = unified ] && [ -e /sys/fs/cgroup/cgroup.procs ] && mount=/sys/fs/cgroup; } || return 1
    [ -w "$mount" ] || return 1
    [ "$own" = / ] && own=''
    echo "$mount$own/edl-test-$$"
}

machines_end() {
    local name hierarchy group
    for name in "${!machine_cable_pid[@]}"; do kill "${machine_cable_pid[$name]}" 2>/dev/null; done
    for name in "${!machine_pid[@]}"; do machine_cut "$name"; done
    for hierarchy in $machine_hierarchies; do
        group=$(machine_group "$hierarchy") && [ -d "$group" ] && find "$group" -depth -type d -exec rmdir {} + 2>/dev/null
    done
    for name in "${!machine_address[@]}"; do umount "$machines/$name/root" "$machines/$name/upper"; done
    rm -rf "$machines"
}
trap machines_end EXIT

# the first process of a machine: groups that it may write to, its address; then systemd
machines_init() {
    cat >"$machines/init" <<'END'
#!/bin/sh
mount -o remount,bind,rw /sys/fs/cgroup 2>/dev/null || mount -o remount,rw /sys/fs/cgroup
for d in cpu cpuacct cpuset memory blkio pids devices freezer; do
    [ -d /sys/fs/cgroup/$d ] && mount -o remount,bind,rw,nosuid,nodev,noexec /sys/fs/cgroup/$d
done
# each boot has an id of its own, which a service with a fresh /proc in its sandbox would not see; and what else is busy here, such as
# other tests, is no load of this machine: a job of the test would wait until it is over
cp /proc/sys/kernel/random/boot_id /run/boot-id
cp /proc/stat /run/stat
mkdir -p /run/systemd/system/edl-agent.service.d
printf '[Service]\nBindReadOnlyPaths=/run/boot-id:/proc/sys/kernel/random/boot_id /run/stat:/proc/stat\n' >/run/systemd/system/edl-agent.service.d/boot-id.conf
ip link set lo up
ip addr add "$EDL_TEST_ADDRESS/24" dev host0
ip link set host0 up
exec /lib/systemd/systemd
END
    chmod +x "$machines/init"
    ip link set lo up
    ip link add edl-test type bridge forward_delay 0
    ip addr add 10.77.0.1/24 dev edl-test
    ip link set edl-test up
}

machine_enter_groups() { # NAME: this shell, before it becomes the machine
    local hierarchy group file
    for hierarchy in $machine_hierarchies; do
        group=$(machine_group "$hierarchy") || continue
        mkdir -p "$group/$1"
        if [ "$hierarchy" = cpuset ]; then
            for file in cpuset.cpus cpuset.mems; do
                cat "$group/../$file" >"$group/$file"
                cat "$group/$file" >"$group/$1/$file"
            done
        fi
        echo "$BASHPID" >"$group/$1/cgroup.procs"
    done
}

machine_boot() { # NAME...: all of them at once. Where one could, another one only takes longer
    local name deadline=$((SECONDS + ${machine_was_up:+30}0 + 60))
    for name in "$@"; do machine_start "$name"; done
    for name in "$@"; do machine_await "$name" "$deadline"; done
}

machine_start() { # NAME
    local name=$1 dir=$machines/$1
    if [ ! -d "$dir" ]; then
        machine_n=$((machine_n + 1))
        machine_address[$name]=10.77.0.$((10 + machine_n))
        mkdir -p "$dir/root" "$dir/upper" "$dir/work"
        mount -t tmpfs -o mode=755 edl-test "$dir/upper" 2>/dev/null || true
        mkdir -p "$dir/upper/upper" "$dir/upper/work"
        mount -t overlay -o "lowerdir=$base,upperdir=$dir/upper/upper,workdir=$dir/upper/work" edl-test "$dir/root" ||
            machines_skip "no overlay can be mounted"
    fi
    (
        machine_enter_groups "$name"
        exec systemd-nspawn -q -D "$dir/root" -M "$name-$$" --hostname="$name" --register=no --keep-unit \
            --network-bridge=edl-test --kill-signal=SIGRTMIN+3 --console=pipe --link-journal=no --resolv-conf=off --timezone=off \
            --setenv=EDL_TEST_ADDRESS="${machine_address[$name]}" --bind-ro="$machines/init:/edl-init" \
            --bind-ro="$EDL_BUILD_DIR:/opt/edl/bin" --bind="$machines/shared:/shared" /edl-init
    ) </dev/null >"$dir/console" 2>&1 &
    machine_pid[$name]=$!
}

machine_await() { # NAME DEADLINE: until it is up
    local name=$1
    until machine_leader[$name]=$(pgrep -P "${machine_pid[$name]}") && machine_is_up "$name"; do
        [ $SECONDS -lt "$2" ] && kill -0 "${machine_pid[$name]}" 2>/dev/null || {
            # nothing of ours runs in it yet
            cat "$machines/$name/console"
            machine_in "$name" systemctl --failed --no-legend 2>&1
            [ -z "${machine_was_up:-}" ] || { echo "FAIL: $name does not boot, where others did"; exit 1; }
            machines_skip "systemd does not boot in systemd-nspawn, see above"
        }
        await_pause
    done
    machine_was_up=yes
}

machine_reboot() { # NAME
    local deadline=$((SECONDS + 60))
    machine_in "$1" systemctl reboot
    while pgrep -P "${machine_pid[$1]}" >/dev/null && [ $SECONDS -lt $deadline ]; do await_pause; done
    machine_cut "$1" # what starts it again is not nspawn here
    machine_boot "$1"
}

machine_is_up() { # NAME
    machine_in "$1" systemctl is-system-running 2>/dev/null | grep -q running
}

machine_in() { # NAME COMMAND...
    local leader=${machine_leader[$1]}
    shift
    nsenter -t "$leader" -m -p -u -n -i -C -- env PATH=/opt/edl/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

machine_cut() { # NAME
    local group port deadline=$((SECONDS + 10))
    group=$(machine_group unified)/$1
    [ -e "$group/cgroup.kill" ] && echo 1 >"$group/cgroup.kill"
    kill -9 "${machine_pid[$1]}" 2>/dev/null || true
    wait "${machine_pid[$1]}" 2>/dev/null || true
    # its network namespace goes some time later, and its cable with it: the next boot wants one of that name
    for port in $(machine_port "$1"); do ip link del "$port" 2>/dev/null || true; done
    # what is dying still holds its control groups
    while grep -qs 'populated 1' "$group/cgroup.events" && [ $SECONDS -lt $deadline ]; do read -r -t 0.02 <> <(:) || true; done
    unset "machine_pid[$1]"
}

await_lost() { # a machine that nobody has cut
    local name
    for name in "${!machine_pid[@]}"; do lives "${machine_pid[$name]}" || echo "$name is off: $(tail -n 1 "$machines/$name/console")"; done
}

machine_freeze() { echo 1 >"$(machine_group unified)/$1/cgroup.freeze"; }
machine_thaw() { echo 0 >"$(machine_group unified)/$1/cgroup.freeze"; }
machine_port() { ip -o link show type veth | sed -n "s/^[0-9]*: \\(v[be]-$1[^@:]*\\).*/\\1/p"; }
machine_link() { ip link set "$(machine_port "$1")" "$2"; }

machine_cable() { # NAME [LOSS-TO LOSS-FROM DELAY-MS]: loss of a hundred packets
    local name=$1 port ready
    port=$(machine_port "$name")
    if [ -n "${machine_cable_pid[$name]:-}" ]; then
        kill "${machine_cable_pid[$name]}" 2>/dev/null && wait "${machine_cable_pid[$name]}" 2>/dev/null
        unset "machine_cable_pid[$name]"
        ip link del "cable-$name"
        ip link set "$port" master edl-test
    fi
    [ $# -gt 1 ] || return 0
    ip link add "cable-$name" type veth peer name "plug-$name"
    ip link set "plug-$name" master edl-test up
    ip link set "cable-$name" up promisc on
    ip link set "$port" nomaster promisc on
    mkfifo "$machines/cable"
    python3 "$EDL_SOURCE_DIR/tests/lib/cable.py" "$port" "$3" "cable-$name" "$2" "$4" >"$machines/cable" &
    machine_cable_pid[$name]=$!
    read -r ready <"$machines/cable" || true
    rm "$machines/cable"
    [ "$ready" = ready ]
}

machines_init
