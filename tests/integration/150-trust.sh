#!/usr/bin/env bash
# A scheduler that other machines reach: TLS and nothing else, one-time join lines, what a node's credential is good for,
# and every refusal in the log. In a network namespace: 10.77.0.1 is not loopback.
# Takes 39 s: daemons begin and end one after another, and of some hundred calls each is a program of its own
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/namespace.sh"
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
export EDL_TOKEN_FILE=$work/state/admin-token

# says WHAT COMMAND...: it fails, and says so
says() {
    local what=$1 out
    shift
    if out=$("$@" 2>&1); then fail "went through: $*: $out"; fi
    case $out in *"$what"*) ;; *) fail "$*: says \"$out\" instead of \"$what\"" ;; esac
}

# status WANTED CURL-ARGUMENTS...
status() {
    local wanted=$1 got
    shift
    got=$(curl -sS -o "$work/answer" -w '%{http_code}' --max-time 60 --cacert "$work/state/ca.pem" "$@")
    case " $wanted " in *" $got "*) ;; *) fail "$got instead of $wanted: curl $*: $(cat "$work/answer")" ;; esac
}

logged() { # PATTERN
    await 120 "it is in the log: $1" grep -q -e "$1" "$work/scheduler.log"
}

# --- where it listens ---

says "TLS only" edl-scheduler --state-dir "$work/other" --listen http://10.77.0.1:0
begin scheduler "policy" edl-scheduler --state-dir "$work/state" --listen 10.77.0.1:0 --listen 127.0.0.1:0 \
    --listen "unix:$work/socket" --lease 60s
scheduler=$pid
server=$(cat "$work/state/address")
plain=$(grep -o 'http://127.0.0.1:[0-9]*' "$work/scheduler.log")
case $server in https://10.77.0.1:*) ;; *) fail "the address is $server" ;; esac
export EDL_CA=$work/state/ca.pem
for reached in "$server" "$plain" "unix:$work/socket"; do
    edl nodes --server "$reached" >/dev/null || fail "$reached does not answer"
done
export EDL_SERVER=$server

# who is refused on the Unix socket is known by account
says 401 curl -sS --fail --unix-socket "$work/socket" -H "Authorization: Bearer $(printf '%064d' 7)" http://localhost/nodes
logged "denied: GET /nodes with token #.* from uid $(id -u): "

# --- every address of the machine, and a name ---

begin wide "policy" edl-scheduler --state-dir "$work/wide" --listen 0.0.0.0:0 --name cluster.test --name 10.77.0.3
port=$(sed 's/.*://' "$work/wide/address")
wide=(--ca "$work/wide/ca.pem" --token-file "$work/wide/admin-token")
for reached in 10.77.0.1 10.77.0.2 127.0.0.1 localhost; do
    edl nodes "${wide[@]}" --server "https://$reached:$port" >/dev/null || fail "not good for $reached"
done
curl -sS --fail --cacert "$work/wide/ca.pem" --resolve "cluster.test:$port:10.77.0.2" "https://cluster.test:$port/version" ||
    fail "not good for its name"
ip addr add 10.77.0.4/32 dev lo # after the certificate was made
says "for other names" edl nodes "${wide[@]}" --server "https://10.77.0.4:$port"
edl node add --foreground "${wide[@]}" --server "https://127.0.0.1:$port" 2>/dev/null |
    grep -q -e "^edl-agent --join https://cluster.test:$port --token [0-9a-f]* --ca-pin sha256:[0-9a-f]*\$" || fail "the line has another name"
end "$pid"
begin wide "policy" edl-scheduler --state-dir "$work/wide" --listen "0.0.0.0:$port"
edl nodes "${wide[@]}" --server "https://10.77.0.4:$port" >/dev/null || fail "a restart does not see the new address"
grep -q "a new server certificate is made: it is not for 10.77.0.4" "$work/wide.log" || fail "nobody tells why"
# without a name the line has an address that others reach, also one that came after the start
joined_at() { edl node add --json "${wide[@]}" --server "https://127.0.0.1:$port" | jq -r .server; }
[ "$(joined_at)" = "https://10.77.0.1:$port" ] || fail "the line has $(joined_at)"
ip addr add 10.77.0.5/32 dev lo
for address in 1 2 4; do ip addr del "10.77.0.$address/32" dev lo; done
[ "$(joined_at)" = "https://10.77.0.5:$port" ] || fail "the line has $(joined_at), which is not there any more"
edl nodes "${wide[@]}" --server "https://10.77.0.5:$port" >/dev/null || fail "the line has an address that the certificate has not"
for address in 1 2; do ip addr add "10.77.0.$address/32" dev lo; done
ip addr del 10.77.0.5/32 dev lo
end "$pid"

