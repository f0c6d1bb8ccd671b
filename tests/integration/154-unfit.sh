#!/usr/bin/env bash
# A second node that does not have the folder or the account of who submits, or the program: jobs of an ordinary account pass by it, and are told
# why when no node is left. The nodes are agents of root's, the second one in a mount namespace of its own, where /etc/passwd and
# the folder are others.
# Takes 11 s: eight agents begin, and 16 jobs are tried on one node, most of which run on another
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
if [ "$(id -u)" != 0 ] || ! unshare -m true 2>/dev/null; then
    echo "only root can run processes as others, in mount namespaces"
    exit 77
fi
if [ "${EDL_TEST_NAMESPACE:-}" != yes ]; then
    EDL_TEST_NAMESPACE=yes exec unshare -m "$BASH" "$0" "$@"
fi
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
chmod 711 "$work"

# ann has an account on the scheduler's machine, which is a node, and a folder there that nobody else looks into
{ grep -v '^ann:' /etc/passwd && echo 'ann:x:4711:4711::/:/bin/sh'; } >"$work/passwd"
grep -v '^ann:' "$work/passwd" >"$work/passwd-without"
mount --bind "$work/passwd" /etc/passwd
mkdir "$work/empty" "$work/home" "$work/home/ann"
chmod 711 "$work/empty" "$work/home"
echo 'hello from ann' >"$work/home/ann/data"
chown -R 4711:4711 "$work/home/ann"
chmod 700 "$work/home/ann"

begin scheduler "policy" edl-scheduler --state-dir "$work/scheduler" --listen 127.0.0.1:0 --listen "unix:$work/socket,mode=0666" --lease 60s
http=http://$(sed 's,^http://,,' "$work/scheduler/address")
agent() { # NODE ADDRESS [FILE INSTEAD [PATH]]: with another file or folder in that one's place; where it looks for programs
    # shellcheck disable=SC2016
    begin "$1" "joined" unshare -m sh -c '[ "$1" = "" ] || mount --bind "$2" "$1"; PATH=$3; shift 3; exec "$@"' sh "${3-}" "${4-}" \
        "${5-$PATH}" "$(command -v edl-agent)" --node "$1" --address "$2" --scheduler "$http" --join-token-file "$work/scheduler/join-token" --state-dir "$work/$1" \
        --conf '' ${options-} --runtime direct --no-foreign --heartbeat 300ms --cpu 1 --memory 1Gi --stop-processes-on-exit
}
ann() { # ARGUMENT...: her edl, where she works
    (cd "$work/home/ann" && setpriv --reuid 4711 --regid 4711 --clear-groups env HOME=/ edl "$@")
}
export EDL_SERVER="unix:$work/socket"
job() { edl show "$1" --json | jq -r ".job$2"; }                                              # JOB EXPRESSION
nodes() { edl show "$1" --all --json | jq -r '[.processes[] | select(.state == "'"$2"'") | .node] | sort | join(" ")'; } # JOB STATE
ready() { [ "$(edl nodes --json | jq '[.nodes[] | select(.state == "ready")] | length')" = "$1" ]; } # N
unfit() { # JOB NODE CODE: is told that it cannot run there
    [ "$(edl why "$1" --json | jq -r '.nodes[] | select(.node == "'"$2"'" and .verdict == "unfit") | .unfit')" = "$3" ]
}
refused() { # NODE TEXT: it was tried there, or the test would show nothing
    [ "$(edl events --json | jq -r 'select(.event == "process-lost" and .node == "'"$1"'") | .text' | grep -c "$2")" -ge 1 ] ||
        fail "$1 was not tried: $(edl events)"
}

# --- the folder is not there; the node whose name comes first is tried first
agent a1 10.9.9.9 "$work/home" "$work/empty"
a1=$pid
agent n1 127.0.0.1
n1=$pid
await 120 'two nodes' ready 2

