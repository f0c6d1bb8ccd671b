#!/usr/bin/env bash
# The folder in which a command is submitted: jobs run in it where this machine is the only one, and in copies of it as soon as
# another machine is a node. A note tells how much was sent; a home folder and one that is too large are not.
# Takes 4 s
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
export EDL_SERVER=unix:$work/socket EDL_TOKEN_FILE=$work/state/admin-token
begin scheduler 'policy' edl-scheduler --conf '' --state-dir "$work/state" --listen "$EDL_SERVER" --lease 60s
as_root=''
[ "$(id -u)" != 0 ] || as_root=--allow-root
agent() { # NODE ADDRESS
    begin "$1" "joined" edl-agent --conf '' --node "$1" --address "$2" --scheduler "$EDL_SERVER" --join-token-file "$work/state/join-token" \
        --state-dir "$work/$1" --runtime direct --no-foreign --heartbeat 300ms --cpu 1 --memory 1Gi --stop-processes-on-exit $as_root
}
ready() { [ "$(edl nodes --json | jq '[.nodes[] | select(.state == "ready")] | length')" = "$1" ]; } # N
mkdir -p "$work/home/project/lib" "$work/home/project/tmp"
chmod 755 "$work" "$work/home" "$work/home/project"
cd "$work/home/project"
echo 'cat lib/text; pwd; echo wrote >made' >main.sh
echo 'from the project' >lib/text
echo left >tmp/left
echo tmp/ >.edlignore
submit() { # STATUS ARGUMENT...: in $work/out and $work/err
    local wanted=$1 status=0
    shift
    HOME=$work/home edl submit --memory 64Mi --follow "$@" >"$work/out" 2>"$work/err" || status=$?
    [ $status = "$wanted" ] || fail "exit status $status, not $wanted: $(cat "$work/out" "$work/err")"
}
says() { grep -qF -- "$1" "$work/${2:-err}" || fail "it does not say '$1': $(cat "$work/out" "$work/err")"; }
keeps_quiet() { if grep -q -- "$1" "$work/err"; then fail "it says: $(cat "$work/err")"; fi; }

# this machine alone: in the folder itself, and nothing is said
agent n1 127.0.0.1
await 120 'one node' ready 1
submit 0 -- sh main.sh
says 'from the project' out
says "$work/home/project" out
[ -e made ] || fail 'it did not run here'
keeps_quiet 'sent\|upload'
rm made

# another machine: a copy
agent n2 192.0.2.7
await 120 'two nodes' ready 2
submit 0 -- sh main.sh
says 'from the project' out
[ ! -e made ] || fail 'it ran in the folder itself'
says "sent $PWD, as other nodes lack it: 3 files"
says 'left out 1 file, 5 bytes, by .edlignore'
edl plan --memory 64Mi -- sh main.sh >"$work/plan" 2>"$work/err" || fail "no plan: $(cat "$work/err")"
keeps_quiet 'has to be there'
edl node cordon n2 >/dev/null # it is this machine, too, in truth
submit 0 --no-upload -- sh main.sh
says "$PWD has to be there on each node that is to run the job; to send it along: --upload ."
[ -e made ] || fail 'it was sent, against --no-upload'

# not by itself: the home folder, and what is large
cd "$work/home"
submit 0 -- sh -c 'ls -a | wc -l'
says 'is your home folder, and not sent'
says '[trainer-0] 2' out
mkdir -m 777 "$work/open"
cd "$work/open"
touch of-others
submit 0 -- ls
keeps_quiet '^note: sent'
cd "$work/home/project"
truncate -s 2G large
submit 1 -- sh main.sh
says 'the folder holds more than 1073741824 bytes, too much to be sent unasked'
says "leave it out, by this line in the folder's .edlignore: /large"
says '--no-upload'
echo /large >>.edlignore
submit 0 -- sh main.sh
says 'left out 2 files'

# what contradicts itself
submit 2 --no-upload --upload . -- true
says '--no-upload goes with neither'

# a home below a folder of the system is the account's own all the same
home=$(mktemp -d /var/tmp/edl-home-XXXXXX)
mkdir -m 755 "$home/project"
cp main.sh "$home/project" && mkdir "$home/project/lib" && cp lib/text "$home/project/lib"
cd "$home/project"
HOME=$home edl submit --memory 64Mi --follow -- sh main.sh >"$work/out" 2>"$work/err" || true
cd "$work"
rm -r "$home"
says 'from the project' out
says "sent $home/project, as other nodes lack it"
