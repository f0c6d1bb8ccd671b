#!/usr/bin/env bash
# Histories with faults, every check on: EDL_SEEDS of mixed faults (2000), an eighth of that of each other profile.
# A violation prints its seed, the shortened history and how to replay it.
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}"
seeds=${EDL_SEEDS:-2000}
first=${EDL_FIRST_SEED:-1}
status=0
"$EDL_BUILD_DIR/edl" simulate --faults mixed --seeds "$seeds" --first-seed "$first" || status=1
for profile in none network crash clock storage stall storm; do
    "$EDL_BUILD_DIR/edl" simulate --faults $profile --seeds $((seeds / 8)) --first-seed "$first" || status=1
done
exit $status
