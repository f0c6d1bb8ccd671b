#!/usr/bin/env bash
# ./check and tests/run themselves: what they count, what they refuse, which tests a change asks for, and that Ctrl-C ends all that a
# test started. The tests that they run here are scripts of this one.
# Takes 47 s: runs two dozen small tests, plans whole checks, and compiles a program of 78 tests
set -eu
: "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/fail.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export EDL_BUILD_DIR=$work
unset EDL_TEST_JOBS # how many run side by side follows from the cores, as steps.py has it without
script() { cat >"$work/$1"; } # NAME, text on standard input
run_these() { # NAME...: what tests/run says of them, and its status in $status
    status=0
    "$EDL_SOURCE_DIR/tests/run" --log "$work/log" --scripts "$(printf "$work/%s " "$@")" >"$work/said" 2>&1 || status=$?
}
says() { grep -qE "$1" "$work/said" || fail "not said: $1; but: $(cat "$work/said")"; }

script good.sh <<<'echo "[       OK ] test_one"; echo "[       OK ] test_two"'
script bad.sh <<<'echo why; exit 3'
script cases.sh <<<'printf "%s\n" "[       OK ] test_one" "[  FAILED  ] test_two" "[  FAILED  ] test_two"; exit 1'
script without.sh <<<'echo "there is no such device"; exit 77'
run_these good.sh bad.sh cases.sh without.sh
says '^ok good.sh \(2\) [0-9.]+ s, CPU [0-9.]+ s$'
says '^FAILED bad.sh \(exit status 3\)'
says '^    \| why$'
says '^skipped without.sh: there is no such device$'
says '^failed: bad.sh \(why\), cases.sh \(test_two\)$'
says '^skipped: without.sh$'
says '^3 passed, 2 failed, 1 skipped$'
[ $status = 1 ] || fail "status $status"
[ "$(grep -cE '^[0-9.]+ [0-9.]+ (good|bad|cases|without).sh$' "$work/log/seconds")" = 4 ] || fail "seconds: $(cat "$work/log/seconds")"

# CPU is that of all that a test started, whoever its parent was
script computes.sh <<<'(setsid bash -c "for i in {1..300000}; do :; done; echo over >$0.over" &); until [ -e "$0.over" ]; do read -r -t 0.05 <> <(:) || true; done'
run_these computes.sh
says '^ok computes.sh \(1\) [0-9.]+ s, CPU (0\.[2-9]|[1-9])'

# a test that leaves something running has failed, and it is ended
script leaves.sh <<<'(setsid sleep 1000 & echo $! >"$0.pid"); until [ -s "$0.pid" ]; do read -r -t 0.05 <> <(:) || true; done'
run_these leaves.sh
says '^FAILED leaves.sh \(exit status 0\)'
says 'left processes behind:$'
says '[0-9]+ sleep 1000$'
[ ! -e "/proc/$(cat "$work/leaves.sh.pid")" ] || fail 'it still runs'

