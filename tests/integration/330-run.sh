#!/usr/bin/env bash
# `edl run`: the command lines of paddle.py as one job on the hosts of a conf.py: the package in ROOT_DIR/JOB..., servers and trainers on
# each host, their logs, flags as case C1 has them; again without sending anything; Ctrl-C, twice, and kill -9 of edl run itself;
# what is wrong in what was typed. EDL_TRIES (3): Ctrl-C so many times.
# Takes 50 s: 15 jobs on three nodes begin, nearly all one after another, and seven of them are ended by a signal or a kill
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
tries=${EDL_TRIES:-3}
cluster_start --nodes 3
mapfile -t nodes < <(api GET /nodes | jq -r '.nodes[].name' | sort)
address=$(api GET /nodes | jq -r '.nodes[0].address')
mkdir -p "$work/paddle" "$work/here/recommendation"
cd "$work/here"
{
    echo "HOSTS = ["
    printf '        "root@%s",\n' "${nodes[@]}"
    printf "]\n'''\nworkspace configuration\n'''\nROOT_DIR = \"%s/paddle\"\n" "$work"
    printf 'PADDLE_NIC = "lo"\nPADDLE_PORT = 7164\nPADDLE_PORTS_NUM = 2\nPADDLE_PORTS_NUM_FOR_SPARSE = 2\nLD_LIBRARY_PATH="/usr/local/cuda/lib64:/usr/lib64"\n'
} >conf.py
# a program of the user's own in the place of the trainer, and of the server
cat >recommendation/train.sh <<'END'
echo "trainer in $(basename "$PWD") of $(cat nodefile), $LD_LIBRARY_PATH"
mkdir -p output/pass-00000
echo "model of $*" >output/pass-00000/model
case " $* " in
*" --wait "*) while :; do sleep 600; done ;;
*" --leave "*) sleep 600 & echo 'last words'; printf 'without an end' ;;
*" --fail "*) echo 'it fails' >&2; exit 7 ;;
esac
END
echo 'echo "server with $*"; exec sleep 600' >recommendation/serve.sh
words=(--job_trainer='sh ./train.sh' --job_pserver='sh ./serve.sh' --job_cpu=100m --job_memory=64Mi)
mine() { edl run "${words[@]}" "$@"; }

# 1: as seed 004 has it, but for the program's name
mine --job_dispatch_package=./recommendation --dot_period=10 --ports_num_for_sparse=2 --num_passes=3 --save_dir=./output >out 2>err || fail "it fails: $(cat out err)"
folder=$(sed -n 's/.*, in \(.*\/JOB[0-9]\{14\}\)$/\1/p' err)
[ -d "$folder/log" ] || fail "there is no folder: $(cat err)"
for i in 0 1 2; do
    grep -q "^\[${nodes[$i]} trainer-$i\] trainer in ${folder##*/}" out || fail "nothing of trainer $i: $(cat out)"
    line="commandline: sh ./train.sh --num_gradient_servers=3 --nics=lo --port=7164 --ports_num=2 --comment=paddle_process_by_paddle --pservers=$address,$address,$address"
    grep -q "^\[${nodes[$i]} trainer-$i\] $line --dot_period=10 --ports_num_for_sparse=2 --num_passes=3 --save_dir=./output --trainer_id=$i\$" out ||
        fail "trainer $i has another command line: $(grep commandline out)"
    grep -q "^\[${nodes[$i]} pserver-$i\] server with --num_gradient_servers=3 --nics=lo --port=7164 --ports_num=2 --ports_num_for_sparse=2 --comment=paddle_process_by_paddle\$" out ||
        fail "server $i has another command line: $(cat out)"
done
grep -q '/usr/local/cuda/lib64:/usr/lib64' out || fail 'LD_LIBRARY_PATH is not that of conf.py'
for name in train.log paddle_trainer.INFO server.log paddle_pserver2.INFO; do
    grep -q commandline: "$folder/log/$name" || fail "log/$name does not begin with the command line"
done
grep -q 'model of' "$folder/output/pass-00000/model" || fail 'there is no model in the folder'

# two runs of one second have two names and two folders
pids=()
for i in a b; do
    mine -p recommendation >out-$i 2>err-$i &
    pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid" || fail "one of two at once fails: $(cat err-?)"; done
[ "$(sed -n 's/.*, in \(.*\/JOB[0-9]\{14\}\)$/\1/p' err-? | sort -u | wc -l)" = 2 ] || fail "runs share a folder: $(cat err-?)"