# --- who is believed ---

says "not signed by the authority" env -u EDL_CA edl nodes
says "another machine" edl nodes --server "http://${server#https://}"
says "give http://" edl nodes --server "https://${plain#http://}"
says "give https://" env -u EDL_TOKEN_FILE edl nodes --server "http://${server#https://}"
says "cannot be read" edl nodes --ca /nonexistent

# --- join lines ---

agent() { # NAME [ARGUMENTS...]: instead of the subshell that it is called in
    local name=$1
    shift
    exec edl-agent --state-dir "$work/$name" --runtime direct --allow-root --no-foreign --heartbeat 300ms "$@"
}
line=$(edl node add n1 2>"$work/note")
grep -q "good once, for 59m\|good once, for 1h" "$work/note" || fail "the note says $(cat "$work/note")"
grep -q "run this as root" "$work/note" || fail "the note says $(cat "$work/note")"
case $line in *' --join-only && systemctl enable --now edl-agent') ;; *) fail "the line starts no service: $line" ;; esac
# shellcheck disable=SC2086
set -- ${line%' --join-only '*}
[ "$1 $2 $3 $4" = "edl-agent --join $server --token" ] || fail "the line is $line"
token=$5 pin=$7
[ "$6 $8 $9" = "--ca-pin --node n1" ] || fail "the line is $line"
! grep -rq "$token" "$work/state" || fail "the token is kept"

# somebody else's pin: nothing is sent, the token stays good
says "not the one that the pin names" agent n1 --join "$server" --token "$token" --ca-pin "sha256:$(printf '%064d' 0)" --node n1
says "nothing says which server" agent n1 --join "$server" --token "$token" --node n1
# the wrong node: refused, the token stays good
says "is for node n1" agent n2 --join "$server" --token "$token" --ca-pin "$pin" --node n2
logged "denied: POST /nodes/join with token #.* from 10.77.0.1: the join token is for node n1"

begin n1 "joined as n1" agent n1 --join "$server" --token "$token" --ca-pin "$pin" --node n1
n1=$pid
tr '\0' ' ' <"/proc/$n1/cmdline" | lacks "$token" || fail "the token is in the list of processes"
[ "$(stat -c %a "$work/n1/credential" "$work/n1/ca.pem" "$work/n1/member.json" | sort -u)" = 600 ] || fail "open files"
cmp "$work/n1/ca.pem" "$work/state/ca.pem" || fail "another authority"

# a used token: refused, also for the same name, and logged
says "was used already, by node n1" agent n3 --join "$server" --token "$token" --ca-pin "$pin" --node n3
says "was used already, by node n1" agent n3 --join "$server" --token "$token" --ca-pin "$pin" --node n1
logged "denied: POST /nodes/join .* the join token was used already, by node n1"
edl node tokens | grep -q "used .* n1 *admin .* n1" || fail "the list: $(edl node tokens)"

# one that was revoked, one that is no token, and the state directory's own from another machine
revoked=$(edl node add --ttl 1d --json | jq -r .token,.id | paste -sd' ')
edl node revoke "${revoked#* }" | grep -q expired || fail "not revoked"
says "has expired" agent n3 --join "$server" --token "${revoked% *}" --ca-pin "$pin" --node n3
says "no such join token" agent n3 --join "$server" --token "$(printf '%064d' 7)" --ca-pin "$pin" --node n3
says "own host only" agent n3 --join "$server" --token "$(cat "$work/state/join-token")" --ca-pin "$pin" --node n3
# a line for any new node takes no name that is there
any=$(edl node add --json | jq -r .token)
says "for new ones only" agent n3 --join "$server" --token "$any" --ca-pin "$pin" --node n1