# a test of a landing that fails runs once more, alone, unless many do: what passes then is told by name. What a sanitizer finds stays found
script steady.sh <<<'echo again >>"$0.runs"; echo "[       OK ] test_one"'
script unsteady.sh <<<'echo again >>"$0.runs"; echo "[       OK ] test_one"; [ "$(wc -l <"$0.runs")" = 2 ] || { echo "[  FAILED  ] test_two"; exit 1; }'
script fails.sh <<<'echo again >>"$0.runs"; echo no; exit 1'
script found.sh <<<'echo again >>"$0.runs"; echo "==7==ERROR: AddressSanitizer: heap-use-after-free"; exit 1'
again() { # MOST NAME...: these tests, of which so many may be unsteady
    rm -f "$work"/*.runs
    PYTHONPATH=$EDL_SOURCE_DIR/tests/lib python3 -B - "$work" "$@" >"$work/said" 2>&1 <<'PYTHON' || true
import sys
import steps
at, most, *names = sys.argv[1:]
listed = [steps.Step(name, ['bash', f'{at}/{name}'], source=f'{at}/{name}') for name in names]
run = steps.Run(listed, f'{at}/log', unsteady_most=int(most))
passed = run.go()
run.tell_counts()
print('it passed' if passed else 'it failed')
PYTHON
}
ran() { [ "$(wc -l <"$work/$1.runs")" = "$2" ] || fail "$1 ran $(wc -l <"$work/$1.runs") times: $(cat "$work/said")"; } # NAME TIMES
again 2 steady.sh unsteady.sh
says '^unsure unsteady.sh \(exit status 1\)'
says '^    \| \[  FAILED  \] test_two$'
says '^ok unsteady.sh'
says '^failed, and passed when run again alone: unsteady.sh \(test_two\)$'
says '^2 passed, 0 failed, 0 skipped$'
says '^it passed$'
ran steady.sh 1
[ "$(grep -c FAILED "$work/log/unsteady.sh.log.first")" = 1 ] || fail 'what it printed first is lost'
again 2 steady.sh unsteady.sh fails.sh
says '^failed: fails.sh \(no\)$'
says '^2 passed, 1 failed, 0 skipped$'
says '^it failed$'
ran fails.sh 2
again 1 unsteady.sh fails.sh
says '^1 passed, 2 failed, 0 skipped$'
ran unsteady.sh 1
again 2 found.sh
says '^0 passed, 1 failed, 0 skipped$'
ran found.sh 1
script skips.sh <<<'echo again >>"$0.runs"; [ "$(wc -l <"$0.runs")" = 1 ] || { echo "none here"; exit 77; }; echo lost; exit 1'
again 2 skips.sh
says '^failed: skips.sh \(lost\)$'
says '^0 passed, 1 failed, 0 skipped$'
ran skips.sh 2
script crashes.sh <<<'echo again >>"$0.runs"; kill -SEGV $$'
again 2 crashes.sh
says '^0 passed, 1 failed, 0 skipped$'
ran crashes.sh 1
script child.sh <<<'echo again >>"$0.runs"; bash -c "kill -SEGV \$\$"; exit 1'
again 2 child.sh
says '^0 passed, 1 failed, 0 skipped$'
ran child.sh 1
again 0 unsteady.sh
says '^1 passed, 1 failed, 0 skipped$'
ran unsteady.sh 1

# a test that hangs is ended by its limit, and says so. A limit that is over before the test can hear of it shows nothing: a longer one is tried
script hangs.sh <<<'trap "echo asked; exit 1" TERM; : >"$0.hears"; while :; do read -r -t 1 <> <(:) || true; done'
limit_s=1
until EDL_TEST_TIMEOUT_S=$limit_s run_these hangs.sh && [ -e "$work/hangs.sh.hears" ]; do
    [ $limit_s -lt 100 ] || fail "it does not begin in $limit_s s: $(cat "$work/said")"
    limit_s=$((limit_s * 4))
done
says '^FAILED hangs.sh \(exit status 124\)'
says "the time limit of $limit_s s is over"
says '\| asked$'

# files of tests in one program: only those of the file run that its first argument names. However many fail (77 would be a skip, and 256
# none), the program fails; it refuses a name that it has not
{ echo '#include "test.h"' && printf 'TEST(test_%s) { assert_true(false); }\n' {1..77}; } >"$work/test_many.c"
printf '#include "test.h"\nTEST(test_%s) { assert_int_equal(%s); }\n' good '1, 1' >"$work/test_good.c"
gcc -D_GNU_SOURCE -I"$EDL_SOURCE_DIR/tests/unit" "$work"/test_{many,good}.c -lcmocka -o "$work/list"
this() { # STATUS ARGUMENT...: the program ends so
    local status=0 wanted=$1
    shift
    "$work/list" "$@" >"$work/said" 2>&1 || status=$?
    [ $status = "$wanted" ] || fail "the program with $*: status $status"
}
this 0 test_good
says '^\[  PASSED  \] 1 test'
this 1 test_many
says '^\[  FAILED  \] test_77$'
this 1
says '^\[       OK \] test_good$'
this 1 'test_[15]*'
[ "$(grep -c '^\[  FAILED  \] test_[15][0-9]*$' "$work/said")" = 44 ] || fail "not these: $(cat "$work/said")"
this 2 test_good test_1
says '^  test_good \(.*/test_good.c\)$'
lacks test_1 <"$work/said" || fail 'the names of another file are told'
this 2 test_goof
status=0
"$EDL_SOURCE_DIR/tests/run" --units test_goof >"$work/said" 2>&1 || status=$?
[ $status = 2 ] || fail "a unit test that is not there: status $status"
says 'there is no unit test test_goof'