# absolute paths into the folder that is sent are those of the copy
mine --job_dispatch_package="$work/here/recommendation" --config="$work/here/recommendation/train.sh" --num_passes=1 >out 2>err || fail "a path into the copy: $(cat out err)"
grep -q ' --config=./train.sh --num_passes=1 ' out || fail "it is told the path of this machine: $(grep commandline out)"
grep -q -e "--config=$work/here/recommendation/train.sh is --config=./train.sh of the copy" err || fail "it is not told: $(cat err)"

# 2: the same folder again, and nothing is sent
uploads() { grep -c 'workspace .* bytes' "$work"/state/scheduler.log || true; }
before=$(uploads)
mine --job_workspace="$folder" --num_passes=1 >out 2>err || fail "the second run fails: $(cat out err)"
[ "$(uploads)" = "$before" ] || fail 'something was sent again'
grep -q "trainer in ${folder##*/}" out || fail "it ran elsewhere: $(cat out)"

# 3: the exit status is the job's
if mine -p recommendation --fail >out 2>err; then fail 'a failed job is a success'; fi
grep -q 'it fails' out || fail "its last words are missing: $(cat out)"

# what the trainer leaves in the background does not keep the job
mine -p recommendation --leave >out 2>err || fail "it fails: $(cat out err)"
grep -q 'trainer-2\] last words' out || fail "its last words are missing: $(cat out)"
grep -q 'trainer-2\] without an end' out || fail "its last words are missing: $(cat out)"

# two at once on the same hosts listen at ports of their own, and each tells its trainers so
: >out
edl run "${words[@]}" -p recommendation --wait >out 2>err &
pid=$!
await 120 'all of it runs' while_runs "$pid" grep -q 'trainer in' out
mine -p recommendation >out-b 2>err-b || fail "the second one fails: $(cat out-b err-b)"
grep -q 'another run has port 7164 on one of them: this one has port 7168' err-b || fail "it is told: $(cat err-b)"
for role in trainer pserver; do
    grep -q "$role-0\] .*--port=7168 " out-b || fail "the port of $role: $(cat out-b)"
done
kill -INT $pid
wait $pid || true
mine -p recommendation >out-b 2>err-b && grep -q 'server .*--port=7164 ' out-b || fail "a port is not given back: $(cat out-b err-b)"

# 4: Ctrl-C kills the job on all nodes
for ((i = 0; i < tries; i++)); do
    name=stopped-$i
    : >out
    edl run "${words[@]}" -p recommendation --job_name=$name --wait >out 2>err &
    pid=$!
    await 120 'all of it runs' while_runs "$pid" grep -q 'trainer in' out
    kill -INT $pid
    if wait $pid; then fail 'a killed job is a success'; fi
    job_is $name killed || fail "it is not killed: $(cat err)"
    left=$(cluster_processes | grep -E 'train\.sh|serve\.sh' || true)
    [ -z "$left" ] || fail "something is left: $left"
done
grep -q 'Ctrl-C kills it on all of them' err || fail "it does not tell what Ctrl-C does: $(cat err)"

# the second one is heard although the scheduler stands still and answers nothing
: >out
edl run "${words[@]}" -p recommendation --job_name=twice --wait >out 2>err &
pid=$!
await 120 'it runs' while_runs "$pid" grep -q 'trainer in' out
scheduler=$(pgrep -f -- "edl-scheduler .*$work" | head -n 1)
kill -STOP "$scheduler"
kill -INT $pid
(unset EDL_SERVER && await 120 'the first one is heard' while_runs "$pid" grep -q 'killing job twice' err)
again() { kill -INT $pid 2>/dev/null && sleep 0.1; ! kill -0 $pid 2>/dev/null; } # within a second of the first it is the first
(unset EDL_SERVER && await 120 'the second one is heard' again)
wait $pid && status=0 || status=$?
kill -CONT "$scheduler"
[ "$status" = 130 ] || fail "the second Ctrl-C ends it with $status: $(cat err)"
grep -q 'has not answered yet, so the job may still run: edl kill twice' err || fail "it does not tell what became of the job: $(cat err)"
edl kill twice >/dev/null || true # the scheduler may have read the first request
await 120 'it is killed' job_is twice killed

# the end of a terminal ends nothing that nohup has begun
: >out
(trap '' HUP && exec edl run "${words[@]}" -p recommendation --job_name=nohup --wait) >out 2>err &
pid=$!
await 120 'it runs' while_runs "$pid" grep -q 'trainer in' out
kill -HUP $pid "$(pgrep -P $pid)"
job_is nohup running || fail "SIGHUP ended a job under nohup: $(cat err)"
kill -TERM $pid
if wait $pid; then fail 'a killed job is a success'; fi
if grep -q 'let go of' err; then fail "SIGHUP counted as a Ctrl-C: $(cat err)"; fi
job_is nohup killed || fail "SIGTERM did not kill it: $(cat err)"

