#!/usr/bin/env bash
# One rank of three fails, and the others fail for that: `edl why` and `edl show` begin with the first error. So they do when that
# rank hangs behind its error and is stopped with the others. A job that succeeded has none.
# Takes 5 s
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 2 --cpu 2000m
cat >"$work/train.py" <<'END'
import os, sys, time
rank, work = int(os.environ["RANK"]), sys.argv[1]
if rank == 2:
    open(work + "/gate").read()
    sys.stderr.write("Traceback (most recent call last):\n  File \"train.py\", line 7, in <module>\nRuntimeError: CUDA out of memory. Tried to allocate 2 GiB\n")
    sys.stderr.write("[W] destroy_process_group() was not called before the end\n")
    os._exit(1)
signal = __import__("signal")
def peer_is_gone(*unused):
    sys.stderr.write("ConnectionError: rank 2 is gone\n")
    sys.stderr.flush()
    os._exit(1)
signal.signal(signal.SIGTERM, peer_is_gone)
open(work + "/ready-%d" % rank, "w")
while True:
    signal.pause()
END
mkfifo "$work/gate"
jq -n --arg program "$work/train.py" --arg work "$work" '{metadata: {name: "gang"}, spec: {restart: {max: 0}, trainer: {"min-instance": 3, "max-instance": 3,
    resources: {requests: {cpu: "500m"}}, command: ["python3", $program, $work]}}}' | edl submit - >/dev/null
ready() { [ -e "$work/ready-0" ] && [ -e "$work/ready-1" ]; }
await 120 'all run' while_job gang ready
edl why gang >"$work/why"
if grep -q 'first error' "$work/why"; then fail "before any: $(cat "$work/why")"; fi
echo >"$work/gate"
if edl wait gang --timeout 120; then fail 'it succeeded'; fi
node=$(api GET '/jobs/gang/processes?state=all' | jq -r '.processes[] | select(.index == 2).node')
for verb in why show; do
    edl $verb gang >"$work/told"
    head -n 1 "$work/told" | grep -Eq "^first error: trainer-2 on node $node, 20[0-9-]+ [0-9:]+: RuntimeError: CUDA out of memory\. Tried to allocate 2 GiB$" ||
        fail "edl $verb begins: $(head -n 2 "$work/told")"
done
edl show gang --json | holds '.first_error.process == "trainer-2"' || fail "JSON: $(edl show gang --json | jq -c .first_error)"
# a rank hangs behind its error, and another one fails for that
cat >"$work/hang.py" <<'END'
import os, sys, time
rank, work = int(os.environ["RANK"]), sys.argv[1]
if rank == 1:
    sys.stderr.write("[rank1]: Traceback (most recent call last):\n[rank1]: ValueError: no data\n")
    open(work + "/said", "w")
    time.sleep(1000)
elif rank == 2:
    open(work + "/gate").read()
    time.sleep(1) # its patience
    sys.stderr.write("torch.distributed.DistBackendError: NCCL error: rank 1 does not answer\n")
    os._exit(1)
time.sleep(1000)
END
jq -n --arg program "$work/hang.py" --arg work "$work" '{metadata: {name: "hang"}, spec: {restart: {max: 0}, trainer: {"min-instance": 3, "max-instance": 3,
    resources: {requests: {cpu: "500m"}}, command: ["python3", $program, $work]}}}' | edl submit - >/dev/null
await 120 'the rank has failed' while_job hang test -e "$work/said"
echo >"$work/gate"
if edl wait hang --timeout 120; then fail 'it succeeded'; fi
edl why hang >"$work/told"
head -n 1 "$work/told" | grep -q '^first error: trainer-1 on node .*: \[rank1\]: ValueError: no data$' || fail "of one that hangs it says: $(head -n 2 "$work/told")"

edl submit --name fine -- true >/dev/null
edl wait fine --timeout 120
[ "$(edl show fine --json | jq -r .first_error)" = null ] || fail 'a job that succeeded has an error'
cluster_stop