# Ctrl-C ends all, what left its group included
script long.sh <<<'trap "echo >$0.asked; exit 130" TERM; setsid sleep 1000 & echo $! >"$0.pid"; while :; do read -r -t 1 <> <(:) || true; done'
"$EDL_SOURCE_DIR/tests/run" --log "$work/log" --scripts "$work/long.sh" >"$work/said" 2>&1 &
runner=$!
deadline=$((SECONDS + 120))
until [ -s "$work/long.sh.pid" ]; do
    [ $SECONDS -lt $deadline ] || fail 'it does not begin'
    read -r -t 0.05 <> <(:) || true
done
kill -INT $runner
status=0
wait $runner || status=$?
[ $status = 130 ] || fail "interrupted: status $status"
says '^interrupted: ends long.sh$'
says '^0 passed, 0 failed, 0 skipped; interrupted'
[ -e "$work/long.sh.asked" ] || fail 'the test was not asked to end'
[ ! -e "/proc/$(cat "$work/long.sh.pid")" ] || fail 'what it started still runs'

# what begins when, and what a check may take of the processor
PYTHONPATH=$EDL_SOURCE_DIR/tests/lib python3 -B - "$work/log" <<'PYTHON' || fail 'order or budget'
import sys
import time
import budget
import steps
from costs import Cost
from steps import COMPUTES, WAITS, Step

steps.CORES = 2
steps.MOST = {COMPUTES: 4, WAITS: 8}


def begun(listed, known, over=(), memory_mib=1e6, slowness=1.0, ago_s=0):
    """Which of these steps begin at once, when each began ago_s ago."""
    run = steps.Run(listed, sys.argv[1], known, slowness)
    run.over, run.memory_mib, names = {name: True for name in over}, memory_mib, []
    run.pending = [step for step in run.pending if step.name not in over]
    run.start = lambda step: (names.append(step.name), run.running.__setitem__(step.name, (step, 0, time.monotonic() - ago_s)))
    run.start_what_may()
    return names


def waiting(name, **more):
    return Step(name, ['true'], WAITS, **more)