# 5: edl run is killed itself: the job goes on, and edl kill ends it
: >out
edl run "${words[@]}" -p recommendation --job_name=orphan --wait >out 2>err &
pid=$!
await 120 'it runs' while_runs "$pid" grep -q 'trainer in' out
kill -KILL $pid
wait $pid || true
job_is orphan running || fail 'it ended with edl run'
edl kill orphan >/dev/null
await 120 'it is killed' job_is orphan killed
left=$(cluster_processes | grep -E 'train\.sh|serve\.sh' || true)
[ -z "$left" ] || fail "something is left: $left"

# 6: submit --follow offers the same
: >out
edl submit --name followed --follow --kill-on-interrupt -- sh -c 'echo begun; sleep 600' >out 2>err &
pid=$!
await 120 'it runs' while_runs "$pid" grep -q begun out
kill -INT $pid
if wait $pid; then fail 'a killed job is a success'; fi
job_is followed killed || fail 'Ctrl-C did not kill it'

# 7: what is wrong is named, with what to type, and nothing is begun
jobs_before=$(api GET '/jobs?state=all' | jq '.jobs | length')
wrong() { # WORDS-OF-THE-ERROR WORDS-OF-THE-REMEDY COMMAND...
    local said=$1 remedy=$2
    shift 2
    if "$@" >out 2>err; then fail "this is taken: $*"; fi
    { grep -qF -- "$said" err && grep -qF -- "$remedy" err; } || fail "$*: $(cat err)"
}
wrong 'are both given' '--job_workspace=DIR' edl run -p recommendation -j /w
wrong 'is given' '--job_dispatch_package=DIR' edl run --num_passes=1
wrong 'No such file' 'a folder of this machine' edl run -p missing
wrong 'is no absolute path' '/home/paddle' edl run -j relative
wrong 'is no flag' '--NAME=VALUE' edl run -p recommendation num_passes=1
wrong 'cannot open' 'conf.py' edl run --conf=missing.py -p recommendation
for row in 'HOSTS = open("x")|code.py:1:9: this is code|write the value itself' 'X = 1|code.py:1:1: X is no name|edl-hosts.conf(5)' \
    'ROOT_DIR = "/x"|code.py has no HOSTS|HOSTS = [' 'HOSTS = ["n1", "n1"]|stands in HOSTS twice|take one' \
    'HOSTS = ["n1:65536"]|a port is a number|user@host:port' 'HOSTS = ["no-such-host.invalid"]|is no node of this cluster|edl deploy --conf code.py'; do
    IFS='|' read -r text said remedy <<<"$row"
    echo "$text" >code.py
    wrong "$said" "$remedy" edl run --conf=code.py -p recommendation
done
if [ "$(id -u)" != 0 ]; then
    mkdir -m 000 closed
    wrong 'Permission denied' 'that you may read' edl run -p closed
fi
[ "$(api GET '/jobs?state=all' | jq '.jobs | length')" = "$jobs_before" ] || fail 'something was begun all the same'

# a host by an alias of ssh_config, as edl deploy takes it
mkdir "$work/with-ssh"
printf '#!/bin/sh\n[ "$*" = "-G -- box" ] && printf "user root\\nhostname %s\\nport 22\\n"\n' "${nodes[1]}" >"$work/with-ssh/ssh"
chmod +x "$work/with-ssh/ssh"
echo 'HOSTS = ["root@box"]' >alias.py
PATH=$work/with-ssh:$PATH edl run "${words[@]}" --conf=alias.py -p recommendation >out 2>err || fail "by an alias: $(cat out err)"
grep -q "^note:   root@box is node ${nodes[1]}: " err || fail "the alias is another node: $(cat err)"

# 8: by the names that users type
edl-paddle --job_trainer=true --job_pserver='sleep 60 #' -p recommendation >out 2>err || fail "edl-paddle fails: $(cat err)"
# a server that is stopped before it has begun does not use up its grace
killed=$(for name in $(api GET '/jobs?state=succeeded' | jq -r '.jobs[].name'); do
    api GET "/jobs/$name/processes?state=all" | jq -r '.processes[] | select(.exit_signal == 9) | "\(.role) of \(.job_id)"'
done)
[ -z "$killed" ] || fail "SIGKILL was needed for $killed"
/usr/bin/python3 "$EDL_SOURCE_DIR/client/paddle.py" --job_trainer=true --job_pserver='sleep 60 #' -p recommendation >out 2>err || fail "paddle.py fails: $(cat err)"
