#!/usr/bin/env bash
# The disk of the state directory is full, then read-only: changes are refused with a remedy, reads are answered, no node
# is lost and no process disturbed; when there is room the scheduler goes on by itself. No acknowledged job is lost.
# Takes 41 s: the disk is full for 12 s, longer than the lease of 8 s, and for 5 s more after a crash
if [ -z "${EDL_TEST_IN_NAMESPACE:-}" ]; then
    export EDL_TEST_IN_NAMESPACE=yes
    for as in -m -Urm; do
        unshare "$as" true 2>/dev/null && exec unshare "$as" --propagation private bash "$0"
    done
    echo 'no mount namespace of its own can be made here (unshare -m)'
    exit 77
fi
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
disk=$work/state/scheduler
mkdir -m 700 -p "$work/state" "$disk"
mount -t tmpfs -o size=4m,mode=0700 none "$disk" || { rm -rf "$work"; echo 'no tmpfs can be mounted here'; exit 77; }
trap 'status=$?; umount -l "$disk"; (exit $status); on_exit' EXIT

scheduler_pid() { pgrep -f -- "edl-scheduler .*$work" | head -n 1; }
not_ready() { [ "$(api GET /readyz -o /dev/null -w '%{http_code}')" = 503 ]; }
ready() { [ "$(api GET /readyz -o /dev/null -w '%{http_code}' 2>/dev/null)" = 200 ]; }
exit_of() { job_field "$1/processes?state=all" '[.processes[] | select(.role == "trainer")][-1] | "\(.state) \(.exit_code)"'; }
exit_is() { [ "$(exit_of "$1")" = "$2" ]; }

refused() { # WHAT: edl submit is, and says why and what to do
    if edl submit --name "refused" -- true 2>"$work/err"; then fail "$1: a job was taken"; fi
    grep -q "nothing can be stored in $disk" "$work/err" || fail "$1: the error does not say where: $(cat "$work/err")"
    grep -q 'bytes free' "$work/err" || fail "$1: the error does not say how much is free: $(cat "$work/err")"
    grep -q '^try: ' "$work/err" || fail "$1: the error has no remedy: $(cat "$work/err")"
    [ "$(api POST /jobs -o "$work/answer" -w '%{http_code}' --data-binary '{"metadata":{"name":"x"},"spec":{"trainer":
        {"entrypoint":"true","min-instance":1,"max-instance":1}}}')" = 507 ] || fail "$1: not 507: $(cat "$work/answer")"
}

undisturbed() { # the training job's processes are those of before, its node is there, the scheduler answers
    [ "$(pids train trainer) $(pids train pserver)" = "$before" ] || fail "$1: the processes are not those of before"
    [ "$(api GET /nodes | jq -r '.nodes[].state')" = ready ] || fail "$1: the node is lost"
    edl ps --all | grep -q '^.*train ' || fail "$1: edl ps does not list the job"
}

# --lease 8 s: it runs out while the disk is full, and a kill fits well into it
cluster_start --nodes 1 --lease 8
small_corpus 60 20000
training_job train 1 1 1000000 >"$work/job.yaml"
edl submit "$work/job.yaml"
await 120 'it trains' records_at_least train 1000
edl submit --name ends -- sh -c 'until [ -e "$0" ]; do sleep 0.1; done; exit 7' "$work/end"
await 120 'it runs' job_is ends running
before="$(pids train trainer) $(pids train pserver)"
pid=$(scheduler_pid)

# full
dd if=/dev/zero of="$disk/fill" bs=4k 2>/dev/null || true
await 120 'the scheduler found out' not_ready
refused 'disk full'
touch "$work/end" # a process ends, and nobody can write that down
for second in 1 2 3 4 5 6 7 8 9 10 11 12; do
    read -r -t 1 <> <(:) || true
    undisturbed "disk full for $second s"
done
job_is ends running || fail 'an exit was believed that cannot be stored'
[ "$(scheduler_pid)" = "$pid" ] || fail 'the scheduler was started again'
api GET /metrics | grep -q '^edl_db_writable 0' || fail 'no metric tells'

# a crash on the full disk: it comes up, and reads
kill -9 "$pid"
await 120 'it is back' not_ready
pid=$(scheduler_pid)
refused 'started on a full disk'
undisturbed 'started on a full disk'
read -r -t 5 <> <(:) || true
[ "$(scheduler_pid)" = "$pid" ] || fail 'the scheduler is started again and again'

# room
rm "$disk/fill"
await 120 'it goes on by itself' ready
[ "$(scheduler_pid)" = "$pid" ] || fail 'it took a restart'
edl submit --name after -- true
edl wait after --timeout 120 || fail 'after'
await 120 'the end of the process is known' exit_is ends 'exited 7'
records=$(job_field train .records_total)
await 120 'training goes on' records_at_least train $((records + 1000))
undisturbed 'room again'

# read-only, found at a start: nothing can be opened for writing
kill -STOP "$dev_pid" # it would start the scheduler before the disk is read-only
kill -9 "$pid"
read_only() { mount -o remount,ro "$disk" 2>/dev/null; }
await 120 'its files are closed' read_only
kill -CONT "$dev_pid"
await 120 'it is back' not_ready
refused 'read-only'
edl submit --name x -- true 2>&1 | grep -q 'read-write' || fail 'the remedy does not say what to do'
undisturbed 'read-only'
mount -o remount,rw "$disk"
await 120 'it goes on by itself' ready
edl submit --name last -- true
edl wait last --timeout 120 || fail 'last'
for job in train ends after last; do job_field "$job" .id >/dev/null || fail "$job is not there"; done
job_field refused .id | grep -qx null || fail 'a refused job is there'
undisturbed 'in the end'
edl kill train
await 120 'it is stopped' job_is train killed
cluster_stop
