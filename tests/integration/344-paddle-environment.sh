#!/usr/bin/env bash
# The environment of a job's processes tells the parameter servers that run: addresses, ports, numbers. With it alone
# edl-paddle train and edl-paddle pserver find each other.
# Takes 41 s: three jobs tell their environments, and a fourth trains with two trainers on two servers
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 1
cd "$work"
mkdir told
cat >tell <<END
#!/bin/sh
env >"$work/told/\$EDL_JOB-\$EDL_ROLE-\$EDL_INDEX.new" && mv "$work/told/\$EDL_JOB-\$EDL_ROLE-\$EDL_INDEX.new" "$work/told/\$EDL_JOB-\$EDL_ROLE-\$EDL_INDEX"
exec tail -f /dev/null
END
chmod +x tell
job() { # NAME SERVERS [LINE]
    cat <<END
metadata: {name: $1}
spec:
  port: 7164
  ports_num: 2
  ports_num_for_sparse: 3
  trainer:
    entrypoint: $work/tell
    min-instance: 2
    resources: {requests: {cpu: 200m, memory: 16Mi}}
  pserver:
    entrypoint: $work/tell
    min-instance: $2
    max-instance: $2
    resources: {requests: {cpu: 200m, memory: 16Mi}}
    ${3:-}
END
}
finds() { # PROCESS NAME VALUE
    local found
    found=$(sed -n "s/^$2=//p" "told/$1")
    [ "$found" = "$3" ] || fail "$1 finds $2=$found, not $3: $(cat "told/$1")"
}
absent() { if grep -q "^$2=" "told/$1"; then fail "$1 finds $(grep "^$2=" "told/$1")"; fi; } # PROCESS NAME
all_told() { [ "$(find told -name "$1-*" ! -name '*.new' | wc -l)" = "$2" ]; }               # JOB PROCESSES
servers() { api GET "/jobs/$1/processes" | jq -r '[.processes[] | select(.role == "pserver")] | sort_by(.index) | .[] | '"$2"; }

# two servers of one node have two ports
job many 2 | edl submit - >/dev/null
await 120 'all have told' while_job many all_told many 4
list=$(servers many '"\(.address // "127.0.0.1"):\(.ports[0])"' | paste -sd, -)
[ "$(tr , '\n' <<<"$list" | sort -u | wc -l)" = 2 ] || fail "servers: $list"
for process in many-trainer-0 many-trainer-1 many-pserver-0 many-pserver-1; do
    finds $process PADDLE_INIT_PSERVERS "$list"
    finds $process PADDLE_INIT_PORTS_NUM 1
    finds $process PADDLE_INIT_PORTS_NUM_FOR_SPARSE 0
    finds $process PADDLE_INIT_NUM_GRADIENT_SERVERS 2
    finds $process TRAINER_COUNT 1
    finds $process PADDLE_INIT_TRAINER_COUNT 2
    finds $process PADDLE_INIT_TRAINER_ID "${process##*-}"
    absent $process LD_LIBRARY_PATH
done
for i in 0 1; do
    finds many-pserver-$i PADDLE_INIT_PORT "$(servers many .ports[0] | sed -n "$((i + 1))p")"
    finds many-pserver-$i EDL_PORTS "$(servers many .ports[0] | sed -n "$((i + 1))p")"
    finds many-trainer-$i PADDLE_INIT_PORT "$(servers many .ports[0] | head -n 1)"
done
edl kill many >/dev/null

# one server: an address and a port, as PaddlePaddle's programs read them; without allocated ports those of the document
job one 1 | edl submit - >/dev/null
await 120 'all have told' while_job one all_told one 3
finds one-trainer-1 PADDLE_INIT_PSERVERS "$(sed -n 's/^EDL_ADDRESS=//p' told/one-pserver-0)"
finds one-trainer-1 PADDLE_INIT_PORT "$(servers one .ports[0])"
edl kill one >/dev/null
job fixed 2 'ports: 0' | edl submit - >/dev/null
await 120 'all have told' while_job fixed all_told fixed 4
for process in fixed-trainer-0 fixed-pserver-1; do
    finds $process PADDLE_INIT_PSERVERS "$(sed -n 's/^EDL_ADDRESS=//p' told/fixed-pserver-0),$(sed -n 's/^EDL_ADDRESS=//p' told/fixed-pserver-1)"
    finds $process PADDLE_INIT_PORT 7164
    finds $process PADDLE_INIT_PORTS_NUM 2
    finds $process PADDLE_INIT_PORTS_NUM_FOR_SPARSE 3
done
edl kill fixed >/dev/null

# nothing but the environment: both trainers train on both servers, trainer 0 saves
edl-trainer data recommendation --out data --samples 3000 --users 60 --movies 40 --noise 0.2 >/dev/null
job real 2 | sed "/trainer:/,/pserver:/s|entrypoint: .*|entrypoint: exec edl-paddle train --config=recommendation --config_args=width=16 --data=$work/data --num_passes=2 --save_dir=$work/saved|
    /pserver:/,\$s|entrypoint: .*|entrypoint: exec edl-paddle pserver|; s/16Mi/256Mi/" | edl submit - >/dev/null
edl wait real --timeout 300 || fail "real: $(job_field real .reason) $(edl logs real)"
[ "$(edl logs real | grep -c 'connected to 2 parameter servers')" = 2 ] || fail "the trainers have other servers: $(edl logs real)"
[ "$(cd saved && echo *)" = 'pass-00000 pass-00001' ] || fail "saved: $(ls saved) $(edl logs real)"
cluster_stop
