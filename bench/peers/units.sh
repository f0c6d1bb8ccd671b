#!/usr/bin/env bash
# bench/units.sh where systemd runs: on this machine when it is PID 1 here, else in a machine of tests/lib/machines.sh.
#   bench/peers/units.sh BUILD_DIR [ROUNDS [RUNS]]       77: nowhere; the last line says why
set -u
cd "$(dirname "$0")/../.."
if [ -d /run/systemd/system ] && [ "$(id -u)" = 0 ]; then
    exec bash bench/units.sh "$@"
fi
EDL_BUILD_DIR=$1 EDL_SOURCE_DIR=$PWD
export EDL_BUILD_DIR EDL_SOURCE_DIR
# shellcheck source=tests/lib/machines.sh
. tests/lib/machines.sh
machine_boot bench
machine_in bench mkdir -p /run/bench/bench/peers
for file in bench/units.sh bench/peers/cluster.sh; do machine_in bench tee "/run/bench/$file" <$file >/dev/null; done
machine_in bench sh -c 'cd /run/bench && exec bash bench/units.sh /opt/edl/bin "$@"' sh "${@:2}"
