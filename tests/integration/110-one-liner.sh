#!/usr/bin/env bash
# `edl submit -- COMMAND`: runs, its output comes back, its outcome is the exit status; kill leaves nothing behind.
# Takes 10 s: 15 jobs, one of which is killed after its grace of 2 s
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
# each node offers more than the machine has: edl dev is for trying things out, and says so
cluster_start --nodes 2 --cpu "$((3 * $(nproc)))"
grep -q "this machine has $(nproc)000m" "$work/dev.log" || fail "no note of what the machine has: $(cat "$work/dev.log")"

# the cluster is found without any option: --version is of the command alone, version of both
[ "$(edl --version)" = "$(edl version | head -n 1)" ] || fail "--version says $(edl --version)"
edl version | grep -q '^server ' || fail "version says $(edl version)"

edl submit --name hello --follow -- echo hello from the cluster >"$work/out" 2>"$work/err"
if grep -q 'has to be there' "$work/err"; then fail "one machine, and still: $(cat "$work/err")"; fi
grep -q 'hello from the cluster' "$work/out" || fail "no output: $(cat "$work/out")"
job_is hello succeeded || fail 'hello did not succeed'

status=0
edl submit --name wrong --follow -- sh -c 'echo going wrong; exit 3' >"$work/out" || status=$?
[ $status = 3 ] || fail "the exit status of a program is 3, of its job $status"
status=0
edl submit --follow -- sh -c 'kill -9 $$' >"$work/out" || status=$?
[ $status = 137 ] || fail "a program is killed, and the exit status is $status"
job_is wrong failed || fail 'wrong did not fail'
job_field wrong .reason | grep -q 'exit code 3' || fail "reason: $(job_field wrong .reason)"
# two processes print three lines alike: those are shown once
edl submit --min 2 --max 2 --follow -- printf 'a\nb\nc\n' >"$work/out"
[ "$(grep -c '\] b$' "$work/out")" = 1 ] && grep -q '^\[trainer-[01]\] the same, up to: c$' "$work/out" ||
    fail "alike: $(cat "$work/out")"
# logs are there after the end
edl logs wrong | grep -q 'going wrong' || fail 'the log is gone'

# that a program wrote nothing is known with its end: nobody waits for a log that does not come
edl submit --name quiet -- true
edl wait quiet --timeout 120
api GET /jobs/quiet/logs | holds .end || fail 'the log of a silent program has no end'

# what is asked again and again needs no libcurl, which takes longer to load; what needs it says that it is not there
curl=$(ldd "$EDL_BUILD_DIR/edl-agent" | sed -n 's/[[:space:]]*\(libcurl[^ ]*\).*/\1/p')
mkdir "$work/no-curl" && : >"$work/no-curl/$curl"
LD_LIBRARY_PATH=$work/no-curl edl submit --name light -- true || fail 'edl submit loads libcurl'
LD_LIBRARY_PATH=$work/no-curl edl wait light --timeout 120 || fail 'edl wait loads libcurl'
status=0
LD_LIBRARY_PATH=$work/no-curl edl ps --server https://127.0.0.1:1 2>"$work/err" || status=$?
[ $status = 1 ] || fail "without libcurl: status $status, $(cat "$work/err")"
grep -q "try: install the package that has $curl" "$work/err" || fail "without libcurl: $(cat "$work/err")"
status=0
edl ps --server https://127.0.0.1:1 2>"$work/err" || status=$?
[ $status = 3 ] || fail "nobody speaks TLS there: status $status, $(cat "$work/err")"

# EDL_SOCKET knows its caller from the first moment
for i in 1 2 3 4 5 6 7 8 9 10; do
    # shellcheck disable=SC2016
    edl submit --name "early-$i" -- sh -c 'exec curl -sSf --unix-socket "$EDL_SOCKET" "http://agent/jobs/self/hosts?role=trainer"' >/dev/null
done
for i in 1 2 3 4 5 6 7 8 9 10; do
    edl wait "early-$i" --timeout 120 || fail "early-$i: $(edl logs "early-$i")"
done

# a job whose children hide: double fork, new session, TERM ignored
# shellcheck disable=SC2016
hide='trap "" TERM; (setsid bash -c "trap \"\" TERM; exec -a hidden-'$$' sleep 1000" & ) ; echo up; sleep 1000'
jq -n --arg hide "$hide" '{metadata: {name: "hide"}, spec: {grace: "2s", trainer: {command: ["bash", "-c", $hide]}}}' >"$work/hide.json"
edl submit "$work/hide.json"
await 120 'hide runs' job_is hide running
await 120 'hide says up' while_job hide sh -c 'edl logs hide | grep -q up'
edl scale hide 1:1 >/dev/null
hidden="^hidden-$$ "
await 120 'its child hides' while_job hide pgrep -f "$hidden" >/dev/null
edl kill hide --reason test
status=0; edl wait hide --timeout 120 || status=$?
[ $status = 1 ] || fail "wait of a killed job: exit status $status"
job_is hide killed || fail 'hide was not killed'
if pgrep -f "$hidden" >/dev/null; then fail 'a hidden child is left'; fi

# unknown job, unknown verb
status=0; edl show nothing >"$work/out" 2>&1 || status=$?
[ $status = 1 ] || fail "show of an unknown job: $status"
status=0; edl sumbit >"$work/out" 2>&1 || status=$?
[ $status = 2 ] && grep -q submit "$work/out" || fail "unknown verb: $status $(cat "$work/out")"
cluster_stop
