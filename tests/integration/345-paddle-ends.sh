#!/usr/bin/env bash
# Trainings that end before their time, or cannot begin: signals between saves, flags that are wrong, and parameter servers that
# have the values of another training, or lost theirs.
# Takes 8 s: over a dozen short trainings one after another, most of them with three servers
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/ports.sh"
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/await.sh"
set -eu
PATH=$EDL_BUILD_DIR:$PATH
work=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"
edl-trainer data recommendation --out data --samples 1500 --users 60 --movies 40 --noise 0.2 >/dev/null
small=(--config=recommendation --config_args=width=16 --data=data --log-period=0)
alone=(edl-trainer --local "${small[@]}" --batch=50)
ended() { ! kill -0 "$1" 2>/dev/null; } # PID

# SIGTERM ends a training that saves behind each batch, and one whose pass is a single batch
ends() { # FOLDER FLAG...
    local pid status=0
    : >ends.log
    "${alone[@]}" --num_passes=1000000 --save_only_one=1 --save_dir="$@" >ends.log 2>&1 &
    pid=$!
    await 120 'it saves' while_runs "$pid" grep -q 'Saving parameters to' ends.log
    kill -TERM "$pid"
    await 120 'it ends when told to' ended "$pid"
    wait "$pid" || status=$?
    [ $status = 143 ] && grep -q 'stopped as told, before the training was over' ends.log || fail "status $status: $(tail -n 3 ends.log)"
}
ends each-batch --saving_period_by_batches=1
ends one-batch --batch=10000

# a period that does not fit is refused; the largest one saves nothing within a pass
if "${alone[@]}" --num_passes=1 --saving_period_by_batches=4294967296 --save_dir=wide >wide.log 2>&1; then fail "it trains: $(cat wide.log)"; fi
grep -q -- '--saving_period_by_batches is 4294967296; at most 4294967295' wide.log || fail "a period too large: $(cat wide.log)"
"${alone[@]}" --num_passes=1 --push-every=7 --saving_period_by_batches=4294967295 --save_dir=wide >wide.log 2>&1 || fail "the largest period: $(cat wide.log)"
[ "$(cd wide && echo *)" = pass-00000 ] || fail "the largest period: $(ls wide)"

# a tar that a dead process had begun is removed by the next training; one that is being written stays, and so does another file
for name in pass-00000.tar.tmp.77 pass-00003-012.tar.tmp.12345 pass-00000.tar.tmp.78 pass-00000.tar.tmp.x; do : >"wide/$name"; done
exec 9>wide/pass-00000.tar.tmp.78
flock 9
"${alone[@]}" --num_passes=1 --save_dir=wide >wide.log 2>&1 || fail "tars: $(cat wide.log)"
[ "$(cd wide && echo *)" = 'pass-00000 pass-00000.tar.tmp.78 pass-00000.tar.tmp.x' ] || fail "tars: $(ls wide)"
exec 9>&-

# ---- with parameter servers ----
printf '%064d\n' 7 >secret
chmod 600 secret
declare -A server
serve() { # INDEX...
    for i in "$@"; do
        edl-pserver --listen="127.0.0.1:$((port + i))" --index="$i" --secret-file=secret >>"server-$i.log" 2>&1 &
        server[$i]=$!
    done
}
stop() { # INDEX...
    for i in "$@"; do
        kill -9 "${server[$i]}"
        wait "${server[$i]}" || true
    done
}
again() { stop 0 1 2 && serve 0 1 2; }
count_set() { cat server-*.log | grep -c 'has set the values of its saved model' || true; }
set_by_1() { grep -c 'trainer-0 has set the values' server-1.log; }
given=(edl-trainer "${small[@]}" --batch=50 "--servers=127.0.0.1:$port,127.0.0.1:$((port + 1)),127.0.0.1:$((port + 2))" --secret-file=secret)
"${alone[@]}" --num_passes=2 --save_dir=two >two.log 2>&1 || fail "two passes: $(cat two.log)"
serve 0 1 2

# what a trainer cannot do it says before it sets any value
if "${given[@]}" --start_pass=2 --num_passes=2 --save_dir=two >none.log 2>&1; then fail 'it trains although no pass is left'; fi
grep -q 'none is left' none.log || fail "none left: $(cat none.log)"
if "${given[@]}" --init_model_path=two/pass-00000 --save_dir=secret/folder >none.log 2>&1; then fail 'it trains although it cannot save'; fi
[ "$(count_set)" = 0 ] || fail "the servers have values of a training that cannot begin: $(cat server-*.log)"

