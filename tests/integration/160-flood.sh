#!/usr/bin/env bash
# Thousands of half-open connections - silent, slow headers, slow bodies, TLS that stops half-way - from the very address
# of a node: its reports and a submission are still answered within a second. And the same with few files to open.
# Takes 22 s: attacks, and deadlines of the scheduler that end them
# Runs alone: measures how soon reports and calls are answered beside thousands of connections
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/namespace.sh"
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
rounds=${EDL_FLOOD_ROUNDS:-4}

with_files() { # NUMBER COMMAND...: that it may open
    ulimit -n "$1"
    shift
    exec "$@"
}

# start_cluster NAME FILES: a scheduler that may open so many files, and a node over TLS
start_cluster() {
    begin "$1" policy with_files "$2" edl-scheduler --state-dir "$work/$1" --listen 10.77.0.1:0 --listen 127.0.0.1:0 \
        --listen "unix:$work/$1.socket" --lease 3s
    scheduler=$pid
    export EDL_SERVER EDL_CA=$work/$1/ca.pem EDL_TOKEN_FILE=$work/$1/admin-token
    EDL_SERVER=$(cat "$work/$1/address")
    plain=$(grep -o '127.0.0.1:[0-9]*' "$work/$1.log" | head -1)
    # shellcheck disable=SC2046
    begin "$1-agent" "joined as n1" $(edl node add --foreground n1 2>/dev/null) --state-dir "$work/$1-node" --allow-root --no-foreign \
        --heartbeat 300ms --address 127.0.0.1
    agent=$pid
}

stop_cluster() {
    kill "$agent" "$scheduler"
    wait "$agent" "$scheduler" || true
}

reached=() # how people come: "" from the node's address, over TLS
call() { # PATH [CURL ARGUMENTS...]: over a connection of its own, within a second
    local path=$1
    shift
    curl -sS --fail --max-time 1 "${reached[@]}" --cacert "$EDL_CA" -H "Authorization: Bearer $(cat "$EDL_TOKEN_FILE")" "$@" \
        "$EDL_SERVER$path"
}

flood() { # NAME NUMBER
    mkfifo "$work/$1-flood.fifo" "$work/$1-flood.in"
    "$python" "$EDL_SOURCE_DIR/tests/lib/flood.py" "$2" "$plain" "${EDL_SERVER#https://}" \
        <"$work/$1-flood.in" >"$work/$1-flood.fifo" &
    pids="$pids $!"
    exec 8>"$work/$1-flood.in"
    until_says "$1-flood" flooding
}

# hold_out NAME: the node keeps reporting and people are answered, for longer than its lease (ten rounds: and than a slow connection lives)
# (One round in five may miss it: the machine that tests may be busy with others.)
hold_out() {
    local i age most=0 late=0
    for i in $(seq "$rounds"); do
        call /jobs -d "{\"metadata\":{\"name\":\"$1-$i\"},\"spec\":{\"trainer\":{\"entrypoint\":\"true\",\"min-instance\":1}}}" \
            >"$work/answer" || late=$((late + 1))
        read -r -t 1 <>"$work/never" || true # a second passes, in which nothing is waited for
        call /nodes >"$work/nodes" || { late=$((late + 1)) && continue; }
        [ "$(jq -r '.nodes[0].state' "$work/nodes")" = ready ] || fail "the node is $(cat "$work/nodes")"
        age=$(($(date +%s%N) / 1000 - $(jq -r '.nodes[0].last_report_us' "$work/nodes")))
        most=$((age > most ? age : most))
        [ "$age" -lt 2000000 ] || fail "the last report is $age us old"
    done
    [ "$late" -le $(((rounds + 4) / 5)) ] || fail "$late answers took more than a second"
    echo "$1: $late late; the oldest report was $((most / 1000)) ms old; $(tail -1 "$work/$1-flood.log") connections were opened;" \
        "$(call /metrics | grep -e '^edl_http_cut_off_total' -e '^edl_http_connections ' | tr '\n' ' ')"
}

mkfifo "$work/never"
start_cluster many $((3 * 4096 + 128)) # 4096 at each of its three addresses, and what else it opens
flood many 9000
hold_out many
connections=$(call /metrics | awk '$1 == "edl_http_connections" { print $2 }')
[ "$connections" -lt 2200 ] || fail "$connections connections are open" # a quarter of them at each of two addresses
exec 8>&-
stop_cluster

# What a flood would use up is not there in the first place: accept() has a descriptor for everybody, also at another door.
# From the flooding address itself so few places are left that only those who are in stay in: the node.
start_cluster few 400
flood few 1000
reached=(--unix-socket "$work/few.socket")
EDL_SERVER=http://localhost
hold_out few
exec 8>&-
stop_cluster

# Somebody with a token that may only look opens all the connections it can get, and all streams: people of other names, admins
# and the node still find room.
eve() { # NUMBER [CURL ARGUMENTS...]: so many calls at once; their statuses
    local i number=$1 calls=()
    shift
    for i in $(seq "$number"); do
        curl -s -o "$work/eve.$i" -w '%{http_code}\n' --max-time 4 --cacert "$EDL_CA" -H "Authorization: Bearer $(cat "$work/eve")" "$@" &
        calls+=($!)
    done
    wait "${calls[@]}" || true
}

reached=()
start_cluster viewer 400 # some 90 connections at each address: 11 are one user's
for name in eve ann; do
    edl user add $name --role viewer
    edl token create --user $name --ttl 1h >"$work/$name" 2>"$work/err"
done
# those that are let in hold on until the submission below is an event
: >"$work/codes"
eve 40 "$EDL_SERVER/events?after=$(call /events | jq '.events[-1].revision')&wait=60" --max-time 60 >"$work/codes" &
holder=$!
others_are_in() { # a submission by an admin, a look by somebody else, the reports of the node
    call /jobs -d '{"metadata":{"name":"in"},"spec":{"trainer":{"entrypoint":"true","min-instance":1}}}' >"$work/answer"
    curl -sS --fail --max-time 1 --cacert "$EDL_CA" -H "Authorization: Bearer $(cat "$work/ann")" "$EDL_SERVER/nodes" >"$work/nodes"
    [ "$(jq -r '.nodes[0].state' "$work/nodes")" = ready ] || fail "the node is $(cat "$work/nodes")"
}
refused() { [ "$(grep -c -e 429 -e 000 "$work/codes")" -ge "$1" ]; } # NUMBER: told so, or their connection is closed (000)
await 120 'the other calls are refused' refused 29
others_are_in
wait $holder
taken=$(grep -c 200 "$work/codes") || true
if [ "$taken" -lt 1 ] || [ "$taken" -gt 11 ]; then fail "$taken of 40 connections of one user: $(sort "$work/codes" | uniq -c)"; fi
grep -q 'too many connections' "$work"/eve.* || fail 'it is not told why'
stop_cluster

start_cluster streams 8000
edl user add eve --role viewer
edl token create --user eve --ttl 1h >"$work/eve" 2>"$work/err"
: >"$work/codes"
eve 40 -H 'Accept: text/event-stream' "$EDL_SERVER/events" --max-time 60 >"$work/codes" &
holder=$!
await 120 'eight streams are refused' refused 8
stop_cluster
wait $holder
[ "$(grep -c 429 "$work/codes")" = 8 ] || fail "not 8 of 40 streams of one user were refused: $(sort "$work/codes" | uniq -c)"
echo "flood: all good"
