#!/usr/bin/env bash
# A program in C, built with what pkg-config says, and one in Python take the tasks of one job; the scheduler is killed while they are at
# it, and each task is counted once. The library has the symbols that it promises, and no others.
# Takes 14 s: builds and installs a library, and four processes of C and Python take tasks over a kill of their scheduler
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"

# installed, as a user of it has it
make -s -C "$EDL_BUILD_DIR" install-edllibPROGRAMS install-edlincludeHEADERS install-nodist_pkgconfigDATA install-data-hook DESTDIR="$work/root" >"$work/install.log" 2>&1 ||
    fail "$(cat "$work/install.log")"
library=$(find "$work/root" -name 'libedl.so.0')
PKG_CONFIG_PATH=$(dirname "$library")/pkgconfig
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR=$work/root
# shellcheck disable=SC2046
${CC:-cc} -Wall -Wextra -Werror "$EDL_SOURCE_DIR/examples/elastic.c" $(pkg-config --cflags --libs edl) -o "$work/elastic"
unset PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR

# what it exports is what its map says, its header declares, its manual has and its package promises
exported=$(nm -D --defined-only "$library" | sed -n 's/.* T \(.*\)@@EDL_0$/\1/p' | sort)
[ "$(nm -D --defined-only "$library" | grep -cv ' A EDL_0$')" = "$(wc -l <<<"$exported")" ] || fail "symbols without a version: $(nm -D --defined-only "$library")"
same() { # WHAT
    local list
    list=$(sort -u)
    [ "$list" = "$exported" ] || fail "$1 is not what the library exports: $(diff <(echo "$list") <(echo "$exported"))"
}
sed -n 's/^    \(edl_[a-z_]*\);.*/\1/p' "$EDL_SOURCE_DIR/libedl/edl.map" | same edl.map
tr '\n' ' ' <"$EDL_SOURCE_DIR/libedl/edl/edl.h" | grep -o 'EDL_API [^(]*' | grep -o 'edl_[a-z_]*$' | same edl.h
sed -n '/^\.SH DESCRIPTION/,/^\.SH RETURN/p' "$EDL_SOURCE_DIR/docs/man/edl.3" | sed -n 's/^\.BR* //p' | grep -o 'edl_[a-z_]*' | same 'edl(3)'
sed -n 's/^ \(edl_[a-z_]*\)@EDL_0 .*/\1/p' "$EDL_SOURCE_DIR/packaging/debian/libedl0.symbols" | same libedl0.symbols
needed=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -v '^lib[mcz]\.so\|^libjansson\|^libmd\.so\|^libsnappy\.so\|san\.so' || true)
[ -z "$needed" ] || fail "it brings along $needed"

# a file is a pipe: whoever reads it waits until something is written, so nothing depends on time
cluster_start --nodes 2 --cpu 2000m
n=40
mkdir "$work/data"
files=()
for ((i = 0; i < n; i++)); do
    files+=("$work/data/$i")
    mkfifo "$work/data/$i"
done
give() { # FROM TO: each to whoever reads it
    local i
    for ((i = $1; i < $2; i++)); do echo "bytes of $i" >"$work/data/$i" & done
}
cat >"$work/either" <<END
#!/bin/sh
export LD_LIBRARY_PATH=$(dirname "$library") PYTHONPATH=$EDL_SOURCE_DIR/python PYTHONDONTWRITEBYTECODE=1
[ \$((EDL_INDEX % 2)) = 0 ] && exec "$work/elastic" "\$@"
exec "$python" "$EDL_SOURCE_DIR/examples/elastic.py" "\$@"
END
chmod +x "$work/either"
jq -n --arg program "$work/either" '{name: "elastic", mode: "collective", fault_tolerant: true, roles: [{role: "trainer", min: 4, max: 4, cpu: "200m",
    command: ([$program] + $ARGS.positional)}]}' --args "${files[@]}" >"$work/job.json"
edl submit "$work/job.json" >/dev/null
tasks_are() { [ "$(api GET /jobs/elastic/tasks | jq -r ".$1")" = "$2" ]; }
await 120 'each holds a task' while_job elastic tasks_are leased 4
give 0 20
await 120 'half of them are done, and the next are held' while_job elastic tasks_are todo 16
await 120 'half of them are done' while_job elastic tasks_are 'done' 20
both_told() { [ "$(api GET '/jobs/elastic/processes?state=live' | jq '[.processes[] | select(.progress.bytes > 0)] | length')" = 4 ]; }
await 120 'each has told how far it is' while_job elastic both_told
before=$(api GET '/jobs/elastic/processes?state=live' | jq -c '[.processes[] | [.index, .incarnation]] | sort')

kill -9 "$(pgrep -f -- "edl-scheduler .*$work" | head -n 1)"
give 20 "$n"
await 120 'a scheduler answers' scheduler_answers
edl wait elastic --timeout 120 || fail "it ends otherwise: $(edl show elastic; edl logs elastic)"
job_is elastic succeeded || fail "it is $(job_field elastic .state)"
[ "$(api GET '/jobs/elastic/processes?state=all' | jq -c '[.processes[] | [.index, .incarnation]] | sort')" = "$before" ] || fail 'a process was disturbed'
counted=$(find "$work/state" -name counted)
# shellcheck disable=SC2086
cat $counted >"$work/counted"
wait_for=$(for ((i = 0; i < n; i++)); do echo "0 $work/data/$i $((10 + ${#i}))"; done | sort)
[ "$(cut -d ' ' -f 1,3- "$work/counted" | sort)" = "$wait_for" ] || fail "not each task once: $(sort "$work/counted")"
[ "$(job_field elastic .records_total)" = "$n" ] || fail "records: $(job_field elastic .records_total)"

# ranks: as many as there are, and again when somebody comes
cat >"$work/together.py" <<'END'
import sys
import edl

me = edl.me()
for world in edl.worlds(note=f"of {me.index}"):
    assert [member.note for member in world.members] == [f"of {member.index}" for member in world.members]
    assert world.members[world.rank].index == me.index and world.members[world.rank].ports == me.ports
    print(f"rank {world.rank} of {world.size}, {edl.hosts().want} wanted", flush=True)
    world.over(None)
sys.exit(0)
END
jq -n --arg python "$python" --arg file "$work/together.py" --arg path "$EDL_SOURCE_DIR/python" '{name: "together", mode: "collective", fault_tolerant: true,
    env: {PYTHONPATH: $path, PYTHONDONTWRITEBYTECODE: "1"}, roles: [{role: "trainer", min: 2, max: 2, cpu: "200m", command: [$python, $file]}]}' | edl submit - >/dev/null
says() { [ "$(edl logs together | grep -c "rank [0-9] of $1, $1 wanted")" = "$1" ]; }
await 120 'two are together' while_job together says 2
edl scale together 2:3 >/dev/null
await 120 'three are together' while_job together says 3
edl kill together >/dev/null
edl wait together --timeout 120 || true
cluster_stop
