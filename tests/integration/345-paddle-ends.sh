#!/usr/bin/env bash
# Trainings that end before their time, or cannot begin: signals between saves, flags that are wrong, and parameter servers that
# have the values of another training, or lost theirs.
# Runs by twos: trains
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/await.sh"
set -eu
PATH=$EDL_BUILD_DIR:$PATH
work=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"
edl-trainer data recommendation --out data --samples 600 --users 60 --movies 40 --noise 0.2 >/dev/null
small=(--config=recommendation --config_args=width=16 --data=data --log-period=0)
alone=(edl-trainer --local "${small[@]}" --batch=50)

# a period that does not fit is refused; the largest one saves nothing within a pass
if "${alone[@]}" --num_passes=1 --saving_period_by_batches=4294967296 --save_dir=wide >wide.log 2>&1; then fail "it trains: $(cat wide.log)"; fi
grep -q -- '--saving_period_by_batches is 4294967296; at most 4294967295' wide.log || fail "a period too large: $(cat wide.log)"
"${alone[@]}" --num_passes=1 --push-every=7 --saving_period_by_batches=4294967295 --save_dir=wide >wide.log 2>&1 || fail "the largest period: $(cat wide.log)"
[ "$(cd wide && echo *)" = pass-00000 ] || fail "the largest period: $(ls wide)"
