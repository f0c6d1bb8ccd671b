# shellcheck shell=bash
# virtual.sh - a test in a virtual machine of its own, with a kernel that this machine does not have: control groups of version 2 alone
#
#   . "$EDL_SOURCE_DIR/tests/lib/virtual.sh"       # as machines.sh; skips with the reason where that is impossible
#   set -eu
#   virtual_libraries await fail conditions                   # tests/lib/NAME.sh are in /src/tests/lib, the programs in /opt/edl/bin
#   ... "$own/init" and what else is to be there
#   virtual_run [KERNEL PARAMETER...]              # until it is switched off; fails unless it said "the test ended with 0"
# What is in $own lies over the root of tests/lib/machines.sh, all in memory. The machine has no network, and two cores.
for virtual_tool in qemu-system-x86_64 cpio zstd; do
    if ! command -v $virtual_tool >/dev/null; then
        echo "$virtual_tool is missing"
        exit 77
    fi
done
if [ "$(uname -m)" != x86_64 ]; then
    echo 'the virtual machine is for x86_64'
    exit 77
fi
export machine_wants_kernel=yes
# shellcheck source=tests/lib/machines.sh
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/machines.sh"
# shellcheck disable=SC2154
own=$machines/own
virtual_within_s=900
mkdir -p "$own/opt/edl/bin" "$own/src/tests/lib"
for virtual_program in edl edl-scheduler edl-agent edl-supervisor edl-prober edl-session edl-workspace; do cp "$EDL_BUILD_DIR/$virtual_program" "$own/opt/edl/bin"; done

virtual_libraries() { # NAME...
    local name
    for name; do cp "$EDL_SOURCE_DIR/tests/lib/$name.sh" "$own/src/tests/lib"; done
}

virtual_pack() ( # DIR COMPRESSION
    cd "$1" && find . | cpio -o -H newc --quiet | zstd -q "$2"
)

# shellcheck disable=SC2154
virtual_run() {
    [ -s "$base.initrd" ] || { virtual_pack "$base" -3 >"$base.initrd.$$" && mv "$base.initrd.$$" "$base.initrd"; }
    { cat "$base.initrd" && virtual_pack "$own" -1; } >"$machines/initrd"
    timeout $virtual_within_s qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 2 -m 2048 -nic none -nographic -no-reboot -kernel "$base.vmlinuz" \
        -initrd "$machines/initrd" -append "console=ttyS0 quiet mitigations=off random.trust_cpu=on tsc=reliable panic=-1 $*" \
        </dev/null >"$machines/console" 2>&1 || true
    if ! grep -aq 'the test ended with 0' "$machines/console"; then
        tail -n 80 "$machines/console"
        exit 1
    fi
}
