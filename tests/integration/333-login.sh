#!/usr/bin/env bash
# `edl login` from another machine: the line that `edl user add` prints, whom it believes, a code that is good once, and the way out.
# Takes 6 s: some forty calls of the command, each over TLS, and three starts of a scheduler
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
umask 077
begin scheduler "policy" edl-scheduler --state-dir "$work/state" --listen https://127.0.0.1:0 --listen "unix:$work/socket"
server=$(cat "$work/state/address")
admin() { edl "$@" --server "$server" --ca "$work/state/ca.pem" --token-file "$work/state/admin-token"; }
as() { # NAME COMMAND...: with that account's files alone, and nobody at a terminal
    local name=$1
    shift
    env -u EDL_SERVER -u EDL_TOKEN_FILE -u EDL_TOKEN -u EDL_CA HOME="$work/$name" XDG_CONFIG_HOME="$work/$name/config" \
        XDG_RUNTIME_DIR="$work/$name" "$@" </dev/null
}
says() { # WHAT COMMAND...: it fails, and says so
    local what=$1 out
    shift
    if out=$("$@" 2>&1); then fail "went through: $*: $out"; fi
    case $out in *"$what"*) ;; *) fail "$*: says \"$out\" instead of \"$what\"" ;; esac
}
mkdir "$work/ann" "$work/bob"

# --- the whole way: a line, a job, and out again ---

admin user add ann >"$work/line" 2>"$work/note"
[ "$(head -n 1 "$work/line")" = 'ann: user' ] || fail "the role is not told: $(cat "$work/line")"
line=$(sed -n 2p "$work/line")
case $line in "edl login $server --ca-pin sha256:"*" --code "*) ;; *) fail "no whole line: $(cat "$work/line" "$work/note")" ;; esac
grep -q 'good once, for 23h5' "$work/note" || fail "it is not told how long it is good: $(cat "$work/note")"
code=${line##* }
pin=${line#*--ca-pin }
pin=${pin%% *}
says 'and no token for other calls' env EDL_TOKEN="$code" edl ps --server "$server" --ca "$work/state/ca.pem"
wrong=sha256:$(printf '%064d' 7)
says 'not the one that the pin names' as bob edl login "$server" --ca-pin "$wrong" --code "$code"
says 'no terminal to ask at' as bob edl login "$server" --code "$code" # whose authority is not known
says 'is no address to log in at' as bob edl login http://10.77.0.9:7010 --code "$code"
silent ls -A "$work/bob" || fail "a refused login leaves files: $(find "$work/bob")"
# shellcheck disable=SC2086 # the line is words, as somebody pastes it
as ann $line >"$work/out"
grep -qx "logged in at $server: ann, user" "$work/out" || fail "it is not told as whom: $(cat "$work/out")"
[ "$(stat -c %a "$work/ann/config/edl" "$work/ann/config/edl/token" "$work/ann/config/edl/client.conf" | tr '\n' ' ')" = '700 600 600 ' ] ||
    fail "others can read: $(ls -la "$work/ann/config/edl")"
as ann edl whoami | grep -qx "ann, user (token [0-9]*) at $server" || fail "not as ann: $(as ann edl whoami)"
as ann edl submit --name hers -- true >/dev/null
[ "$(as ann edl show hers --json | jq -r .job.user)" = ann ] || fail 'the job is not hers'
# the token goes to no other server
says 'needs a valid bearer token' as ann edl ps --server "https://localhost:${server##*:}" --ca "$work/state/ca.pem"

# --- a code is good once, and only as long as its owner may come in ---

says 'it was used, or has expired' as bob edl login "$server" --ca-pin "$pin" --code "$code"
says 'needs a valid bearer token' env EDL_TOKEN="$code" edl ps --server "$server" --ca "$work/state/ca.pem"
admin audit --json | jq -rs 'map(.user + " " + .via + " " + .method + " " + .target)[]' | grep -qx 'ann login code 1 POST /login' ||
    fail "not on record: $(admin audit)"
code=$(admin user add bob --json 2>/dev/null | jq -r .login.token)
admin user remove bob >/dev/null
says 'it was used, or has expired' as bob edl login "$server" --ca-pin "$pin" --code "$code"
admin user add bob >/dev/null 2>&1
line=$(admin token create --login --user bob --ttl 1h 2>/dev/null)
says '/ttl_s' admin token create --login --user bob --ttl 8d
kill -KILL "$pid" # a code outlives its maker, and so does what it was used for
wait "$pid" 2>/dev/null || true
begin again "policy" edl-scheduler --state-dir "$work/state" --listen "$server" --listen "unix:$work/socket"
# shellcheck disable=SC2086
as bob $line >/dev/null
as bob edl whoami | grep -q '^bob, user' || fail 'bob is not in'

# --- an administrator's token, and the end ---

token=$work/ann/config/edl/token
cp "$token" "$work/was-anns"
as ann edl logout | grep -qx "logged out of $server" || fail 'ann is not told'
silent ls "$work/ann/config/edl" || fail "files stay: $(ls "$work/ann/config/edl")"
says 'needs a valid bearer token' edl whoami --server "$server" --ca "$work/state/ca.pem" --token-file "$work/was-anns"
says 'you are not logged in' as ann edl logout
as ann edl login "$server" --ca-pin "$pin" --token-file "$work/state/admin-token" >/dev/null
as ann edl whoami | grep -q '^admin, admin (admin-token)' || fail 'the admin is not in'
as ann edl logout >/dev/null
admin whoami >/dev/null || fail 'a token that was given is good no longer'

# --- no other machine reaches it ---

begin alone "policy" edl-scheduler --state-dir "$work/alone" --listen "unix:$work/alone.socket"
out=$(edl user add ann --server "unix:$work/alone.socket" --token-file "$work/alone/admin-token" 2>&1)
case $out in 'ann: user'*'no login code was made'*'--listen 0.0.0.0:7010'*) ;; *) fail "not told what to do: $out" ;; esac
says 'is no address to log in at' as ann edl login "unix:$work/alone.socket"
