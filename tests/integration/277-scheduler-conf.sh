#!/usr/bin/env bash
# edl-scheduler with its options in files: they are read, refused with file, line and key, and read again on SIGHUP. What
# bounds changes at once, what needs a restart is told, and a file that is wrong changes nothing.
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"

conf=$work/scheduler.conf
mkdir "$conf.d"
cat >"$conf" <<END
state-dir: $work/scheduler
listen: [127.0.0.1:0]
max-user-jobs: 2
END
echo 'max-jobs: 1' >"$conf.d/10-few.conf"

refused() { # EXIT-STATUS WHAT: it does not start, and says what
    local status=0
    edl-scheduler --conf "$conf" >/dev/null 2>"$work/refused.log" || status=$?
    [ $status = "$1" ] || fail "exit status $status instead of $1"
    grep -qF -- "$2" "$work/refused.log" || fail "it does not say: $2"
    [ ! -e "$work/scheduler" ] || fail "something is done in spite of it"
}
echo 'max-jbos: 1' >"$conf.d/20-bad.conf"
refused 2 "$conf.d/20-bad.conf:1: max-jbos: there is no such key in this file; write max-jobs; edl-scheduler(8) lists all"
echo 'keep-days: many' >"$conf.d/20-bad.conf"
refused 2 "$conf.d/20-bad.conf:1: keep-days: many is not a whole number"
echo 'keep-days: 1' >"$conf.d/20-bad.conf"
chmod 666 "$conf.d/20-bad.conf"
refused 2 "others may write to $conf.d/20-bad.conf"
rm "$conf.d/20-bad.conf"

begin scheduler "policy" edl-scheduler --conf "$conf"
EDL_SERVER=http://$(cat "$work/scheduler/address")
EDL_TOKEN_FILE=$work/scheduler/admin-token
export EDL_SERVER EDL_TOKEN_FILE
submit() { edl submit --name "$1" --workspace private -- true >/dev/null 2>"$work/submit.err"; }
submit one || fail "the first job: $(cat "$work/submit.err")"
submit two && fail "a job beyond max-jobs is taken"

reload() { # WHAT...: SIGHUP, until it says so; lines of before do not count
    local before
    before=$(wc -l <"$work/scheduler.log")
    kill -HUP "$pid"
    timeout 120 grep -qm1 -F -- "$1" < <(tail -f -n "+$((before + 1))" --pid "$pid" "$work/scheduler.log") ||
        fail "it does not say: $1"
}
echo 'max-jobs: 2' >"$conf.d/10-few.conf"
reload "reload: max-jobs is now 2"
submit two || fail "max-jobs is not taken over: $(cat "$work/submit.err")"
submit three && fail "a job beyond the new max-jobs is taken"

printf 'max-jobs: 3\nlease: 30s\n' >"$conf.d/10-few.conf"
reload "reload: lease is to be 30s: this needs a restart"
reload "reload: lease is to be 30s" # it still does
submit three || fail "max-jobs is not taken over with it: $(cat "$work/submit.err")"

echo 'max-jobs: more' >"$conf.d/10-few.conf"
reload "reload: nothing is changed: $conf.d/10-few.conf:1: max-jobs: more is not a whole number"
submit four && fail "a job beyond the limit is taken after files that are wrong"
rm "$conf.d/10-few.conf"
reload "reload: max-jobs is now its default"
submit four || fail "the default is not taken over: $(cat "$work/submit.err")"
edl ps >/dev/null || fail "it does not answer"

# what a job asks for that does not say: also told, at the submission
asks() { # JOB CPU MEMORY
    submit "$1" || fail "$1: $(cat "$work/submit.err")"
    grep -q "asks for cpu $2 memory $3, " "$work/submit.err" || fail "$1 is told: $(cat "$work/submit.err")"
    edl show "$1" --json | holds '.job.roles[0] | .cpu_millicores == '"$4"' and .memory_bytes == '"$5" || fail "$1: $(edl show "$1" --json)"
}
asks five 1 1Gi 1000 $((1 << 30)) # 1 GiB for each core while there is no node
printf 'default-cpu: 500m\ndefault-memory: 512Mi\n' >"$conf.d/10-few.conf"
reload "reload: default-cpu is now 500m"
asks six 0.5 256Mi 500 $((256 << 20))
printf 'default-memory: 4Gi\n' >"$conf.d/10-few.conf"
reload "reload: default-memory is now 4Gi"
asks seven 1 4Gi 1000 $((4 << 30))
echo 'default-cpu: 0' >"$conf.d/10-few.conf"
reload "reload: nothing is changed: $conf.d/10-few.conf:1: default-cpu: 0 is no amount of CPU from 1m to 1024"
asks eight 1 4Gi 1000 $((4 << 30))
