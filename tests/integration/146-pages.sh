#!/usr/bin/env bash
# Nodes, users and groups come page by page, by name, whatever came or went meanwhile; the command shows all of them.
# Takes 21 s: 1,003 users and 1,003 nodes are made, one call for each
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
begin scheduler "listening on" edl-scheduler --state-dir "$work/state" --listen 127.0.0.1:0 --port-file "$work/port"
EDL_SERVER=http://$(cat "$work/port")
EDL_TOKEN_FILE=$work/state/admin-token
export EDL_SERVER EDL_TOKEN_FILE
many=1003
token=$(cat "$EDL_TOKEN_FILE")

ask() { # STATUS PATH: the answer is in $work/answer
    local status
    status=$(curl -sS -H "Authorization: Bearer $(cat "$EDL_TOKEN_FILE")" -o "$work/answer" -w '%{http_code}' "$EDL_SERVER$2")
    [ "$status" = "$1" ] || fail "$2: status $status instead of $1: $(cat "$work/answer")"
}
page() { # LIST QUERY WANTED: names, and what is next
    ask 200 "/$1?$2"
    [ "$(jq -c "[(.$1 | map(.name)), .next]" "$work/answer")" = "$3" ] || fail "$1?$2: $(cat "$work/answer")"
}
post() { # PATH BODY...: one call for each, over one connection
    local path=$1 body
    shift
    for body; do
        printf 'url = "%s%s"\nheader = "Authorization: Bearer %s"\nheader = "Content-Type: application/json"\ndata = "%s"\noutput = /dev/null\nfail\nnext\n' \
            "$EDL_SERVER" "$path" "$token" "${body//\"/\\\"}"
    done | sed '$d' >"$work/calls"
    curl -sS -K "$work/calls" || fail "POST $path"
}

machine='"cpu_millicores":1000,"memory_bytes":1073741824,"gpus":0,"address":"10.0.0.1","port_first":20000,"port_last":20099'
post /users '{"name":"carl"}' '{"name":"ann"}' '{"name":"dora"}' '{"name":"bob"}'
post /groups '{"name":"vision"}' '{"name":"speech"}'
post /nodes/join "{\"node\":\"n2\",$machine}" "{\"node\":\"n1\",$machine}" "{\"node\":\"n10\",$machine}"
page users '' '[["ann","bob","carl","dora"],null]'
page users 'limit=2' '[["ann","bob"],"bob"]'
page users 'limit=1&cursor=bob' '[["carl"],"carl"]'
page users 'limit=9&cursor=carl' '[["dora"],null]'
page users 'limit=9&cursor=dora' '[[],null]'
page groups 'limit=1' '[["speech"],"speech"]'
edl group remove speech # which stood at the end
page groups 'limit=1&cursor=speech' '[["vision"],null]'
page nodes 'limit=2' '[["n1","n10"],"n10"]'
page nodes 'cursor=n10' '[["n2"],null]'
for list in users groups nodes; do
    for query in limit=0 limit=1001 limit=x cursor= 'cursor=a%20b' 'cursor=a&cursor=b' state=all; do ask 400 "/$list?$query"; done
done

# more than a page has
mapfile -t bodies < <(for i in $(seq $many); do printf '{"name":"u%04d"}\n' "$i"; done)
post /users "${bodies[@]}"
[ "$(edl user list | grep -c '^u[0-9]')" = $many ] || fail "not every user is listed: $(edl user list | wc -l)"
[ "$(edl group list | grep -c .)" = 2 ] || fail "not every group is listed: $(edl group list)"
[ "$(edl user list --json | jq '.users | map(.name) | unique | length')" = $((many + 4)) ] || fail 'some are not there, or twice'
mapfile -t bodies < <(for i in $(seq $many); do printf '{"node":"m%04d",%s}\n' "$i" "$machine"; done)
post /nodes/join "${bodies[@]}"
[ "$(edl nodes | grep -c '^m[0-9]')" = $many ] || fail "not every node is listed: $(edl nodes | wc -l)"
ask 200 /nodes
[ "$(jq -c '[(.nodes | length), .next]' "$work/answer")" = '[1000,"m1000"]' ] || fail 'a page without a limit'
end "$pid"
