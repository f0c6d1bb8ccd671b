#!/usr/bin/env bash
# A process of one job follows who serves in another, with nothing but curl and EDL_SOCKET: the service grows, loses a process,
# the scheduler is killed, the service is stopped and submitted anew.
# Takes 11 s: a service begins, grows, loses a process, shrinks, ends and begins anew, and each is waited for
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 2 --cpu 2000m
# each change that it hears of is a line of $work/heard: the answer
cat >"$work/student" <<'END'
#!/usr/bin/env bash
set -eu
query=
while :; do
    answer=$(curl -sS --max-time 120 --unix-socket "$EDL_SOCKET" "http://edl/services/teachers$query")
    version=$(jq .version <<<"$answer")
    [ "$query" = "?after=$version&wait=20" ] || echo "$answer" >>"$1/heard"
    query="?after=$version&wait=20"
done
END
chmod +x "$work/student"
touch "$work/heard"
service() { # MAX
    cat <<JOB
{"name":"teachers","mode":"service","fault_tolerant":true,"restart":{"max":20,"backoff":"200ms"},"grace":"5s",
 "roles":[{"role":"server","command":["sleep","1000"],"min":1,"max":$1,"cpu":"200m"}]}
JOB
}
student="{\"name\":\"student\",\"mode\":\"collective\",\"roles\":[{\"role\":\"trainer\",\"command\":[\"$work/student\",\"$work\"],\"min\":1,\"cpu\":\"200m\"}]}"

# heard JQ: true of the processes that the student heard of last
heard() {
    [ "$(tail -n 1 "$work/heard" | jq ".processes | $1")" = true ]
}

said=$(edl services) || fail 'edl services fails'
case $said in *teachers*) fail 'a service without a job' ;; esac
service 1 | edl submit - >/dev/null
echo "$student" | edl submit - >/dev/null
await 120 'the student finds its teacher' heard 'length == 1 and .[0].index == 0'
heard '.[0] | .role == "server" and (.ports | length) == 1 and .address != "" and .started_us > 0' || fail "heard: $(tail -n 1 "$work/heard")"
edl services | grep -q '^teachers  *[a-z]*  *1  *1$' || fail "edl services: $(edl services)"
edl services teachers | grep -q '^server-0 ' || fail "edl services teachers: $(edl services teachers)"
if edl services teacher 2>"$work/err"; then fail 'an unknown service'; fi
grep -q 'teachers' "$work/err" || fail "no nearest name: $(cat "$work/err")"

edl scale teachers 1:3 --role server >/dev/null
await 120 'it hears of new ones' heard 'map(.index) == [0, 1, 2]'
first=$(tail -n 1 "$work/heard" | jq '.processes[1].incarnation')
edl node cordon node-1 node-2 >/dev/null # the next one waits until the student has heard that this one is gone
kill -9 "$(pids teachers server 1)"
await 120 'it hears that one is gone' heard 'map(.index) == [0, 2]'
edl node uncordon node-1 node-2 >/dev/null
await 120 'it hears of the next incarnation' heard "map(.index) == [0, 1, 2] and .[1].incarnation > $first"

# a restart changes nothing: there is nothing to hear
lines=$(wc -l <"$work/heard")
kill -9 "$(pgrep -f -- "edl-scheduler .*$work" | head -n 1)"
await 120 'a scheduler answers' scheduler_answers
edl scale teachers 1:2 --role server >/dev/null
await 120 'it hears of the one that is stopped' heard 'length == 2'
[ "$(wc -l <"$work/heard")" = $((lines + 1)) ] || fail "it heard more than the change: $(cat "$work/heard")"

edl kill teachers >/dev/null
edl wait teachers --timeout 120 || true
await 120 'it hears that nobody serves' heard 'length == 0'
service 2 | edl submit - >/dev/null
await 120 'it hears of the service that took the name' heard 'length == 2'
kill -0 "$(pids student trainer 0)" || fail 'the student was disturbed'
edl kill student teachers >/dev/null
cluster_stop
