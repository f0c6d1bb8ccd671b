#!/usr/bin/env bash
# A job that cannot start where its hosts are waits in the queue again: whoever follows it is told why within seconds, and readers that
# began at the same moment are told the same. `edl run` has no other hosts for it, and ends. A job whose network is wrong ends at its first try on each node, with the file and the fault.
# Takes 19 s: six jobs one after another are tried on both nodes before they wait or fail
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 2 --cpu 1000m
mapfile -t nodes < <(api GET /nodes | jq -r '.nodes[].name' | sort)
mkdir "$work/here" "$work/here/package"
cd "$work/here"
echo x >package/x
{
    printf 'HOSTS = ["%s", "%s"]\nROOT_DIR = "%s/absent"\n' "${nodes[@]}" "$work"
    printf 'PADDLE_NIC = "lo"\nPADDLE_PORT = 7164\nPADDLE_PORTS_NUM = 2\nPADDLE_PORTS_NUM_FOR_SPARSE = 2\n'
} >conf.py
words=(--job_trainer=true --job_pserver=true --job_cpu=50m --job_memory=32Mi)

is_there() { api GET "/jobs/$1" | holds .id; }
# by edl submit it waits until somebody makes the folder
try() { # NAME
    local name=$1 reader
    jq -n --arg name "$name" --arg folder "$work/absent" '$ARGS.positional as $nodes | {name: $name, roles: [{role: "trainer", entrypoint: "true", min: 2, max: 2, cpu: "300m", memory: "32Mi",
        nodes: $nodes, workspace: $folder}]}' --args "${nodes[@]}" >"$name.json"
    edl submit --follow "$name.json" >"$name.out" 2>"$name.err" &
    local follower=$!
    await 120 "the job $name is there" is_there "$name"
    for reader in 1 2; do edl logs -f "$name" >"$name.out.$reader" 2>"$name.err.$reader" & done
    for reader in .err .err.1 .err.2; do
        await 120 "$name$reader tells why the job waits" grep -qs "^note: $name waits: .*$work/absent" "$name$reader"
    done
    edl kill "$name" >/dev/null
    if wait "$follower"; then fail "edl submit --follow succeeded: $(cat "$name.out")"; fi
    for reader in $(jobs -p); do
        case " $before " in *" $reader "*) ;; *) wait "$reader" || true ;; esac
    done
    cmp -s <(sort "$name.err.1") <(sort "$name.err.2") || fail "two readers differ: $(head "$name".err.[12])"
    cmp -s <(sort "$name.out.1") <(sort "$name.out.2") || fail "two readers differ: $(head "$name".out.[12])"
    grep -q "^note: $name waits: .*make the folder there" "$name.err" || fail "nothing says what to do: $(cat "$name.err")"
}
before=$(jobs -p | tr '\n' ' ')
try waiting

# edl run: as it was sent into a ROOT_DIR that no host has, and with a folder that none has
run_ends() { # NAME WORDS...
    local name=$1 status=0
    timeout 120 edl run "${words[@]}" --job_name="$name" "${@:2}" >"$name.out" 2>"$name.err" || status=$?
    [ $status = 1 ] || fail "$name: edl run ended with $status: $(cat "$name.out" "$name.err")"
    grep -q "^note: $name waits: .*$work/absent.*make the folder there" "$name.err" || fail "nothing says what to do: $(cat "$name.err")"
    [ "$(job_state "$name")" = killed ] || fail "$name is $(job_state "$name")"
}
run_ends sent --job_dispatch_package=package
run_ends named --job_workspace="$work/absent"

# a network that is wrong or missing, words that are, and a program of somebody else's that says so by its status
edl-trainer data housing --out "$work/corpus" --samples 100 >/dev/null
wrong() { # NAME WORDS COMMAND...: of each of two trainers
    local name=$1 words=$2 status=0
    shift 2
    training_job "$name" 2 2 1 | sed "s|entrypoint: .*|entrypoint: $*|; /restart:/d" >"$work/$name.yaml"
    edl submit --follow "$work/$name.yaml" >"$name.out" 2>"$name.err" || status=$?
    job_field "$name" .reason | grep -q "exit code $status\b" || fail "$name: edl submit --follow ended with $status: $(job_field "$name" .reason)"
    job_field "$name" .reason | grep -qE 'failed within seconds, up to [12] times? each, ' || fail "$name: $(job_field "$name" .reason)"
    job_field "$name" .reason | grep -qF -e "$words" || fail "$name: $(job_field "$name" .reason)"
    grep -qF -e "$words" "$name.out" "$name.err" || fail "$name: the follower is not told: $(cat "$name.out" "$name.err")"
}
echo '{"inputs": [{"name": "x", "type": "dense", "size": 13}], "layers": [{"kind": "fcc", "input": "x", "size": 1}]}' >"$work/wrong.json"
wrong missing "cannot open $work/missing.json: No such file" exec edl-trainer --config="$work/missing.json"
wrong layer 'fcc' exec edl-trainer --config="$work/wrong.json"
wrong option '--nonsense' exec edl-trainer --nonsense=3
wrong other 'exit code 78' exit 78
