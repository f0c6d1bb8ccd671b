#!/usr/bin/env bash
# Agents and schedulers of neighbouring versions talk: what each version of their calls looked like is kept in tests/wire, and
# played against both programs as they are now; also with fields that nobody knows, and without those that nobody needs. One
# that is too far away is refused, and told which of the two to upgrade.
# Takes 35 s: a scheduler and an agent begin for each version and variant of their calls, one after another
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
play="$python $EDL_SOURCE_DIR/tests/lib/wire_play.py"
newest=$(sed -n 's/^#define AGENT_WIRE_NEWEST //p' "$EDL_SOURCE_DIR/shared/agent_wire.h")
oldest=$(sed -n 's/^#define AGENT_WIRE_OLDEST //p' "$EDL_SOURCE_DIR/shared/agent_wire.h")
[ $((newest - oldest)) -le 1 ] || fail "it is to speak its own version and the one before"
schema=$work/openapi.json
scheduler_begin() {
    rm -rf "$work/scheduler"
    begin scheduler "policy" edl-scheduler --state-dir "$work/scheduler" --listen 127.0.0.1:0
    scheduler=$pid
    address=$(cat "$work/scheduler/address")
    export EDL_SERVER="http://$address" EDL_TOKEN_FILE=$work/scheduler/admin-token
}
scheduler_begin
curl -sS "http://$address/openapi.json" >"$schema"
end "$scheduler"

# an agent of each version that is spoken, with this scheduler
as_agent() { # VERSION VARIANT
    scheduler_begin
    edl submit --name one --cpu 100m --memory 64Mi -- sh -c 'sleep 1000' >/dev/null
    mkfifo "$work/played"
    $play agent "$EDL_SOURCE_DIR/tests/wire/$1.jsonl" "$2" "$address" "$(cat "$work/scheduler/join-token")" <"$schema" >"$work/played" 2>"$work/play.log" &
    local player=$! line=''
    read -r -t 120 line <"$work/played" || true
    if [ "$line" = running ]; then
        # what it cannot do, it is not asked for
        if edl fetch one -o "$work/fetched" 2>"$work/fetch.err"; then fail "an agent of version $1, $2: it hands out files"; fi
        grep -q 'try: upgrade edl-agent on n1' "$work/fetch.err" || fail "an agent of version $1, $2: edl fetch says: $(cat "$work/fetch.err")"
        edl kill one >/dev/null
    fi
    wait $player || fail "an agent of version $1, $2: $(cat "$work/play.log")"
    rm -f "$work/played"
    [ "$2" = far ] || [ "$(edl show one --json | jq -r .job.state)" = killed ] || fail "version $1, $2: the job is $(edl show one --json | jq -r .job.state)"
    end "$scheduler"
}

# a scheduler of each, with this agent
as_scheduler() { # VERSION VARIANT
    rm -rf "$work/state" "$work/port"
    mkfifo "$work/port"
    $play scheduler "$EDL_SOURCE_DIR/tests/wire/$1.jsonl" "$2" "$work" <"$schema" >"$work/port" 2>"$work/play.log" &
    local player=$! port='' said=adopted
    read -r -t 120 port <"$work/port" || fail "a scheduler of version $1, $2: $(cat "$work/play.log")"
    echo token >"$work/join-token"
    # shellcheck disable=SC2046
    [ "$2" != far ] || said='upgrade edl-agent on this node'
    # shellcheck disable=SC2046
    begin agent "$said" edl-agent --node n1 --scheduler "http://127.0.0.1:$port" --join-token-file "$work/join-token" --state-dir "$work/state" --conf '' \
        --runtime direct --no-foreign --heartbeat 300ms --address 127.0.0.1 --label a=b --cpu 2 --memory 1Gi --stop-processes-on-exit $([ "$(id -u)" != 0 ] || echo --allow-root)
    if [ "$2" = far ]; then
        kill $player
        wait $player || true
    else
        wait $player || fail "a scheduler of version $1, $2: $(cat "$work/play.log")"
    fi
    end "$pid"
}

for version in $(seq "$oldest" "$newest"); do
    for variant in as-it-was more less; do
        as_agent "$version" $variant
        as_scheduler "$version" $variant
        echo "version $version, $variant: both ways"
    done
done
as_agent "$newest" replicated
as_scheduler "$newest" replicated
as_agent "$newest" far
as_scheduler "$newest" far