ann submit --name first --no-upload --follow -- cat data >"$work/out" 2>"$work/err" || fail "first: $(cat "$work/out" "$work/err")"
grep -q 'hello from ann' "$work/out" || fail "first says: $(cat "$work/out")"
refused a1 "cannot enter the workspace $work/home/ann as ann: No such file or directory"
[ "$(nodes first exited)" = n1 ] || fail "first ran on $(nodes first exited)"
# she is told of it before it runs
grep -q "$work/home/ann has to be there on each node that is to run the job; to send it along: --upload \." "$work/err" ||
    fail "no word before: $(cat "$work/err")"

# two that have to run at once, of a job that bears no failure: the one that was sent to a1 spends nothing
ann submit --name pair --no-upload --min 2 --max 2 --cpu 400m -- sleep 1000 >/dev/null 2>&1
await 120 'pair runs' job_is pair running
[ "$(nodes pair running)" = 'n1 n1' ] || fail "pair runs on $(nodes pair running)"

# no room where it can run: why names the node that cannot, with a code and in words
ann submit --name waits --no-upload --cpu 500m -- cat data >/dev/null 2>&1
await 120 'waits is told' unfit waits a1 no-workspace
edl why waits >"$work/why"
grep -q "it cannot run on a1: cannot enter the workspace $work/home/ann" "$work/why" || fail "why: $(cat "$work/why")"
grep -q '^a1 .*cannot run it$' "$work/why" && grep -q '^node a1: cannot enter the workspace' "$work/why" || fail "why: $(cat "$work/why")"
edl kill pair >/dev/null
edl wait waits --timeout 120 >/dev/null || fail "waits: $(edl why waits)"

# nowhere: it fails at once, with one sentence and what to do
ann submit --name nowhere --workspace /no/such/folder -- true >/dev/null 2>&1
await 120 'nowhere fails' job_is nowhere failed
[ "$(job nowhere .reason_code)" = no-node-runs-it ] || fail "nowhere: $(job nowhere)"
case $(job nowhere .reason) in
*'no node can enter its workspace; send it along (edl submit --upload .)'*'cannot enter the workspace /no/such/folder as ann: No such file'*) ;;
*) fail "nowhere: $(job nowhere .reason)" ;;
esac
# ... which helps, on each node
ann submit --name sent --upload . --min 2 --max 2 --cpu 700m -- sh -c 'cat data && exec sleep 1000' >/dev/null 2>"$work/err"
await 120 'sent runs' job_is sent running
[ "$(nodes sent running)" = 'a1 n1' ] || fail "sent runs on $(nodes sent running)"
if grep -q 'has to be there' "$work/err"; then fail "told of a folder that is sent: $(cat "$work/err")"; fi
edl kill sent >/dev/null
edl wait sent --timeout 120 >/dev/null || true
end "$a1"
end "$n1"

# --- the account is not there
# numbers for people who are nobody's accounts are not for her, whom the scheduler's machine knows
options='--user-range 2010000000-2099999999' agent a2 10.9.9.9 /etc/passwd "$work/passwd-without"
agent n2 127.0.0.1
edl node cordon a1 n1 >/dev/null
await 120 'four nodes are known' sh -c '[ "$(edl nodes --json | jq ".nodes | length")" = 4 ]'
ann submit --name her --workspace private --follow -- id -un >"$work/out" 2>&1 || fail "her: $(cat "$work/out")"
grep -q 'ann$' "$work/out" || fail "her ran as somebody else: $(cat "$work/out")"
refused a2 'there is no account ann on this node'
edl node cordon n2 >/dev/null
ann submit --name alone --workspace private -- id -un >/dev/null 2>&1
await 120 'alone is told' unfit alone a2 no-account
job_is alone starting || fail "alone does not wait for n2: $(job alone)"
edl node uncordon n2 >/dev/null
edl wait alone --timeout 120 >/dev/null || fail "alone: $(edl why alone)"
[ "$(edl nodes --json | jq -r '.nodes[] | select(.name == "a2") | .state')" = ready ] || fail "a2 is blamed: $(edl nodes)"
edl node cordon a2 n2 >/dev/null

