#!/usr/bin/env bash
# The first hour on two machines: an account of the second one logs in with the line that it was given, and its folder is sent where
# the other machine lacks it. That machine is removed and taken back with one line, and gets another address.
# Takes 8 s: two machines boot, and their daemons begin
. "$EDL_SOURCE_DIR/tests/lib/machines.sh"
. "$EDL_SOURCE_DIR/tests/lib/units.sh"
units_cluster n1 n2
for name in n1 n2; do machine_in "$name" useradd --create-home --uid 4711 alice; done

# --- alice, at the second machine
line=$(edl user add alice 2>/dev/null | grep -o 'edl login .*') || fail 'no line for the other machine'
alice() { machine_in n2 setpriv --reuid 4711 --regid 4711 --clear-groups env HOME=/home/alice sh -c "cd ~/$1 && $2"; } # FOLDER COMMAND
machine_in n2 setpriv --reuid 4711 --regid 4711 --clear-groups sh -ec 'mkdir /home/alice/project; cd /home/alice/project; mkdir lib
    echo "cat lib/text; pwd" >main.sh; echo "from the project" >lib/text; echo large >data; echo data >.edlignore'
alice . "$line </dev/null" >"$machines/login" 2>&1 || fail "no login: $(cat "$machines/login")"
both='edl submit --min 2 --max 2 --cpu 1500m --memory 64Mi --follow --'
alice project "$both sh main.sh" >"$machines/out" 2>"$machines/err" || fail "it fails: $(cat "$machines/out" "$machines/err")"
[ "$(grep -c 'from the project' "$machines/out")" = 2 ] || fail "not both have the folder: $(cat "$machines/out")"
grep -q 'note: sent /home/alice/project, as other nodes lack it: 3 files' "$machines/err" || fail "the note is: $(cat "$machines/err")"
grep -q 'left out 1 file' "$machines/err" || fail "what was left out is not told: $(cat "$machines/err")"
alice . "$both sh -c 'ls -A | wc -l'" >"$machines/out" 2>"$machines/err" || fail "it fails in the home folder: $(cat "$machines/out" "$machines/err")"
[ "$(grep -c '\] 0$' "$machines/out")" = 2 ] || fail "the home folder was sent: $(cat "$machines/out")"

# --- removed, and taken back with the line as it is printed
edl node drain n2 >/dev/null
is_empty() { edl node remove n2 >/dev/null 2>&1; }
await 120 'it is removed' is_empty
line=$(edl node add n2 2>/dev/null)
case $line in *' --join-only && systemctl enable --now edl-agent') ;; *) fail "the line is: $line" ;; esac
# the links of a unit that is enabled need the file that packages bring
machine_in n2 sh -c "${line%% && *}" >"$machines/out" 2>&1 || fail "it does not come back: $(cat "$machines/out")"
await 120 'it is back' units_ready 2

# --- another address
device=$(machine_in n2 ip -j addr | jq -r --arg address "${machine_address[n2]}" '.[] | select(any(.addr_info[]; .local == $address)).ifname')
machine_in n2 sh -ec "ip addr add 10.77.0.99/24 dev $device; ip addr del ${machine_address[n2]}/24 dev $device; ip addr add 10.77.0.99/24 dev $device 2>/dev/null || true"
moved() { edl nodes n2 --json | holds '.state == "ready" and .address == "10.77.0.99"'; }
await 120 'its new address is known' moved
# shellcheck disable=SC2016
edl submit --name ranks --mode collective --min 2 --max 2 --cpu 1500m --memory 64Mi --workspace private --user alice --follow -- \
    sh -c 'echo "rank $RANK master $MASTER_ADDR on $EDL_NODE"' >"$machines/out" 2>/dev/null || fail "ranks: $(cat "$machines/out")"
master=$(sed -n 's/.*rank 0 master .* on //p' "$machines/out")
wanted=${machine_address[n1]}
[ "$master" = n1 ] || wanted=10.77.0.99
[ "$(grep -c "master $wanted on" "$machines/out")" = 2 ] || fail "MASTER_ADDR is not $wanted: $(cat "$machines/out")"
