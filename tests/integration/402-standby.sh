#!/usr/bin/env bash
# Two schedulers on one PostgreSQL: the second one comes in by its line, waits, says who leads, takes over from one that is killed and
# from one that is stopped, which is none any more when it goes on. A name or an address that is there and a database of another cluster are
# refused; no password is told.
# Takes 18 s: what was stopped has to be missed, and a name or an address that is taken is asked for again for 3 s
set -eu
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
. "$EDL_SOURCE_DIR/tests/lib/postgresql.sh"

postgresql_start p
postgresql_database p edl
postgresql_sql p edl "CREATE ROLE edl SUPERUSER LOGIN PASSWORD 'verysecret'" >/dev/null
url=postgresql://edl:verysecret@/edl?host=$postgresql_dir/p

scheduler() { # NAME PATTERN OPTION...
    local name=$1 pattern=$2
    shift 2
    begin "$name" "$pattern" edl-scheduler --conf '' --state-dir "$work/state-$name" --listen https://127.0.0.1:0 --store "$url" \
        --scheduler-name "$name" "$@"
}
address() { cat "$work/state-$1/address"; }
ask() { # NAME PATH CURL-OPTION...: as an admin
    local name=$1 path=$2
    shift 2
    curl -sS --max-time 120 --cacert "$work/state-a/ca.pem" -H "Authorization: Bearer $(cat "$work/state-a/admin-token")" "$@" "$(address "$name")$path"
}
role_is() { ask "$1" /healthz 2>/dev/null | holds --arg role "$2" '.role == $role'; }
knows() { ask "$1" /schedulers | holds '.schedulers[1].role == "standby"'; } # another one
edl_at() { # NAME WORD...
    EDL_SERVER=$(address "$1") EDL_CA=$work/state-a/ca.pem EDL_TOKEN_FILE=$work/state-a/admin-token edl "${@:2}"
}
submit() { edl_at "$1" submit --name "$2" -- true >/dev/null; }

scheduler a 'leads (term 1)'
a=$pid
submit a first

# the line for the second one: good once, and what it brings is for its owner alone
line=$(edl_at a admin standby add b 2>/dev/null)
# shellcheck disable=SC2086
$line --conf '' --state-dir "$work/state-b" >"$work/joined" || fail "the line: $line"
cmp "$work/state-a/ca.key" "$work/state-b/ca.key"
cmp "$work/state-a/admin-token" "$work/state-b/admin-token"
[ "$(stat -c %a "$work/state-b/ca.key" "$work/state-b/admin-token" | sort -u)" = 600 ] || fail 'others can read it'
if timeout 120 edl-scheduler --conf '' --state-dir "$work/state-b" --listen 127.0.0.1:0 2>"$work/err"; then fail 'it began with a state of its own'; fi
grep -q 'is in postgresql://edl@.*write `store: ' "$work/err" || fail "$(cat "$work/err")"
grep -q 'wants a password' "$work/joined" || fail 'nothing says that the database wants one'
# shellcheck disable=SC2086
if $line --conf '' --state-dir "$work/state-c" 2>"$work/err"; then fail 'the line was good twice'; fi
grep -q 'used already; .*edl admin standby add' "$work/err" || fail "$(cat "$work/err")"

scheduler b 'standby of a (term 1)'
b=$pid
await 120 'a knows of b' knows a
edl_at a nodes | grep -q 'b standby' || fail "$(edl_at a nodes)"
ask b /jobs -D "$work/headers" -o "$work/answer"
grep -q '^HTTP[^ ]* 503' "$work/headers" || fail "a standby answers: $(cat "$work/headers")"
grep -qi "^EDL-Leader: $(address a)" "$work/headers" || fail "who leads? $(cat "$work/headers")"
ask b /metrics | grep -qx 'edl_scheduler_role{role="standby"} 1' || fail 'its figures'

# a name or an address that is there, and the database of another cluster
if timeout 120 edl-scheduler --conf '' --state-dir "$work/state-x" --listen 127.0.0.1:0 --store "$url" --scheduler-name b 2>"$work/err"; then
    fail 'two schedulers have one name'
fi
grep -q 'is called b.*--scheduler-name' "$work/err" || fail "$(cat "$work/err")"
if timeout 120 edl-scheduler --conf '' --state-dir "$work/state-x" --listen 127.0.0.1:0 --store "$url" --scheduler-name x --address "$(address b)" 2>"$work/err"; then
    fail 'two schedulers have one address'
fi
grep -q "has the address $(address b); .*--address" "$work/err" || fail "$(cat "$work/err")"
[ "$(postgresql_sql p edl "SELECT string_agg(name, ' ' ORDER BY name) FROM scheduler")" = 'a b' ] || fail 'agents are told of one that was refused'
if timeout 120 edl-scheduler --conf '' --state-dir "$work/state-y" --listen https://127.0.0.1:0 --store "$url" --scheduler-name y 2>"$work/err"; then
    fail 'a database of another cluster was used'