# scripts that wait fill half of the cores by what they used: eight of a tenth, longest first; a slower machine takes fewer
idle = [waiting(f's{i}') for i in range(10)]
known = {f's{i}': Cost(10 + i, 1, 100) for i in range(10)}
assert begun(idle, known) == [f's{i}' for i in range(9, 1, -1)], begun(idle, known)
assert len(begun(idle, {f's{i}': Cost(10, 2, 100) for i in range(10)})) == 5
assert len(begun(idle, {f's{i}': Cost(10, 2, 100) for i in range(10)}, slowness=3)) == 2
# nobody knows a new one: a quarter of a core
assert len(begun(idle, {'other': Cost()})) == 4
# memory bounds them too, but one runs at least
assert len(begun(idle, known, memory_mib=300)) == 3
assert begun(idle[:1], {'s0': Cost(10, 1, 500)}, memory_mib=300) == ['s0']
# who begins a long chain goes first; who has no room yet keeps it from smaller ones
chain = [waiting('short'), waiting('first'), waiting('last', needs=('first',))]
assert begun(chain, {'short': Cost(20, 19), 'first': Cost(5, 2), 'last': Cost(100, 5)})[0] == 'first'
large = [waiting('a'), waiting('b'), waiting('c')]
assert begun(large, {'a': Cost(30, 15), 'b': Cost(20, 36), 'c': Cost(1, 0.1)}) == ['a']
# no step waits for one that hangs: it takes thrice as long as last time, and a minute
assert begun(large, {'a': Cost(30, 15), 'b': Cost(20, 36), 'c': Cost(1, 0.1)}, ago_s=149) == ['a']
assert begun(large, {'a': Cost(30, 15), 'b': Cost(20, 36), 'c': Cost(1, 0.1)}, ago_s=151) == ['a', 'b', 'c']
# a build wants all cores, and does not wait for a test that waits
builds = [Step('idle', ['true'], COMPUTES), Step('build', ['true'], COMPUTES, cores=2), Step('test', ['true'], COMPUTES)]
assert begun(builds, {'idle': Cost(100, 4), 'build': Cost(50, 90), 'test': Cost(1, 1)}) == ['idle', 'build']

second, rows = budget.read([['calibrate', '0.5'], ['units', '100', '80', 'test_*'], ['rest', '50', '50', '*.sh'], ['all', '150', '130', '*']])
assert second == 0.5
took = {'test_a': 70.0, 'test_b': 20.0, 'x.sh': 40.0}
assert budget.judge(rows, took, 1.0, 0.0, 0.0)[1]
lines, holds = budget.judge(rows, {**took, 'x.sh': 55.0}, 1.0, 0.0, 0.0)
assert not holds and 'CPU s by area: units 90 of 80, rest 55 of 50' in lines and 'budget: 145 of 130 CPU s' in lines[1], lines
assert budget.judge(rows, {**took, 'x.sh': 55.0}, 1.0, 1.0, 0.0)[1]  # with nothing in the compiler cache it may take more
assert budget.judge(rows, {**took, 'x.sh': 55.0}, 1.2, 0.0, 0.0)[1]  # and on slower cores
assert budget.judge(rows, {**took, 'x.sh': 55.0}, 1.0, 0.0, 1.0)[1]  # and beside others
lines, holds = budget.judge(rows, {'test_a': 101.0, 'x.sh': 10.0}, 1.0, 0.0, 0.0)
assert holds and lines[0] == 'over its budget: units 101 of 80 CPU s: test_a 101 s', lines
assert budget.missed_part((10, 5), (40, 15)) == 0.25 and budget.missed_part((0, 0), (0, 0)) == 1.0
PYTHON

# what is not understood is refused with what there is
refused() { # WORDS ARGUMENT...
    local words=$1 status=0
    shift
    "$EDL_SOURCE_DIR/check" "$@" >"$work/said" 2>&1 || status=$?
    [ $status = 2 ] || fail "check $*: status $status"
    says "$words"
    says '^areas: agent .* packaging'
}
refused 'unknown option --fast' --fast
refused 'unknown area nothing' --quick nothing
refused 'areas go with --quick: agent' agent

# a folder that other accounts may not enter is told before anything is installed or built; here it is this test's own
if [ "$(id -u)" = 0 ]; then
    mkdir "$work/open" "$work/open/closed"
    chmod 755 "$work"
    chmod 700 "$work/open/closed"
    for variable in EDL_CHECK_DIR TMPDIR; do
        status=0
        env "$variable=$work/open/closed/new" timeout 120 "$EDL_SOURCE_DIR/check" >"$work/said" 2>&1 || status=$?
        [ $status = 2 ] || fail "check with $variable in a closed folder: status $status"
        says "other accounts may not enter $work/open/closed \(mode 700\), but tests run programs as another account in $work/open/closed/new\$"
        says "^try: chmod o\+x $work/open/closed, or another place: EDL_CHECK_DIR="
    done
