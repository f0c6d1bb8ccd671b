# shellcheck shell=bash disable=SC2154
# blocks.sh - what a document tells people to type is typed: each block ```sh MACHINE as root on that machine, and each line of the
# ```text after it is what comes out. After machines.sh.
#
#   blocks DOCUMENT [HEADING...]    # reads them; those below headings that begin so, in this order
#   run_blocks                      # types them
# A block of several machines (```sh MACHINE MACHINE) is typed on one after the other.

# as at a terminal of root's, but that apt is not asked back; /usr/bin, not what was built
type_in() { # MACHINE FILE
    machine_in "$1" env -i -C /root HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive timeout 300 sh -e <"$2"
}

# below DOCUMENT HEADING...: what is below the first heading that begins so, to the next one of any depth, and so on
below() {
    local document=$1 heading
    shift
    [ $# != 0 ] || cat "$document"
    for heading in "$@"; do
        awk -v heading="$heading" '/^```/ { block = !block } /^#/ && !block { inside = !found && index($0, heading) == 1; found = found || inside } inside; END { exit !found }' \
            "$document" || fail "$document has no heading $heading"
    done
}

# blocks DOCUMENT [HEADING...]: NN.sh, NN.machine and NN.text in $machines/blocks, by number
blocks() {
    local text
    text=$(below "$EDL_SOURCE_DIR/$1" "${@:2}") || exit 1
    rm -rf "$machines/blocks"
    mkdir "$machines/blocks"
    awk -v dir="$machines/blocks" '
        function put(suffix, line,   i) { for (i in base) print line >(base[i] suffix) }
        /^```sh [a-z0-9 ]+$/ { delete base; for (i = 2; i <= NF; i++) { base[i] = sprintf("%s/%02d", dir, ++n); print $i >(base[i] ".machine") } suffix = ".sh"; next }
        /^```text$/ { suffix = ".text"; next }
        /^```/ { suffix = ""; next }
        suffix { put(suffix, $0) }' <<<"$text"
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