fi
grep -q 'another cluster' "$work/err" || fail "$(cat "$work/err")"

# archives of workspaces are in the database when the upload is answered: one of more than a piece, one of less
head -c 2500000 /dev/urandom >"$work/archive"
echo small >"$work/small"
sha=$(sha256sum "$work/archive" | cut -d ' ' -f 1)
small=$(sha256sum "$work/small" | cut -d ' ' -f 1)
put() { ask "$1" "/workspaces/$3" -o "$work/answer" -w '%{http_code}' -X PUT -H 'Content-Type: application/octet-stream' --data-binary "@$2"; }
[ "$(put a "$work/archive" "$sha")" = 200 ] || fail "$(cat "$work/answer")"
[ "$(put a "$work/small" "$small")" = 200 ] || fail "$(cat "$work/answer")"
[ "$(put a "$work/archive" "$(echo none | sha256sum | cut -d ' ' -f 1)")" = 400 ] || fail "another digest: $(cat "$work/answer")"
pieces() { postgresql_sql p edl "SELECT count(*) FROM workspace_piece"; }
pieces_are() { [ "$(pieces)" = "$1" ]; }
await 120 'what was refused leaves nothing' pieces_are 4

# killed: the other one leads, and knows all that was told
end_hard() { kill -KILL "$1" && wait "$1" 2>/dev/null || true; }
submit a second
unset "begun[$a]"
end_hard "$a"
await 120 'b leads' role_is b leader
edl_at b ps --all >"$work/ps"
grep -q first "$work/ps" && grep -q second "$work/ps" || fail "what was told is not there: $(cat "$work/ps")"

# the address of one that is dead is free for the next on its machine
rm -rf "$work/state-c"
cp -r "$work/state-b" "$work/state-c"
scheduler c 'standby of b' --address "$(address a)"
unset "begun[$pid]"
end_hard "$pid"

# its folder is empty: what is wanted comes from the database, whole
folder_has() { # NAMES
    local names
    names=$(ls -A "$work/state-b/workspaces") || fail 'no folder of workspaces'
    [ "$names" = "$1" ] || fail "the folder has: $names"
}
folder_has ''
asking=
for i in 1 2 3; do
    ask b "/workspaces/$sha" -o "$work/answer.$i" &
    asking="$asking $!"
done
# shellcheck disable=SC2086
wait $asking
for i in 1 2 3; do cmp "$work/archive" "$work/answer.$i"; done
folder_has "$sha"
edl_at b submit --name uses --workspace "sha256:$small" -- true >/dev/null
ask b "/workspaces/$small" -o "$work/answer"
cmp "$work/small" "$work/answer"

# stopped: it is deposed, and when it goes on it takes no order any more
scheduler a 'standby of b'
kill -STOP "$b"
await 120 'a leads' role_is a leader
submit a third
kill -CONT "$b"
await 120 'b waits' grep -q 'term 2 of scheduler b has ended' "$work/b.log"
! role_is b leader || fail 'two lead'
[ "$(ask b /jobs -o "$work/answer" -w '%{http_code}')" = 503 ] || fail "who was deposed answers: $(cat "$work/answer")"
[ "$(ask a '/jobs?state=all' | jq '.jobs | length')" = 4 ] || fail 'what was told is not there'

# it leads again: with the archives that came meanwhile, and its service says so
echo another >"$work/archive"
sha=$(sha256sum "$work/archive" | cut -d ' ' -f 1)
ask a "/workspaces/$sha" -o /dev/null -X PUT -H 'Content-Type: application/octet-stream' --data-binary "@$work/archive"
unset "begun[$pid]"
end_hard "$pid"
await 120 'b leads again' role_is b leader
ask b "/workspaces/$sha" -o "$work/answer"
cmp "$work/archive" "$work/answer" || fail "the archive that came meanwhile: $(cat "$work/answer")"

# those that are no more are forgotten, two at once as well, and the admin hears what their machines have still
postgresql_sql p edl "INSERT INTO scheduler VALUES ('x', '', 0)" >/dev/null
lists_x() { edl_at b admin standby list | grep -q '^x *silent'; }
await 120 'x is listed' lists_x
for name in a c x; do edl_at b admin standby remove $name >>"$work/removed" 2>>"$work/notes"; done
[ "$(cat "$work/removed")" = $'a: removed\nc: removed\nx: removed' ] || fail "$(cat "$work/removed")"
grep -q 'remove its state directory there' "$work/notes" || fail "$(cat "$work/notes")"
alone() { [ "$(postgresql_sql p edl 'SELECT name FROM scheduler')" = b ]; }
await 120 'the database knows of b alone' alone
if edl_at b admin standby remove b 2>"$work/err"; then fail 'the leader was removed'; fi
grep -q 'b leads' "$work/err" || fail "$(cat "$work/err")"

if grep -rq verysecret "$work"/*.log "$work/joined" "$work/err" "$work/state-b"; then fail 'a password was told'; fi
