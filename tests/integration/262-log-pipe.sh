#!/usr/bin/env bash
# A job puts pipes in the place of its logs, which nobody writes to or reads from: neither the agent nor the supervisor of the
# next try waits for that, and what happens with the job is told.
# Takes 6 s: four jobs, nearly all one after another
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 1
cat >"$work/plumber.sh" <<'END'
log=$(ls "$EDL_LOG_DIR"/trainer-0.*.log)
rm "$log"
mkfifo "$log" "${log%.1.log}.2.log"
echo >"$1/laid"
read -r <"$1/gate"
exit 1
END
mkfifo "$work/gate"
jq -n --arg script "$work/plumber.sh" --arg work "$work" '{metadata: {name: "plumber"}, spec: {fault_tolerant: true,
    restart: {max: 1, backoff: "100ms"}, trainer: {"min-instance": 1, "max-instance": 1, command: ["bash", $script, $work]}}}' |
    edl submit - >/dev/null
await 120 'the pipes are laid' while_job plumber test -e "$work/laid"
others_run() { # NAME: a process starts, writes, ends, and what it wrote is here
    edl submit --name "$1" -- echo "$1 was here" >/dev/null
    edl wait "$1" --timeout 120 || fail "$1: $(job_field "$1" .reason)"
    edl logs "$1" | grep -q "$1 was here" || fail "$1: $(edl logs "$1")"
}
others_run beside
# whoever looks at it sees nothing, and holds nobody up
edl logs plumber >"$work/logs"
others_run after-a-look
echo >"$work/gate"
if edl wait plumber --timeout 120; then fail 'it succeeded'; fi
case $(job_field plumber .reason) in *'cannot open the log'*) ;; *) fail "the reason is $(job_field plumber .reason)" ;; esac
others_run at-the-end
cluster_stop
