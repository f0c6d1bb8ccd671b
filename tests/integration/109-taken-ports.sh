#!/usr/bin/env bash
# A port that another program listens on, if only on 127.0.0.1, is granted to no process until that has gone.
# Takes 9 s: waits twice until an agent has looked at the ports of its machine again
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 1
node=$(edl nodes --json | jq -r '.nodes[0].name')
foreign_is() { api GET "/nodes/$node" | holds ".ports_foreign == $1"; }
port_of() { # NAME: of a job that has one port, and ends at once
    jq -n --arg name "$1" '{name: $name, roles: [{role: "worker", ports: 1, entrypoint: "echo port $EDL_PORTS"}]}' >"$work/$1.json"
    edl submit "$work/$1.json" >/dev/null
    edl wait "$1" --timeout 300 >/dev/null || fail "$1: $(edl logs "$1")"
    edl logs "$1" | sed 's/.*port //'
}
foreign_is '[]' || fail "$(api GET "/nodes/$node")"
first=$(port_of first)
next=$((first + 1)) # they are granted in turn

mkfifo "$work/gate"
python3 -c 'import socket, sys; s = socket.create_server(("127.0.0.1", int(sys.argv[1]))); open(sys.argv[2]).read()' $next "$work/gate" &
stranger=$!
await 120 'it is seen' foreign_is "[$next]"
second=$(port_of second)
[ "$second" = $((next + 1)) ] || fail "after $first came $second, while $next is taken"
: >"$work/gate"
wait $stranger
await 120 'it is seen to be gone' foreign_is '[]'
cluster_stop