# restarts need neither token nor pin; the line, run again, does no harm; another cluster's is refused
end "$n1"
begin n1 "node n1, 0 processes" agent n1
edl submit --name hello -- true >/dev/null
edl wait hello >/dev/null || fail "no job runs on a node that joined over TLS"
end "$pid"
begin n1 "node n1, " agent n1 --join "$server" --token "$token" --ca-pin "$pin" --node n1
end "$pid"
says "belongs to node n1" agent n1 --join https://10.77.0.2:1 --token "$token"
# the pin says that it is the same one: the new address, where nobody is, does not cut the node off
begin n1 "$server leads now" agent n1 --join https://10.77.0.2:1 --token "$token" --ca-pin "$pin"
end "$pid"
begin n1 "node n1, " agent n1
n1=$pid

# what the line does before it starts the service: joins, and ends; the service then needs nothing more
timeout 120 edl-agent --state-dir "$work/n6" --runtime direct --allow-root --no-foreign --join "$server" \
    --token "$(edl node add --json | jq -r .token)" --ca-pin "$pin" --node n6 --join-only 2>"$work/n6.log" || fail "joining alone fails"
[ -s "$work/n6/credential" ] || fail "it has not joined"
begin n6 "node n6, 0 processes" agent n6
says "another agent uses" agent n6 --join "$server" --token "$token" --ca-pin "$pin" --node n6
# alone it asks for that agent, with a token that must be good (281-rejoin.sh)
says "the join token was used already" agent n6 --join "$server" --token "$token" --ca-pin "$pin" --node n6 --join-only
end "$pid"

# pasted without root: it says so before it asks anybody, and the token is as good as before. A namespace has no other account
# than root: edl-agent is told that it is another one
if command -v gcc >/dev/null; then
    echo 'unsigned geteuid(void) { return 1000; }' >"$work/nobody.c"
    gcc -shared -fPIC -o "$work/nobody.so" "$work/nobody.c"
    pasted=$(edl node add --json | jq -r .token)
    says "you are not root" env "HOME=$work/home" "LD_PRELOAD=$work/nobody.so" edl-agent --conf '' --join "$server" \
        --token "$pasted" --ca-pin "$pin" --node n9 --join-only
    [ ! -e "$work/home" ] || fail "it has made $(ls -A "$work/home")"
    lacks n9 < <(edl nodes) || fail "a node is there: $(edl nodes)"
    timeout 300 edl-agent --state-dir "$work/n9" --runtime direct --allow-root --no-foreign --join "$server" --token "$pasted" \
        --ca-pin "$pin" --node n9 --join-only 2>"$work/n9.log" || fail "the token is spent: $(cat "$work/n9.log")"
fi

# joined by the certificate of the authority: it is remembered as the pin is, wherever its file goes
mkdir "$work/given"
cp "$work/state/ca.pem" "$work/given/true.pem"
ln -s true.pem "$work/given/ca.pem"
cafile=$(edl node add --json | jq -r .token)
begin n7 "joined as n7" agent n7 --join "$server" --token "$cafile" --ca "$work/given/ca.pem" --node n7
end "$pid"
rm -r "$work/given"
reported=$(edl nodes n7 --json | jq .last_report_us)
begin n7 "node n7, 0 processes" agent n7
n7_reports() { edl nodes n7 --json | holds ".last_report_us > $reported"; }
await 120 'n7 reports' n7_reports
end "$pid"
says "does not hold 1 to" agent n8 --join "$server" --token "$cafile" --ca "$work/state/admin-token" --node n8

# the agent beside the scheduler, over its socket, is at an address that the processes of others reach
begin own "joined as own" agent own --scheduler "unix:$work/socket" --join-token-file "$work/state/join-token" --node own
[ "$(edl nodes own --json | jq -r .address)" = 10.77.0.1 ] || fail "its address is $(edl nodes own --json | jq -r .address)"
end "$pid"

# --- what a node's credential is good for ---

