#!/usr/bin/env bash
# Each program of bench/ runs once, small, and ends with 0 and a figure: one that broke is told before somebody needs it.
# Runs at night, and for bench/: measures, and computes for minutes
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/fail.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$EDL_SOURCE_DIR"

# program | its smallest call, with its figures as JSON; a program that prints tables alone is called with none
table='
decide | --json --nodes 20 --jobs 100 --rounds 1
gpu-types | EDL_BUILD_DIR 1 opposite
policies | --json --traces EDL_TRACES_DIR
goodput | --json --rounds 1
curves | --json --quick --out WORK/curves
web | --json --quick --conditions alone --out WORK/web
train_step | --json --turns 3 --batch 32
pserver | --json --turns 20 --rounds 1
submit | --json --rounds 1
replicated | --json --rounds 1 --tries 1
throughput | --json --rounds 1 --jobs 200
agents | --json --agents 200 --agents 2000 --duration 3 --orders 10
records | --json --rounds 1 --duration 8
footprint | --json --ended 1000 --live 200 --seconds 2
launch | --json --rounds 1 --runs 2
dispatch | --json --rounds 1 --runs 1
kill | --json --rounds 1 --runs 2
output | --json --rounds 1 --bytes 20000000
recover | --json --rounds 1 --watch 5 --no-slurm
stall | --json --stalls 5
siege | --json --seconds 3 --kinds documents
sessions | --json --seconds 1 --sessions 4 --mebibytes 4
collective | --json --kills 2 --rounds 1 --steps 5 --samples 2000
exact | --json --seeds 1 --kills 1 --samples 20000 --networks ngram_lm --rules goodput
distill | --json --rounds 1 --steps 20 --seconds 4
experiment | EDL_BUILD_DIR
'
only=${EDL_BENCHES:-} # these alone, while one is mended
told=$(sed -n '/^| program /,/^$/s/^| `\([a-z_-]*\)` .*/\1/p' bench/README.md | sort)
[ "$told" = "$(sed -n 's/ |.*//p' <<<"$table" | sort)" ] || fail 'the programs of bench/README.md are not those of this table'

broken=''
while IFS='|' read -r name call; do
    name=${name% }
    [ -n "$name" ] || continue
    [ -z "$only" ] || [[ " $only " == *" $name "* ]] || continue
    case $name in
    policies) [ -n "${EDL_TRACES_DIR:-}" ] || { echo 'policies: left out, EDL_TRACES_DIR does not name the public traces'; continue; } ;;
    web) command -v nginx >"$work/none" || { echo 'web: left out, nginx is not installed'; continue; } ;;
    esac
    call=${call//EDL_BUILD_DIR/$EDL_BUILD_DIR}
    call=${call//EDL_TRACES_DIR/${EDL_TRACES_DIR:-}}
    program=bench/$name
    if [ -x "$EDL_BUILD_DIR/bench/$name" ]; then
        program=$EDL_BUILD_DIR/bench/$name
    elif [[ $call == *--json* ]]; then
        call="$call $EDL_BUILD_DIR"
    fi
    SECONDS=0 status=0
    # shellcheck disable=SC2086
    "$program" ${call//WORK/$work} >"$work/out" 2>"$work/err" </dev/null || status=$?
    if [ $status != 0 ]; then
        why="status $status"
    elif [[ $call == *--json* ]] && ! jq -en 'input | length > 0' <"$work/out" >"$work/none" 2>&1; then
        why='no figures in JSON'
    elif [ ! -s "$work/out" ]; then
        why='no figures'
    else
        echo "$name: $SECONDS s"
        continue
    fi
    echo "$name broke ($why): $program$call"
    tail -n 20 "$work/err" "$work/out"
    broken="$broken $name"
done <<<"$table"
[ -z "$broken" ] || fail "programs of bench/ broke:$broken"
