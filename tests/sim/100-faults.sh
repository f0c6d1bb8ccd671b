#!/usr/bin/env bash
# Histories with faults, every check on: EDL_SEEDS of mixed faults (250), an eighth of that of each other profile.
# The first seed is EDL_FIRST_SEED. Without it EDL_SEED, such as a date, chooses it: no other date has the same seeds,
# and test_sim has others of the same date.
# A violation prints its seed, the shortened history and how to replay it.
# Takes 23 s: computes hundreds of histories
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}"
seeds=${EDL_SEEDS:-250}
first=${EDL_FIRST_SEED:-${EDL_SEED:+$((EDL_SEED * 100000 + 50001))}}
first=${first:-1}
echo "EDL_FIRST_SEED=$first"
status=0
"$EDL_BUILD_DIR/edl" simulate --faults mixed --seeds "$seeds" --first-seed "$first" || status=1
for profile in none network crash clock storage stall gone cut gaps two-schedulers storm; do
    "$EDL_BUILD_DIR/edl" simulate --faults $profile --seeds $((seeds > 8 ? seeds / 8 : 1)) --first-seed "$first" || status=1
done
exit $status
