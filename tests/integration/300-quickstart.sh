#!/usr/bin/env bash
# ./quickstart does what the README says, and leaves nothing running: at its end, and when it is interrupted.
# Takes 84 s: ./quickstart trains three jobs to their end, 50 passes the first, and is begun and interrupted once more
set -eu
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/await.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# the first job trains until the others run beside it; what they do then is all the same
export TMPDIR=$work XDG_RUNTIME_DIR=$work EDL_QUICKSTART_WORDS=20000 EDL_QUICKSTART_PASSES='50 18 5' EDL_QUICKSTART_INTERVAL=500ms
on_fail() { cat "$work/out"; }

left() { # processes whose environment names our folder, each with its command line
    local p
    for p in /proc/[0-9]*; do
        [ "${p#/proc/}" != $$ ] && [ "${p#/proc/}" != "${BASHPID:-}" ] || continue
        grep -qsz -e "^TMPDIR=$work\$" -e "^EDL_OUTPUT_DIR=$work/" "$p/environ" || continue
        case $(readlink "$p/exe") in */edl | */edl-*) echo "${p#/proc/} $(tr '\0' ' ' <"$p/cmdline" 2>/dev/null)" ;; esac
    done
}

nothing_left() { # WHEN: fails with what was found, which may be gone a moment later
    local found
    found=$(left)
    [ -z "$found" ] || fail "left running $1: $found"
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
nothing_left 'at the end'

# a terminal sends Ctrl-C to all of the group; a shell in the background ignores it, and so would all that it starts
set -m
: >"$work/out"
env --default-signal=INT "$EDL_SOURCE_DIR/quickstart" --yes >"$work/out" 2>&1 &
quickstart=$!
set +m
trap 'kill -KILL -- -$quickstart 2>/dev/null || true; rm -rf "$work"' EXIT
interrupt() { kill -INT -- "-$quickstart"; }
await 600 'a job came' while_runs "$quickstart" grep -q '^job example (1) queued' "$work/out"
interrupt
await 120 'it stops' while_runs "$quickstart" grep -q 'stopping the cluster' "$work/out"
interrupt || true # who is impatient leaves nothing running either; it may be over
status=0
wait $quickstart || status=$?
[ $status = 130 ] || fail "interrupted, it ended with $status"
grep -q "^the cluster's logs are in " "$work/out" || fail 'it did not wait for what it stops'
nothing_left 'after Ctrl-C'