fi

# await ends as soon as what it waits for cannot come any more; what comes with the end, and what a test does not mean so, is not hurt
awaits() { # NAME STATUS, text on standard input
    local began=$SECONDS status=0
    { echo '. "$EDL_SOURCE_DIR/tests/lib/await.sh"; set -eu; edl() { echo "{\"job\": {\"state\": \"$one_is\"}}"; }' && cat; } >"$work/$1.sh"
    bash "$work/$1.sh" >"$work/said" 2>&1 || status=$?
    [ $status = "$2" ] || fail "await $1: status $status, $(cat "$work/said")"
    [ $((SECONDS - began)) -lt 100 ] || fail "await $1 took $((SECONDS - began)) s"
}
awaits over 1 <<<'one_is=failed; await 120 "it runs" job_is one running'
says '^FAIL: cannot come any more: it runs: job one is over: failed$'
awaits file 1 <<<'one_is=killed; await 120 "a file" while_job one test -e /nowhere'
says '^FAIL: cannot come any more: a file: job one is over: killed$'
awaits process 1 <<<'sleep 0 & await 120 "a file" while_runs $! test -e /nowhere'
says '^FAIL: cannot come any more: a file: process [0-9]+ has ended$'
awaits lost 1 <<<'await_lost() { echo "n1 is off"; }; await 120 "a file" test -e /nowhere'
says '^FAIL: cannot come any more: a file: n1 is off$'
awaits other 0 <<<'one_is=failed; await 9 a job_is one running failed; await 9 b eval "! job_is one running"; await 9 c eval "job_is one running || true"'
awaits not-yet 1 <<<'one_is=queued; await 1 "it runs" job_is one running'
says '^FAIL: not in time: it runs$'
awaits last 0 <<<'(sleep 0.3; touch "$0.end") & await 120 "a file" while_runs $! test -e "$0.end"'
awaits status 1 <<<'three() { return 3; }; await 1 "status 3" three'
says '^FAIL: not in time: status 3$'

# the same of counts, of `edl dev` and of a daemon; one that the test has killed is not missed
one='. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"; api() { echo "{\"state\":\"succeeded\",\"roles\":[{\"role\":\"trainer\",\"running\":1}],\"records_total\":5}"; }'
awaits running 1 <<<"$one"'; await 120 "two run" at_least one trainer 2'
says '^FAIL: cannot come any more: two run: job one is over, with 1 of role trainer$'
awaits records 1 <<<"$one"'; await 9 "five" records_at_least one 5; await 120 "six" records_at_least one 6'
says '^FAIL: cannot come any more: six: job one is over, with 5 records$'
awaits dev 1 <<<'. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"; true & dev_pid=$!; await 120 "a file" test -e /nowhere'
says '^FAIL: cannot come any more: a file: edl dev has ended$'
daemons='. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"; begin one begun sh -c "echo begun >&2; read -r line" <<<"" '
awaits daemon 1 <<<"$daemons"'; await 120 "a file" test -e /nowhere'
says '^FAIL: cannot come any more: a file: one has ended, see '
awaits killed 1 <<<"$daemons"'; kill "$pid" || true; await 1 "a file" test -e /nowhere'
says '^FAIL: not in time: a file$'

# what a test left in the background ends with it
awaits background 1 <<<"$daemons"'; sleep 1000 & true; fail "on purpose"'
says '^FAIL: on purpose$'

# each script and each list of unit tests is in the plan, once; each folder has an area
plan() { EDL_CHECK_DIR=$work/check python3 "$EDL_SOURCE_DIR/tests/lib/plan.py" --build-dir "$work/check" --dry-run "$@"; }
plan night | awk '{ print $3 }' | sort >"$work/steps"
silent uniq -d "$work/steps" || fail "twice: $(uniq -d "$work/steps")"
for path in "$EDL_SOURCE_DIR"/tests/{cluster,integration,sim}/[0-9]*.sh; do
    grep -qx "${path##*/}" "$work/steps" || fail "the night does not run ${path##*/}"
