# shellcheck shell=bash
# units.sh - launch and kill where systemd is PID 1; prints one JSON object
#   bash bench/units.sh BUILD_DIR [ROUNDS [RUNS]]
# The runtime over systemd beside StartTransientUnit with the same properties, by itself, and beside systemd-run. Run by
# bench/peers/units.sh, on this machine or in one that is made for it.
set -eu
build=$1 rounds=${2:-3} runs=${3:-10}
work=$(mktemp -d -p /run)
# shellcheck source=bench/peers/cluster.sh
. "$(dirname "$0")/peers/cluster.sh"
trap 'cluster_stop; rm -rf "$work"' EXIT
agent_runtime=systemd
chmod 755 "$work"
cluster_start "$work/edl" 1
life() { "$build/bench/lifetime" --socket "$work/s" --runs "$runs" --server "$address" --token-file "$token" "$@"; }
job "$work/once" 1 "$build/bench/stamp $work/s"
job "$work/stay" 1 "$build/bench/stamp $work/s --stay"
first=0
for round in $(seq "$rounds"); do
    life --gap-ms 60 --first "$first" --start "POST /jobs $work/once" >"$work/launch.$round"
    life --gap-ms 60 --first "$first" --start "UNIT 900000%d.trainer.0.1 $build/bench/stamp $work/s" >"$work/unit.$round"
    life --gap-ms 60 --first "$first" --start "BARE-UNIT 800000%d.trainer.0.1 $build/bench/stamp $work/s" >"$work/bare.$round"
    life --gap-ms 60 --start "systemd-run --quiet -p MemoryMax=64M -p CPUWeight=25 -p TasksMax=4096 $build/bench/stamp $work/s" >"$work/systemd-run.$round"
    first=$((first + runs))
    life --gap-ms 60 --first "$first" --start "POST /jobs $work/stay" --stop 'DELETE /jobs/bench-%d' >"$work/kill.$round"
    first=$((first + runs))
done
median() { cat "$work/$1".[0-9]* | jq -s 'map(.p50_us / 1000) | sort | .[(length - 1) / 2 | floor]'; }
jq -n --argjson launch "$(median launch)" --argjson unit "$(median unit)" --argjson bare "$(median bare)" \
    --argjson run "$(median systemd-run)" --argjson kill "$(median kill)" --arg version "$(systemctl --version | head -n 1)" \
    '{launch_ms: $launch, unit_ms: $unit, unit_without_limits_ms: $bare, systemd_run_ms: $run, kill_ms: $kill, version: $version}'
