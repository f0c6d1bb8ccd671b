#!/usr/bin/env bash
# What README.md and docs/first-cluster.md tell people to type is typed, on machines that have nothing but Debian and the apt
# repository (tests/lib/blocks.sh).
# Takes 39 s: machines boot and install packages by apt, and all that two documents say is typed there
. "$EDL_SOURCE_DIR/tests/lib/packages.sh"
# as what built it: the machine's root is looked for only where there is something to install
[ -n "${EDL_TEST_MACHINES:-}" ] || packages_build
. "$EDL_SOURCE_DIR/tests/lib/machines.sh"
. "$EDL_SOURCE_DIR/tests/lib/blocks.sh"
set -u
on_fail() {
    for machine in "${!machine_leader[@]}"; do machine_in "$machine" sh -c 'journalctl --no-pager -o cat -n 40 -u "edl*"; edl nodes; edl ps --all'; done
}

fresh() { # MACHINE: with the repository, and nothing of ours
    machine_boot "$1"
    # shellcheck disable=SC2016
    machine_in "$1" sh -c 'rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/*; echo "$1" >/etc/apt/sources.list.d/edl.list
        echo "APT::Get::Assume-Yes true; Dpkg::Use-Pty false;" >/etc/apt/apt.conf.d/test; apt-get -qq update' sh "$source" || fail "apt update on $1"
}
source=$(sed "s|[^=]*edl\\.gpg|/opt/edl/bin/packages/edl.gpg|; s|file:[^ ]*|file:/opt/edl/bin/packages|" "$packages.source")
case $source in *signed-by=*) source=${source/\[*\]/[signed-by=/opt/edl/bin/packages/edl.gpg]} ;; esac

# the sixty seconds of the README are the beginning of the guide, word for word
blocks README.md
mv "$machines/blocks" "$machines/readme"
blocks docs/first-cluster.md
for file in "$machines"/readme/*; do cmp "$file" "$machines/blocks/${file##*/}" || fail "README.md and docs/first-cluster.md differ"; done

for machine in $(sort -u "$machines"/blocks/*.machine); do fresh "$machine"; done
began=$EPOCHREALTIME
run_blocks
echo "all that the documents say: $(awk "BEGIN { print $EPOCHREALTIME - $began }") s"
