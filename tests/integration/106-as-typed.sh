#!/usr/bin/env bash
# A program runs as if it had been started where it was submitted: with that umask, with all its arguments, without what was open
# there. What Python prints comes at once, and in order.
# Takes 6 s: six jobs, one after another
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
exec 9>"$work/held" # the cluster's caller has it open, and no job
cluster_start --nodes 1

# umask
mkdir -m 2775 "$work/shared"
(umask 0002 && edl submit --workspace "$work/shared" --name group -- sh -c 'umask; : >file; mkdir folder' >/dev/null)
edl wait group --timeout 300 >/dev/null || fail "$(edl logs group)"
[ "$(stat -c %a "$work/shared/file" "$work/shared/folder" | tr '\n' ' ')" = '664 2775 ' ] || fail "$(edl logs group; ls -l "$work/shared")"
printf 'name: plain\nroles: [{role: worker, entrypoint: umask}]\n' >"$work/plain.yaml"
edl submit "$work/plain.yaml" >/dev/null
edl wait plain --timeout 300 >/dev/null
[ "$(edl logs plain | sed 's/.* //')" = 0022 ] || fail "$(edl logs plain)"
printf 'name: bad\numask: 22\nroles: [{role: worker, entrypoint: umask}]\n' >"$work/bad.yaml"
if edl submit "$work/bad.yaml" 2>"$work/told"; then fail 'a umask that is a number was taken'; fi
grep -q umask "$work/told" || fail "$(cat "$work/told")"

# 1,000 arguments, 139 KB of them
mapfile -t words < <(seq -f '%0139.0f' 1000)
edl submit --name words -- sh -c 'printf "%s\n" $# "${ENTRY-none}"; shift 998; echo "$2"' sh "${words[@]}" >/dev/null
edl wait words --timeout 300 >/dev/null || fail "$(edl logs words)"
[ "$(edl logs words | sed 's/.* //' | tr '\n' ' ')" = "1000 none ${words[999]} " ] || fail "$(edl logs words)"

# descriptors: 3 is the folder that ls reads
edl submit --name open -- ls /proc/self/fd >/dev/null
edl wait open --timeout 300 >/dev/null || fail "$(edl logs open)"
[ "$(edl logs open | sed 's/.* //' | tr '\n' ' ')" = '0 1 2 3 ' ] || fail "$(edl logs open)"

# Python's last words are its error, and what a killed one has printed is not lost
edl submit --name raises -- python3 -c 'print("epoch 1"); raise ValueError("no data")' >/dev/null
if edl wait raises --timeout 300 >"$work/told"; then fail 'it succeeded'; fi
grep -q 'its last words: ValueError: no data' "$work/told" || fail "$(cat "$work/told")"
edl submit --name prints -- python3 -c 'import signal; print("epoch 1"); signal.pause()' >/dev/null
printed() { edl logs prints | grep -q 'epoch 1$'; }
await 120 'it printed' printed
edl kill prints >/dev/null
cluster_stop
