#!/usr/bin/env bash
# What docs/conf-py.md tells people to type is typed, on three machines with sshd, of which one has the scheduler (tests/lib/blocks.sh).
# Takes 6 s: three machines boot
machine_has=openssh-server,sudo
. "$EDL_SOURCE_DIR/tests/lib/packages.sh"
# as what built it: the machine's root is looked for only where there is something to install
[ -n "${EDL_TEST_MACHINES:-}" ] || packages_build
. "$EDL_SOURCE_DIR/tests/lib/machines.sh"
. "$EDL_SOURCE_DIR/tests/lib/blocks.sh"
set -u
on_fail() {
    for machine in "${!machine_leader[@]}"; do machine_in "$machine" sh -c 'journalctl --no-pager -o cat -n 40 -u "edl*"'; done
    machine_in n1 sh -c 'edl nodes; edl ps --all'
}
source=$(sed "s|[^=]*edl\\.gpg|/opt/edl/bin/packages/edl.gpg|; s|file:[^ ]*|file:/opt/edl/bin/packages|" "$packages.source")
case $source in *signed-by=*) source=${source/\[*\]/[signed-by=/opt/edl/bin/packages/edl.gpg]} ;; esac
blocks docs/conf-py.md
machine_boot n1 n2 n3
for name in n1 n2 n3; do
    # shellcheck disable=SC2016
    machine_in $name sh -c 'rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/* /etc/ssh/ssh_host_*; ssh-keygen -q -t ed25519 -N "" -f /etc/ssh/ssh_host_ed25519_key
        printf "10.77.0.11 n1\n10.77.0.12 n2\n10.77.0.13 n3\n" >>/etc/hosts; mkdir -p -m 700 /root/.ssh; systemctl restart ssh' || fail "preparing $name"
done
# shellcheck disable=SC2016
machine_in n1 env PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive sh -c 'echo "$1" >/etc/apt/sources.list.d/edl.list
    apt-get -qq update && apt-get -qq -y --no-install-recommends install edl-scheduler edl-agent >/dev/null 2>&1 && systemctl start edl-scheduler &&
    ssh-keygen -q -t ed25519 -N "" -f /root/.ssh/id_ed25519' sh "$source" || fail 'n1 has no scheduler'
key=$(machine_in n1 cat /root/.ssh/id_ed25519.pub)
for name in n1 n2 n3; do echo "$key" | machine_in $name sh -c 'cat >>/root/.ssh/authorized_keys'; done
began=$EPOCHREALTIME
run_blocks
echo "all that the document says: $(awk "BEGIN { print $EPOCHREALTIME - $began }") s"
