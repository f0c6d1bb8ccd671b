#!/usr/bin/env bash
# ./quickstart does what the README says, and leaves nothing running: at its end, and when it is interrupted.
set -eu
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/fail.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work XDG_RUNTIME_DIR=$work EDL_QUICKSTART_WORDS=60000 EDL_QUICKSTART_PASSES=5
on_fail() { cat "$work/out"; }

left() { # processes whose environment names our folder
    local p
    for p in /proc/[0-9]*; do
        [ "${p#/proc/}" != $$ ] && [ "${p#/proc/}" != "${BASHPID:-}" ] || continue
        { tr '\0' '\n' <"$p/environ"; } 2>/dev/null | grep -q "^TMPDIR=$work\$\|^EDL_OUTPUT_DIR=$work/" || continue
        case $(tr '\0' ' ' <"$p/cmdline" 2>/dev/null) in *edl-* | *'edl dev'* | *'edl top'*) echo "${p#/proc/}" ;; esac
    done
}

"$EDL_SOURCE_DIR/quickstart" --yes >"$work/out" 2>&1 || fail "exit status $?"
grep -q 'SUBMITTED-JOBS    PENDING-JOBS    RUNNING-TRAINERS    CPU-UTILS' "$work/out" || fail 'no monitor'
grep -q 'example:10 ' "$work/out" || grep -q 'example:10|' "$work/out" || fail 'example never had its maximum'
grep -q '^3    1    .*example2:0' "$work/out" || fail 'example2 never waited'
grep -Eq '^3    0    .*example2:[2-9]' "$work/out" || fail 'example2 never ran beside the others'
[ "$(grep -c ': succeeded$' "$work/out")" = 3 ] || fail 'not all three succeeded'
sed -n 's/^  cost before \([0-9.]*\) nats, after \([0-9.]*\) nats.*/\1 \2/p' "$work/out" >"$work/costs"
awk '{ n++; if ($2 >= $1 || $1 < 5 || $2 < 1) bad = 1 } END { exit !(n == 3 && !bad) }' "$work/costs" || fail 'the cost did not fall'
for model in $(sed -n 's/^  model //p' "$work/out"); do
    [ -f "$model/done" ] && [ -s "$model/embedding" ] || fail "no model in $model"
done
[ -z "$(left)" ] || fail "left running: $(left)"

status=0
# a shell in the background ignores the interrupt, and so would all that it starts
timeout -s INT -k 90 12 env --default-signal=INT "$EDL_SOURCE_DIR/quickstart" --yes >"$work/out" 2>&1 || status=$?
[ $status != 0 ] || fail 'an interrupted run ended well'
grep -q 'stopping the cluster' "$work/out" || fail 'it was not interrupted while the cluster ran'
[ -z "$(left)" ] || fail "left running after Ctrl-C: $(left)"