begin n2 "joined as n2" agent n2 --join "$server" --token "$any" --ca-pin "$pin" --node n2
credential=$(cat "$work/n2/credential")
as=(-H "Authorization: Bearer $credential")
offer='{"address":"10.77.0.2","cpu_millicores":1,"memory_bytes":1,"gpus":0,"port_first":1,"port_last":2'
report="$offer,\"boot_id\":\"b\",\"processes\":[]}"
status 200 "${as[@]}" "$server/nodes/n2/orders?wait=0"
for path in n1 n2%2f..%2fn1 n2/../n1 n1%2f n1%00 N2 n2%20 %6e1 '' n2%2f; do
    status "400 401 404" --path-as-is "${as[@]}" "$server/nodes/$path/orders?wait=0"
    status "400 401 404" --path-as-is "${as[@]}" -d "$report" "$server/nodes/$path/report"
    status "400 401 404" --path-as-is "${as[@]}" -d "$report" "$server/nodes/$path/logs"
done
status "400 401" "${as[@]}" -H "X-EDL-Process: 1.trainer.0.1" "$server/nodes/n1/orders?wait=0"
# a credential is compared as it is, and one that is there twice is none
status 401 -H "Authorization: Bearer ${credential^^}" "$server/nodes/n2/orders?wait=0"
status 401 -H "Authorization: Bearer ${credential%?}" "$server/nodes/n2/orders?wait=0"
status 401 -H "Authorization: Basic $credential" "$server/nodes/n2/orders?wait=0"
status 401 "${as[@]}" -H "Authorization: Bearer $(cat "$EDL_TOKEN_FILE")" "$server/nodes"
status 401 -H "Authorization: Bearer $(cat "$EDL_TOKEN_FILE")" "${as[@]}" "$server/nodes"
grep -q "more than once" "$work/answer" || fail "the reason: $(cat "$work/answer")"
# people's calls and joining are not a node's; nor is what another node's processes may
for call in "GET /nodes" "GET /jobs" "GET /events" "GET /metrics" "DELETE /nodes/n1" "DELETE /nodes/n2" "POST /jobs" \
    "POST /nodes/join" "POST /tokens/join" "GET /tokens/join"; do
    status "401 403" "${as[@]}" -X "${call% *}" "$server${call#* }"
done
# the same node, by its own name, cannot be taken by anybody's line while it reports
taken=$(edl node add n2 --json | jq -r .token)
status 409 -H "Authorization: Bearer $taken" -d "$offer,\"node\":\"n2\"}" "$server/nodes/join"
# an answer that was lost is asked for again with the same credential, and with no other
fresh=$(edl node add n4 --json | jq -r .token)
mine=$(printf '%064d' 42)
join="$offer,\"node\":\"n4\",\"credential\":\"$mine\"}"
status 201 -H "Authorization: Bearer $fresh" -d "$join" "$server/nodes/join"
status 201 -H "Authorization: Bearer $fresh" -d "$join" "$server/nodes/join"
status 401 -H "Authorization: Bearer $fresh" -d "${join/42/43}" "$server/nodes/join"
status 400 -H "Authorization: Bearer $fresh" -d "${join/0042/xx42}" "$server/nodes/join"
# it is known, and gets no orders before it has reported
status 503 -H "Authorization: Bearer $mine" "$server/nodes/n4/orders?wait=0"

# --- the scheduler is started again: tokens are on disk, certificate and agents stay ---

late=$(edl node add late --json | jq -r .token)
before=$(cat "$work/state/server.pem")
end "$scheduler"
begin scheduler "policy" edl-scheduler --state-dir "$work/state" --listen "${server#https://}" --lease 60s
scheduler=$pid
[ "$before" = "$(cat "$work/state/server.pem")" ] || fail "another certificate"
begin late "joined as late" agent late --join "$server" --token "$late" --ca-pin "$pin" --node late
says "was used already" agent n5 --join "$server" --token "$fresh" --ca-pin "$pin" --node n5
edl submit --name again -- true >/dev/null
edl wait again >/dev/null || fail "no job runs after the restart"

# --- a flood of refusals does not fill the log ---

lines=$(wc -l <"$work/scheduler.log")
seq -f "url = \"$server/nodes?%g\"" 300 >"$work/calls"
curl -sS --cacert "$work/state/ca.pem" -K "$work/calls" >/dev/null
[ $(($(wc -l <"$work/scheduler.log") - lines)) -lt 20 ] || fail "a flood of refusals fills the log"
end "$scheduler"
logged "denied: 29[0-9] more calls from 10.77.0.1"
echo "trust: all good"