done
for path in "$EDL_SOURCE_DIR"/tests/unit/test_*.c; do
    name=${path##*/}
    grep -qx "${name%.c}" "$work/steps" || fail "the night does not run ${name%.c}"
done
plan full | awk '$1 ~ /^(computes|waits|alone)$/ { print $3 }' >"$work/steps"
PYTHONPATH=$EDL_SOURCE_DIR/tests/lib python3 -B - "$work/steps" <<'PYTHON' || fail 'tests/budget has no row for a step'
import sys
import budget
import tests_here
_, rows = budget.read(tests_here.table('tests/budget'))
lacking = [step for step in open(sys.argv[1]).read().split() if budget.area_of(rows[:-1], step) is None]
sys.exit(f'no row for {lacking}' if lacking else 0)
PYTHON
lacks -x 295-distcheck.sh <"$work/steps" || fail 'what is for the night runs for a landing'
while IFS='|' read -r name _ check _; do
    case $name in '#'* | '') continue ;; esac
    name=$(tr -d ' ' <<<"$name")
    [ -e "$EDL_SOURCE_DIR/tests/unit/$name.c" ] || fail "tests/heavy: there is no $name"
    [ "$(tr -d ' ' <<<"$check")" = - ] || grep -qx "plain-$name" "$work/steps" || fail "$name does not run"
done <"$EDL_SOURCE_DIR/tests/heavy"

# what tests/areas names is there, and each folder of the checkout has an area
(
    cd "$EDL_SOURCE_DIR"
    set -f
    while IFS='|' read -r name paths tests scripts; do
        case $name in '#'* | '') continue ;; esac
        for path in $paths; do
            [ "$(compgen -G "$path*")" ] || fail "tests/areas: nothing begins with $path"
            echo "$path" >>"$work/paths"
        done
        for test in $tests; do
            [ "$test" = - ] || [ -e "tests/unit/$test.inc" ] || [ -e "tests/fuzz/fuzz_${test#replay_}.c" ] || fail "tests/areas: there is no list and no target $test"
        done
        for pattern in $scripts; do
            [ "$(compgen -G "tests/*/$pattern.sh")" ] || fail "tests/areas: no script is $pattern"
        done
    done <tests/areas
    set +f
    for folder in */; do
        case $folder in build*) continue ;; autom4te.cache/) continue ;; esac
        grep -q "^$folder" "$work/paths" || fail "tests/areas: $folder has no area"
    done
)

# a change asks for the tests of its areas, and for those that changed themselves
command -v git >/dev/null || exit 0
tree=$work/tree
mkdir -p "$tree/tests"
cp -r "$EDL_SOURCE_DIR"/tests/{areas,heavy,lib,unit,fuzz,cluster,integration,sim} "$tree/tests"
git() { command git -C "$tree" -c user.name=test -c user.email=test@localhost "$@"; }
git init -q -b main
git add . && git commit -q -m one
git checkout -q -b change
mkdir -p "$tree/agent"
touch "$tree/agent/new.c"
echo >>"$tree/tests/unit/test_wire.c"
echo >>"$tree/tests/integration/233-services.sh"
git add . && git commit -q -m two
EDL_SOURCE_DIR='' python3 "$tree/tests/lib/plan.py" --dry-run quick >"$work/said"
says '^3 files differ from [0-9a-f]{12}; areas: agent tests; changed tests: 233-services test_wire$'
for name in test_agent_core replay_agent_conf 210-kill-agent.sh test_wire 233-services.sh lint; do says " $name( |\$)"; done
lacks test_store <"$work/said" || fail 'tests of another area run'