# values without an update: the same may be set again, others are refused
"${given[@]}" --init_model_path=two/pass-00001 --num_passes=0 >set.log 2>&1 || fail "values only: $(cat set.log)"
if "${given[@]}" --init_model_path=two/pass-00000 --num_passes=1 >other.log 2>&1; then fail 'it trains with the values of another saved pass'; fi
grep -q 'has the values of another saved model already: restart all parameter servers' other.log || fail "other values: $(cat other.log)"
"${given[@]}" --init_model_path=two/pass-00001 --num_passes=1 >same.log 2>&1 || fail "the same values: $(cat same.log)"
[ "$(count_set)" = 6 ] || fail "set $(count_set) times: $(cat server-*.log)"
"${given[@]}" --init_model_path=two/pass-00000 --num_passes=1 >on.log 2>&1 || fail "a training goes on: $(cat on.log)"
grep -q 'goes on with .* updates* of the servers' on.log || fail "a training goes on: $(cat on.log)"
[ "$(count_set)" = 6 ] || fail "set $(count_set) times: $(cat server-*.log)"

# one of the servers has begun again: nobody trains on what is mixed, whoever tries and however often
stop 2
serve 2
for i in 0 1 0; do
    if "${given[@]}" --trainer_id=$i --init_model_path=two/pass-00001 --num_passes=1 >mixed.log 2>&1; then fail "trainer $i trains with mixed values: $(cat mixed.log)"; fi
    grep -q "parameter server 2 at 127.0.0.1:$((port + 2)) was started again and has no values, and another one has [0-9]* updates" mixed.log || fail "mixed, trainer $i: $(cat mixed.log)"
    grep -q 'restart all servers and trainers' mixed.log || fail "mixed, trainer $i: $(cat mixed.log)"
done

# a flag that one trainer has and the other has not is named
again
"${given[@]}" --num_passes=0 >fresh.log 2>&1 || fail "start values: $(cat fresh.log)"
if "${given[@]}" --trainer_id=1 --init_model_path=two/pass-00001 >one-side.log 2>&1; then fail 'it trains beside another training'; fi
grep -q 'trainer-1 begins with a saved model (--start_pass or --init_model_path), and the first trainer with start values: restart' one-side.log || fail "one side: $(cat one-side.log)"
again
"${given[@]}" --num_passes=0 --init_model_path=two/pass-00001 >fresh.log 2>&1 || fail "saved values: $(cat fresh.log)"
if "${given[@]}" --trainer_id=1 >one-side.log 2>&1; then fail 'it trains beside another training'; fi
grep -q 'trainer-1 begins with start values, and the first trainer with a saved model: give all trainers --start_pass or --init_model_path' one-side.log || fail "one side: $(cat one-side.log)"

# a server begins again before the first update: trainer 0 sets the values anew. Its lines of a pass are more than a pipe holds, so it waits
# for the reader meanwhile.
again
exec 8< <(exec "${given[@]}" --batch=1 --num_batches_per_send_parameter=1000000 --init_model_path=two/pass-00001 --num_passes=20 --log-period=1 2>&1)
trainer=$!
while read -r line <&8; do case $line in *'Batch 2'[,\ ]*) break ;; esac; done
before=$(set_by_1)
stop 1
serve 1
rest=$(cat <&8)
wait "$trainer" || fail "begun again: $(tail -n 5 <<<"$rest")"
grep -q 'Pass 19 done' <<<"$rest" && [ "$(set_by_1)" = $((before + 1)) ] || fail "begun again: $(tail -n 5 <<<"$rest") $(cat server-1.log)"

# more servers than a list names are no servers that wait
if PSERVERS=1025 EDL_SOCKET=$work/none edl-paddle train --config=recommendation --data=data >many.log 2>&1; then fail 'it trains alone'; fi
grep -q 'the job has 1025 parameter servers, and PADDLE_INIT_PSERVERS tells where they are of at most 1024' many.log || fail "many servers: $(cat many.log)"
if PSERVERS=2 EDL_SOCKET=$work/none edl-paddle train --config=recommendation --data=data >many.log 2>&1; then fail 'it trains alone'; fi
grep -q 'one waits to be placed again' many.log || fail "servers that wait: $(cat many.log)"
