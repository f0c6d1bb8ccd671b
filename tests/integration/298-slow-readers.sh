#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Slow readers take all places of a node that one user may have. One more waits, and does not hear that the node is gone. Somebody
# else gets a file meanwhile, also while a third one has files of 4 TiB read.
# Takes 34 s: a reader waits for longer than the scheduler waits for a node (20 s)
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
chmod 711 "$work"
begin scheduler "policy" edl-scheduler --state-dir "$work/scheduler" --listen 127.0.0.1:0 --lease 60s
EDL_SERVER=http://$(sed 's,^http://,,' "$work/scheduler/address")
EDL_TOKEN_FILE=$work/scheduler/admin-token
export EDL_SERVER EDL_TOKEN_FILE
# shellcheck disable=SC2046
begin n1 "adopted" edl-agent --node n1 --scheduler "$EDL_SERVER" --join-token-file "$work/scheduler/join-token" --conf '' --cpu 2 \
    --state-dir "$work/n1" --runtime direct --no-foreign --heartbeat 300ms --address 127.0.0.1 --stop-processes-on-exit \
    $([ "$(id -u)" != 0 ] || echo --default-user nobody)
mkdir "$work/src"
edl submit --name files --upload "$work/src" --cpu 50m --memory 64Mi -- sh -c 'truncate -s 64M big && echo ready && exec sleep 1000' >/dev/null 2>&1
ready() { edl logs files | grep -q 'ready$'; }
await 120 'the file is there' ready

get=(curl -sSf -H "Authorization: Bearer $(cat "$EDL_TOKEN_FILE")")
files=$EDL_SERVER/jobs/files/processes/trainer/0
slow=()
for i in {1..16}; do
    "${get[@]}" --limit-rate 1k -o "$work/slow-$i" "$files/file?path=big" 2>/dev/null &
    slow+=($!)
done
all_read() { for i in {1..16}; do [ -s "$work/slow-$i" ] || return 1; done; }
await 120 'all sixteen read' all_read

# longer than the scheduler waits for a node that says nothing (20 s); curl ends it then
status=0
"${get[@]}" --max-time 30 -o "$work/one-more" "$files/files?pattern=big" 2>"$work/err" &
waits=$!

# somebody else has a share of the places; and no list reads 4 TiB to tell the size of a file
for user in ann bob; do
    edl user add $user --role user >"$work/out"
    edl token create --user $user --ttl 1h >"$work/token-$user" 2>"$work/err"
    chmod 600 "$work/token-$user"
    EDL_TOKEN_FILE=$work/token-$user edl submit --name $user --upload "$work/src" --cpu 50m --memory 64Mi -- \
        sh -c 'truncate -s 4T hole && echo abc >small && echo ready && exec sleep 1000' >"$work/out" 2>&1
    begun() { edl logs $user/$user | grep -q 'ready$'; }
    await 120 "the files of $user are there" begun
done
ann=(curl -sSf -H "Authorization: Bearer $(cat "$work/token-ann")")
hashing=()
for i in 1 2 3 4; do # all that one user may have, and each reads for an hour
    "${ann[@]}" -o "$work/hash-$i" "$EDL_SERVER/jobs/ann/processes/trainer/0/files?pattern=hole" &
    hashing+=($!)
done
has_begun() { for i in 1 2 3 4; do [ -e "$work/hash-$i" ] || return 1; done; }
await 120 'the node reads four files of 4 TiB' has_begun
export EDL_TOKEN_FILE=$work/token-bob
edl fetch bob small -o "$work/bob" >"$work/out" || fail 'nobody else gets a file of four bytes'
[ "$(cat "$work/bob/small")" = abc ] || fail "bob got $(cat "$work/bob/small")"
edl fetch bob --list | grep -q ' 4398046511104 .* hole$' || grep -q '^4398046511104 .* hole$' <(edl fetch bob --list) || fail 'the list does not tell the large file'
kill "${hashing[@]}"
wait "${hashing[@]}" || true

wait $waits || status=$?
[ "$status" -eq 28 ] || fail "one more of the first did not wait: $(cat "$work/one-more" "$work/err")"
"${get[@]}" -o "$work/last" "$files/files?pattern=big" &
last=$!
kill "${slow[@]}"
wait "${slow[@]}" || true
wait $last || fail 'the last did not come'
grep -q '"path":"big","bytes":67108864' "$work/last" || fail "the last got $(cat "$work/last")"
