#!/usr/bin/env bash
# The program of edl(3) trains as a group: alone, and with three processes of a job of which one is killed, or freezes, in the middle of a
# step. All print the same bits, and nobody but the lost one was started again.
# Takes 11 s: builds and installs a library, and a frozen process breaks a promise of 5 s
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

# the same with a rank that is killed, and with one that freezes and breaks its promise to be alive. Whoever finds the file in step 500 has
# summed the step and moved nothing yet
dies() { # SIGNAL PROMISE_US
    sed "/line\[0\] -=/i if (step.step == 500 \&\& unlink(getenv(\"ONCE\")) == 0) raise($1);" "$work/page.c" | sed 's/\.exact = 1/.exact = 1, .alive_us = '"$2"'/' |
        cat <(printf '#include <signal.h>\n#include <stdlib.h>\n#include <unistd.h>\n') - >"$work/$1.c"
    # shellcheck disable=SC2086
    ${CC:-cc} "$work/$1.c" $flags -o "$work/$1"
    touch "$work/once.$1"
    cat >"$work/rank.$1" <<END
#!/bin/sh
export LD_LIBRARY_PATH=$LD_LIBRARY_PATH ONCE=$work/once.$1
exec "$work/$1" >"$work/found.$1.\$EDL_INDEX.\$EDL_INCARNATION"
END
    chmod +x "$work/rank.$1"
    jq -n --arg name "line-${1,,}" --arg program "$work/rank.$1" '{name: $name, fault_tolerant: true, restart: {max: 20, backoff: "10ms"},
        roles: [{role: "rank", min: 3, max: 3, cpu: "500m", memory: "100Mi", ports: 1, command: [$program]}]}' >"$work/job.$1"
    edl submit "$work/job.$1" >/dev/null
}
# three to the end, and the lost one: no survivor was started again
all_found() { # SIGNAL
    local n=0 lost=0 found
    [ ! -e "$work/once.$1" ] || fail 'nobody was lost'
    for found in "$work/found.$1".*; do
        [ -s "$found" ] || { lost=$((lost + 1)) && continue; }
        n=$((n + 1))
        [ "$(cat "$found")" = "$alone" ] || fail "$found has $(cat "$found"), one process alone $alone"
    done
    # a slow machine may hold up one that lives for longer than it promised
    [ $n = 3 ] && { [ $lost = 1 ] || [ "$1" = SIGSTOP ]; } || fail "$n processes came to the end, $lost did not"
}
cluster_start --nodes 2 --cpu 2000m
dies SIGKILL 0
dies SIGSTOP 5000000
for signal in SIGKILL SIGSTOP; do
    await 120 'the job is over' job_is "line-${signal,,}" succeeded
    all_found $signal
done
echo "three processes and one that was lost found $alone, twice"
