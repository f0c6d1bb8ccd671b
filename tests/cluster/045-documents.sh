#!/usr/bin/env bash
# What README.md and docs/first-cluster.md tell people to type is typed, on machines that have nothing but Debian and the apt
# repository: each block ```sh MACHINE as root on that machine, and each line of the ```text after it is what comes out.
. "$EDL_SOURCE_DIR/tests/lib/packages.sh"
# as what built it: the machine's root is looked for only where there is something to install
[ -n "${EDL_TEST_MACHINES:-}" ] || packages_build
. "$EDL_SOURCE_DIR/tests/lib/machines.sh"
set -u
on_fail() {
    for machine in "${!machine_leader[@]}"; do machine_in "$machine" sh -c 'journalctl --no-pager -o cat -n 40 -u "edl*"; edl nodes; edl ps --all'; done
}

# as at a terminal of root's, but that apt is not asked back; /usr/bin, not what was built
type_in() { # MACHINE FILE
    machine_in "$1" env -i -C /root HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive timeout 60 sh -e <"$2"
}

# blocks DOCUMENT: NN.sh, NN.machine and NN.text in $machines/blocks, by number
blocks() {
    rm -rf "$machines/blocks"
    mkdir "$machines/blocks"
    awk -v dir="$machines/blocks" '
        /^```sh [a-z0-9]+$/ { base = sprintf("%s/%02d", dir, ++n); print $2 >(base ".machine"); file = base ".sh"; next }
        /^```text$/ { file = base ".text"; next }
        /^```/ { file = ""; next }
        file { print >file }' "$EDL_SOURCE_DIR/$1"
    set -- "$machines"/blocks/*.sh
    [ -s "$1" ] || fail 'there is no block'
}

# a line of a document as what grep -E finds: `...` is anything, and so is what lies between two words
pattern() { sed -E 's/[][(){}.*+?^$|\\]/\\&/g; s/\\\.\\\.\\\./.*/g; s/ +/ .*/g'; }

fresh() { # MACHINE: with the repository, and nothing of ours
    machine_boot "$1"
    # shellcheck disable=SC2016
    machine_in "$1" sh -c 'rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/*; echo "$1" >/etc/apt/sources.list.d/edl.list
        echo "APT::Get::Assume-Yes true; Dpkg::Use-Pty false;" >/etc/apt/apt.conf.d/test; apt-get -qq update' sh "$source" || fail "apt update on $1"
}
source=$(sed "s|[^=]*edl\\.gpg|/opt/edl/bin/packages/edl.gpg|; s|file:[^ ]*|file:/opt/edl/bin/packages|" "$packages.source")
case $source in *signed-by=*) source=${source/\[*\]/[signed-by=/opt/edl/bin/packages/edl.gpg]} ;; esac

run_blocks() {
    local block machine said=$machines/said before='' line
    for block in "$machines"/blocks/*.sh; do
        read -r machine <"${block%.sh}.machine"
        if grep -qF '...' "$block"; then # what the one before has printed
            grep -qE "^$(pattern <"$block")\$" <<<"$before" || fail "it is not what the document shows: $before"
            echo "$before" >"$block"
        fi
        echo "== $machine: $(paste -sd';' "$block")"
        type_in "$machine" "$block" >"$said" 2>"$said.errors" || fail "$machine: $(cat "$block"): $(cat "$said" "$said.errors")"
        before=$(cat "$said")
        [ ! -e "${block%.sh}.text" ] || while read -r line; do
            grep -qE "$(pattern <<<"$line")" "$said" || fail "it does not say \"$line\": $(cat "$block"): $before"
        done <"${block%.sh}.text"
    done
}

# the sixty seconds of the README are the beginning of the guide, word for word
blocks README.md
mv "$machines/blocks" "$machines/readme"
blocks docs/first-cluster.md
for file in "$machines"/readme/*; do cmp "$file" "$machines/blocks/${file##*/}" || fail "README.md and docs/first-cluster.md differ"; done

for machine in $(sort -u "$machines"/blocks/*.machine); do fresh "$machine"; done
began=$EPOCHREALTIME
run_blocks
echo "all that the documents say: $(awk "BEGIN { print $EPOCHREALTIME - $began }") s"
