#!/usr/bin/env bash
# Accounts of the scheduler's machine on its Unix socket: what each may, who is kept out, and that a removal is one.
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
if [ "$(id -u)" != 0 ]; then
    echo "only root can call as others"
    exit 77
fi
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
chmod 711 "$work"

as() { # WANTED ACCOUNT METHOD PATH [BODY]: a call over the socket; the answer, then its status, are in $work/answer
    setpriv --reuid "$2" --clear-groups curl -sS -w '\n%{http_code}\n' --max-time 60 --unix-socket "$work/socket" -X "$3" \
        ${5+--data-binary "$5"} "http://localhost$4" >"$work/answer"
    [ "$(tail -n 1 "$work/answer")" = "$1" ] || fail "$2: $3 $4 is not $1: $(cat "$work/answer")"
}
job='{"name":"NAME","fault_tolerant":true,"trainer":{"entrypoint":"true","min-instance":1,"max-instance":2}}'
serve() { # ARGUMENT...
    begin scheduler "policy" edl-scheduler --state-dir "$work/state" --listen "unix:$work/socket,mode=0666" "$@"
}

serve
as 201 nobody POST /jobs "${job/NAME/a}"
as 201 root POST /users '{"name":"nobody","role":"viewer"}'
as 403 nobody POST /jobs "${job/NAME/b}"
as 200 nobody GET /jobs
# who is removed has no more than before, and nothing at all; also after a restart, until added again
as 200 root DELETE /users/nobody
as 403 nobody POST /jobs "${job/NAME/b}"
grep -q 'nobody does not come in' "$work/answer" || fail "no word of why: $(cat "$work/answer")"
as 403 nobody GET /whoami
as 403 nobody POST /tokens '{}'
as 404 root POST /tokens '{"user":"nobody"}'
end "$pid"
serve
as 403 nobody GET /jobs
as 201 root POST /users '{"name":"nobody"}'
as 201 nobody POST /jobs "${job/NAME/b}"
# who may not come in although nobody has come yet
as 200 daemon GET /whoami
as 201 root POST /users '{"name":"daemon","role":"none"}'
as 403 daemon GET /whoami
end "$pid"
serve --socket-role viewer
as 200 games GET /jobs
as 403 games POST /jobs "${job/NAME/c}"
as 201 nobody POST /jobs "${job/NAME/c}" # has a row
end "$pid"
serve --socket-role none
as 403 games GET /jobs
as 200 root GET /jobs
as 200 nobody GET /jobs
end "$pid"

# an account that is called as root and the admin token are here has nothing of theirs
{ grep -v '^admin:' /etc/passwd && echo 'admin:x:4242:4242::/:/bin/sh'; } >"$work/passwd"
if unshare -m true 2>/dev/null; then
    # shellcheck disable=SC2016
    begin named "policy" unshare -m sh -c 'mount --bind "$1" /etc/passwd && shift && exec "$@"' sh "$work/passwd" \
        edl-scheduler --state-dir "$work/state" --listen "unix:$work/socket,mode=0666"
    as 201 root POST /jobs "${job/NAME/roots}"
    as 403 4242 DELETE /jobs/roots
    grep -q 'the account admin does not come in' "$work/answer" || fail "no word of why: $(cat "$work/answer")"
    as 403 4242 GET /jobs
    end "$pid"
fi
# accounts of a directory: a job, a token, and kept out, as anybody else
long=$(printf 'long%060d' 0)
printf '%s:x:%s::/:/bin/sh\n' 'DOM\alice' 4243:4243: 'alice@corp.example.com' 4244:4244: Bob.Smith 4245:4245: müller 4246:4246: "$long" 4247:4247: |
    cat /etc/passwd - >"$work/passwd"
if unshare -m true 2>/dev/null; then
    # shellcheck disable=SC2016
    begin directory "policy" unshare -m sh -c 'mount --bind "$1" /etc/passwd && shift && exec "$@"' sh "$work/passwd" \
        edl-scheduler --state-dir "$work/state" --listen "unix:$work/socket,mode=0666"
    uid=4243
    for name in 'DOM\\alice' 'alice@corp.example.com' Bob.Smith müller "$long"; do
        as 201 $uid POST /jobs "${job/NAME/own}"
        as 201 root POST /tokens "{\"user\":\"$name\"}" # to who was never added
        as 409 root POST /users "{\"name\":\"$name\"}"
        as 200 root DELETE "/users/$(jq -nr --argjson name "\"$name\"" '$name | @uri')"
        as 403 $uid GET /jobs
        as 201 root POST /users "{\"name\":\"$name\"}"
        as 200 $uid GET /whoami
        uid=$((uid + 1))
    done
    as 409 root POST /users '{"name":"DOM\\alice"}'
    grep -qF "edl user set 'DOM\\\\alice' --role" "$work/answer" || fail "no line that a shell reads: $(cat "$work/answer")"
    end "$pid"
fi
echo "socket: all good"
