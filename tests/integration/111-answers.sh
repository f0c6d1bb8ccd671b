#!/usr/bin/env bash
# What the command says to whoever submits for the first time: that a job never fits, what it may use, why it waits, where its
# output is, and an array by its name.
# Takes 14 s: a dozen jobs, most of them one after another
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 2 --cpu 2 --memory 4Gi

# never: at once, with what fits
edl submit --name huge --cpu 64 -- true >"$work/out" 2>"$work/err"
grep -q '^job huge (1) queued: one trainer needs 64000m CPU.* at most 1000m CPU on one' "$work/out" || fail "submit: $(cat "$work/out")"
grep -q 'edl kill huge' "$work/err" || fail "what to do: $(cat "$work/err")"
edl kill huge >/dev/null

# no word of memory: told at once what each may use, its part of a node, and shown
edl submit --name plain --cpu 500m -- true >/dev/null 2>"$work/err"
memory=$(sed -n 's/^note: each trainer asks for memory \([0-9.]*[MG]i\), as the job .*/\1/p' "$work/err")
[ -n "$memory" ] && [ "$memory" != 512Mi ] || fail "no word of its memory: $(cat "$work/err")"
edl show plain | grep -qE "^trainer .* 0\.5 +$memory" || fail "show: $(edl show plain)"
edl submit --name none -- true >/dev/null 2>"$work/err"
grep -q '^note: each trainer asks for cpu 0.1 memory ' "$work/err" || fail "no word of its CPU: $(cat "$work/err")"

# it waits: the reason is told, and again when it is another one
edl submit --name first --cpu 1 --min 2 --workspace private -- sleep 1000 >/dev/null
await 120 'the first runs' job_is first running
edl submit --name second --cpu 1 --follow -- echo seen >"$work/out" 2>"$work/err" &
follower=$!
told() { grep -q "$1" "$work/err"; }
await 120 'why it waits is told' told '^note: second waits: its minimum of 1 process needs 1000m CPU'
edl node cordon node-1 node-2
await 120 'that it changed is told' told '^note: second waits: no node'
edl node uncordon node-1 node-2
edl kill first >/dev/null
wait "$follower" || fail "the follower: $(cat "$work/err")"
grep -q seen "$work/out" || fail "its output: $(cat "$work/out")"

# an array, by its name
edl submit --name sweep --array 0-2 --cpu 100m -- sh -c 'echo "I am $EDL_ARRAY_INDEX"; exit $((EDL_ARRAY_INDEX == 1 ? 3 : 0))' >/dev/null
status=0
edl wait sweep --timeout 300 >"$work/out" || status=$?
[ "$status" = 1 ] || fail "one of it failed, and wait says $status"
grep -q '^array sweep: 3 jobs .*: 2 succeeded, 1 failed$' "$work/out" || fail "wait: $(cat "$work/out")"
grep -q '^1 job failed (sweep-1): .*exit code 3' "$work/out" || fail "wait: $(cat "$work/out")"
for i in 0 1 2; do
    edl logs sweep | grep -q "^\[sweep-$i trainer-0\] I am $i\$" || fail "logs: $(edl logs sweep)"
done
edl show sweep | grep -q '^2 jobs succeeded (sweep-0, sweep-2)' || fail "show: $(edl show sweep)"
edl submit --name sweep --array 0-1 --cpu 100m -- sleep 1000 >/dev/null
for i in 0 1; do await 120 'they run' job_is sweep-$i running; done
edl why sweep | grep -q '^2 jobs running (sweep-0 to sweep-1)' || fail "why: $(edl why sweep)"
edl kill sweep | grep -q '^array sweep: 2 jobs are being stopped' || fail 'the array is not stopped'
edl wait sweep >/dev/null && fail 'what was killed has succeeded'
if edl wait nothing 2>"$work/err"; then fail 'nothing is waited for'; fi
grep -q 'there is no job "nothing"' "$work/err" || fail "wait: $(cat "$work/err")"

# a checkout: the module edl is there for jobs; a virtual environment is not
edl submit --name module --cpu 1 --follow -- python3 -c 'import edl; print("has", edl.__name__)' >"$work/out" || fail "import edl: $(cat "$work/out")"
mkdir -p "$work/venv/bin"
ln -s /bin/true "$work/venv/bin/python3"
VIRTUAL_ENV=$work/venv edl submit --name blind -- python3 -c '' 2>"$work/err" >/dev/null
grep -q "does not see the virtual environment $work/venv" "$work/err" || fail "the note: $(cat "$work/err")"
VIRTUAL_ENV=$work/venv edl submit --name other -- sleep 0 2>"$work/err" >/dev/null
if grep -q 'virtual environment' "$work/err"; then fail "it needs none: $(cat "$work/err")"; fi

# more output than the scheduler keeps: what it has are whole lines, and where the rest is
edl submit --name talk --workspace private -- sh -c 'seq -f "line %06.0f of this one" 1 20000; exec sleep 1000' >/dev/null
all_there() { edl logs talk | grep -q 'line 020000 of'; }
await 120 'it wrote all' all_there
said() { # WHEN
    api GET /jobs/talk/logs | jq -j '.entries[].text' >"$work/out"
    sed -n 1p "$work/out" | grep -q '^\[edl: [0-9]* bytes of output before this line are not shown: node node-[12] has them in /' ||
        fail "$1 the output begins: $(head -n 2 "$work/out")"
    sed -n 2p "$work/out" | grep -q '^line [0-9]\{6\} of this one$' || fail "$1 half a line: $(sed -n 2p "$work/out")"
    local first bytes file
    first=$(sed -n '2s/.*line 0*\([0-9]*\) of.*/\1/p' "$work/out")
    bytes=$(sed -n '1s/.*edl: \([0-9]*\) bytes.*/\1/p' "$work/out")
    file=$(sed -n '1s/.* in \(.*\)\]$/\1/p' "$work/out")
    [ "$bytes" = $(((first - 1) * 24)) ] || fail "$1 $bytes bytes are said to be before line $first"
    head -c $((bytes + 24)) "$file" | tail -n 1 | grep -q "line 0*$first of" || fail "$1 it is not in $file"
}
said 'while it runs,'
edl kill talk >/dev/null
edl wait talk >/dev/null || true
ended() { api GET /jobs/talk/logs | holds .end; }
await 120 'its end is here' ended
said 'after its end,'
cluster_stop
