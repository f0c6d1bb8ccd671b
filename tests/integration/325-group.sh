#!/usr/bin/env bash
# The program of edl(3) trains as a group: alone, and with three processes of a job of which one is killed in the middle of a step.
# All print the same bits, and nobody but the dead one was started again.
# Takes 6 s: builds and installs a library, and three processes meet twice
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
make -s -C "$EDL_BUILD_DIR" install-edllibPROGRAMS install-edlincludeHEADERS install-nodist_pkgconfigDATA install-data-hook DESTDIR="$work/root" >"$work/install.log" 2>&1 ||
    fail "$(cat "$work/install.log")"
library=$(find "$work/root" -name 'libedl.so.0')
export LD_LIBRARY_PATH=$(dirname "$library")
PKG_CONFIG_PATH=$LD_LIBRARY_PATH/pkgconfig
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR=$work/root
flags=$(pkg-config --cflags --libs edl)
unset PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR

# as the manual prints it; the example beside it is the same
man -l "$EDL_SOURCE_DIR/docs/man/edl.3" >"$work/page" 2>&1 || fail "$(cat "$work/page")"
sed -n '/^\.\\" group\.c$/,/^\.fi/p' "$EDL_SOURCE_DIR/docs/man/edl.3" | sed '1,2d;$d; s/\\-/-/g; s/\\e/\\/g; s/^\\&//' >"$work/page.c"
sed '1,/^ \* cc group/d' "$EDL_SOURCE_DIR/examples/group.c" | diff - "$work/page.c" || fail 'edl(3) has another program than examples/group.c'
# shellcheck disable=SC2086
${CC:-cc} -Wall -Wextra -Werror "$work/page.c" $flags -o "$work/group"
alone=$("$work/group")
[[ $alone = 0x1.*' '-0x1.* ]] || fail "alone it finds $alone, which is not 3 and -1"

# the same with a death: whoever finds the file in step 500 has summed it and moved nothing yet
sed '/line\[0\] -=/i if (step.step == 500 \&\& unlink(getenv("ONCE")) == 0) raise(SIGKILL);' "$work/page.c" |
    cat <(printf '#include <signal.h>\n#include <stdlib.h>\n#include <unistd.h>\n') - >"$work/dies.c"
# shellcheck disable=SC2086
${CC:-cc} "$work/dies.c" $flags -o "$work/dies"
touch "$work/once"
cluster_start --nodes 2 --cpu 2000m
cat >"$work/rank" <<END
#!/bin/sh
export LD_LIBRARY_PATH=$LD_LIBRARY_PATH ONCE=$work/once
exec "$work/dies" >"$work/found.\$EDL_INDEX.\$EDL_INCARNATION"
END
chmod +x "$work/rank"
jq -n --arg program "$work/rank" '{name: "line", fault_tolerant: true, restart: {max: 20, backoff: "10ms"},
    roles: [{role: "rank", min: 3, max: 3, cpu: "500m", memory: "100Mi", ports: 1, command: [$program]}]}' >"$work/job.json"
edl submit "$work/job.json" >/dev/null
await 120 'the job is over' job_is line succeeded
[ ! -e "$work/once" ] || fail 'nobody died'
# three to the end, and the dead one: no survivor was started again
n=0 dead=0
for found in "$work"/found.*; do
    [ -s "$found" ] || { dead=$((dead + 1)) && continue; }
    n=$((n + 1))
    [ "$(cat "$found")" = "$alone" ] || fail "$found has $(cat "$found"), one process alone $alone"
done
[ $n = 3 ] && [ $dead = 1 ] || fail "$n processes came to the end, $dead did not"
echo "three processes and one that died found $alone"
