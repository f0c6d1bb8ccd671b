#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Eight slow readers take all places of a node: the ninth waits for one, and does not hear that the node is gone.
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
chmod 711 "$work"
begin scheduler "policy" edl-scheduler --state-dir "$work/scheduler" --listen 127.0.0.1:0 --lease 60s
EDL_SERVER=http://$(sed 's,^http://,,' "$work/scheduler/address")
EDL_TOKEN_FILE=$work/scheduler/admin-token
export EDL_SERVER EDL_TOKEN_FILE
# shellcheck disable=SC2046
begin n1 "adopted" edl-agent --node n1 --scheduler "$EDL_SERVER" --join-token-file "$work/scheduler/join-token" --conf '' --cpu 1 \
    --state-dir "$work/n1" --runtime direct --no-foreign --heartbeat 300ms --address 127.0.0.1 --stop-processes-on-exit \
    $([ "$(id -u)" != 0 ] || echo --default-user nobody)
mkdir "$work/src"
edl submit --name files --upload "$work/src" --cpu 50m --memory 64Mi -- sh -c 'truncate -s 64M big && echo ready && exec sleep 1000' >/dev/null 2>&1
ready() { edl logs files | grep -q 'ready$'; }
await 120 'the file is there' ready

get=(curl -sS -H "Authorization: Bearer $(cat "$EDL_TOKEN_FILE")")
files=$EDL_SERVER/jobs/files/processes/trainer/0
slow=()
for i in 1 2 3 4 5 6 7 8; do
    "${get[@]}" --limit-rate 1k -o "$work/slow-$i" "$files/file?path=big" 2>/dev/null &
    slow+=($!)
done
all_read() { for i in 1 2 3 4 5 6 7 8; do [ -s "$work/slow-$i" ] || return 1; done; }
await 120 'all eight read' all_read

# longer than the scheduler waits for a node that says nothing (20 s); curl ends it then
status=0
"${get[@]}" --max-time 30 -o "$work/ninth" "$files/files?pattern=big" 2>"$work/err" || status=$?
[ "$status" -eq 28 ] || fail "the ninth did not wait: $(cat "$work/ninth" "$work/err")"
"${get[@]}" -o "$work/tenth" "$files/files?pattern=big" &
tenth=$!
kill "${slow[@]}"
wait "${slow[@]}" || true
wait $tenth || fail 'the tenth did not come'
grep -q '"path":"big","bytes":67108864' "$work/tenth" || fail "the tenth got $(cat "$work/tenth")"
