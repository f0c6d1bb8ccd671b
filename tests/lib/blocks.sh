# shellcheck shell=bash disable=SC2154
# blocks.sh - what a document tells people to type is typed: each block ```sh MACHINE as root on that machine, and each line of the
# ```text after it is what comes out. After machines.sh.
#
#   blocks DOCUMENT            # reads them
#   run_blocks                 # types them

# as at a terminal of root's, but that apt is not asked back; /usr/bin, not what was built
type_in() { # MACHINE FILE
    machine_in "$1" env -i -C /root HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive timeout 300 sh -e <"$2"
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

# a condition: each line of a text is in the output; the block is typed again, and says it
shows() { # OUTPUT TEXT-FILE: each line of it
    local line
    while read -r line; do
        grep -qE "$(pattern <<<"$line")" "$1" || return 1
    done <"$2"
}
log_shows() { bash -e "$1" </dev/null >"$2" && shows "$2" "$3"; } # BLOCK OUTPUT TEXT-FILE

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