# --- the program is not there: on a3 no program is found but sh, and no interpreter
mkdir "$work/bin"
ln -s /bin/sh /usr/bin/env /bin/true "$work/bin"
chmod 755 "$work/bin"
cat >"$work/home/ann/script" <<'END'
#!/no/such/interpreter
END
printf '#!/usr/bin/env tac\nran\n' >"$work/home/ann/by-env"
chmod 755 "$work/home/ann/script" "$work/home/ann/by-env"
agent a3 10.9.9.9 "" "" "$work/bin"
agent n3 127.0.0.1
await 120 'six nodes are known' sh -c '[ "$(edl nodes --json | jq ".nodes | length")" = 6 ]'
tried() { # JOB: a3 first, where it spent nothing, and then n3
    edl wait "$1" --timeout 120 >/dev/null || fail "$1: $(edl why "$1")"
    [ "$(nodes "$1" exited)" = n3 ] || fail "$1 ran on $(nodes "$1" exited)"
    [ "$(edl show "$1" --all --json | jq -r '[.processes[] | select(.state == "lost") | .node + " " + .cause] | join(" ")')" = 'a3 no-program' ] ||
        fail "$1 was not tried on a3: $(edl show "$1" --all --json)"
}
one() { # JOB ARGUMENT...: of fixed size, which bears no failure
    local name=$1
    shift
    ann submit --name "$name" --min 1 --max 1 "$@" >/dev/null 2>&1
}
# n3 is full: why names the node that cannot run it
one full --cpu 900m -- sh -c 'tac data && exec /bin/sleep 1000'
await 120 'full runs on n3' sh -c '[ "$(edl show full --json | jq -r ".processes[] | select(.state == \"running\") | .node")" = n3 ]'
one room --cpu 500m -- sh -c 'tac data'
await 120 'room is told' unfit room a3 no-program
edl why room | grep -q "^node a3: .*tac.*not found" || fail "why: $(edl why room)"
edl kill full >/dev/null
tried room
# not found by a shell, by us, by env; an interpreter that is not there
one shell --cpu 100m -- sh -c 'tac data || exit $?'
tried shell
one directly --cpu 100m -- tac data
tried directly
# three different jobs that another node could run, and nothing ran here: it is the node's fault
[ "$(edl nodes --json | jq -r '.nodes[] | select(.name == "a3") | .state')" = quarantined ] || fail "a3 is not blamed: $(edl nodes)"
edl node uncordon a3 >/dev/null
one by-env --cpu 100m -- ./by-env
tried by-env
# where no node has it, it is the job's fault
one typo --cpu 100m -- sh -c './no-such-program'
await 120 'typo fails' job_is typo failed
case $(job typo .reason) in
*'exit code 127'*'no-such-program: not found; no other node can execute it'*) ;;
*) fail "typo: $(job typo .reason)" ;;
esac
one script --cpu 100m -- ./script
await 120 'script fails' job_is script failed
case $(job script .reason) in *'cannot execute ./script: No such file'*) ;; *) fail "script: $(job script .reason)" ;; esac

# --- the account has another number: it is another person's
sed 's/^ann:x:4711:4711:/ann:x:4712:4712:/' "$work/passwd" >"$work/passwd-other"
edl node cordon a3 >/dev/null
agent a4 10.9.9.9 /etc/passwd "$work/passwd-other"
one differs --cpu 100m --workspace private -- id -u
edl wait differs --timeout 120 >/dev/null || fail "differs: $(edl why differs)"
[ "$(nodes differs exited)" = n3 ] && edl logs differs | grep -q '4711$' || fail "differs ran as $(edl logs differs) on $(nodes differs exited)"
refused a4 "ann is number 4712 here and 4711 on the scheduler's machine"
edl node cordon n3 >/dev/null
one alone-4 --cpu 100m --workspace private -- id -u
await 120 'alone-4 is told' unfit alone-4 a4 account-differs
# ... unless the owner of the node says that it is she
edl node cordon a4 >/dev/null
options='--map-user ann' agent a5 10.9.9.9 /etc/passwd "$work/passwd-other"
edl wait alone-4 --timeout 120 >/dev/null || fail "alone-4: $(edl why alone-4)"
[ "$(nodes alone-4 exited)" = a5 ] && edl logs alone-4 | grep -q '4712$' || fail "alone-4 ran as $(edl logs alone-4) on $(nodes alone-4 exited)"
echo "unfit: all good"
