#!/usr/bin/env bash
# ssh to a process by its name, with what edl ssh-config prints: a command and its status, the terminal, scp, sftp, a forwarded port;
# the key is made once and enters nothing of others; what cannot be entered is told in a sentence
# Takes 8 s: a dozen connections, of which half begin a login shell
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
for program in ssh sshd scp sftp ssh-keygen; do
    PATH=$PATH:/usr/sbin command -v $program >/dev/null || {
        echo "no ssh can be tried: $program is missing"
        exit 77
    }
done
cluster_start --nodes 1
export HOME=$work
unset XDG_CONFIG_HOME
edl submit --name j --min 2 -- sleep 100000 >/dev/null 2>&1
await 120 'it runs' at_least j trainer 2

edl ssh-config >"$work/config"
key=$work/.config/edl/ssh/id_ed25519
[ "$(stat -c %a "$key")" = 600 ] && [ "$(stat -c %a "$work/.config/edl/ssh")" = 700 ] || fail 'others can read the key'
cp "$key" "$work/before"
edl ssh-config | cmp - "$work/config" || fail 'it prints another configuration the second time'
cmp "$key" "$work/before" || fail 'a key was made again'
ssh -F "$work/config" -G j.edl >"$work/settings"
grep -q '^proxycommand .*edl connect .*%n\|^proxycommand .*connect' "$work/settings" || fail "ssh reads $(cat "$work/settings")"
# an editor that starts ssh has none of our environment
grep -q -- "--server $EDL_SERVER --token-file $EDL_TOKEN_FILE connect '%n'\$" "$work/config" || fail "it prints $(cat "$work/config")"
# and another folder, and ssh reads % in its own way
mkdir "$work/100%n"
cp "$EDL_TOKEN_FILE" "$work/100%n/token"
(cd "$work/100%n" && edl ssh-config --token-file token) >"$work/odd-config"
grep -qF -- " $work/100%%n/token" "$work/odd-config" || fail "a path with % is printed as $(cat "$work/odd-config")"
enter() { env -u EDL_SERVER -u EDL_TOKEN_FILE timeout 300 ssh -F "$work/config" "$@"; }
status_of() { local status=0; "$@" >"$work/out" 2>"$work/err" || status=$?; echo $status; }
wants() { [ "$1" = "$2" ] || fail "$3: status $2, $1 was wanted: $(cat "$work/out" "$work/err")"; }

# shellcheck disable=SC2016
wants 5 "$(status_of enter j.trainer-1.edl 'echo "$EDL_JOB $EDL_INDEX"; exit 5' </dev/null)" 'a command'
[ "$(cat "$work/out")" = 'j 1' ] || fail "it ran in $(cat "$work/out")"
head -c 3000000 /dev/urandom >"$work/random"
env -u EDL_SERVER -u EDL_TOKEN_FILE timeout 300 ssh -F "$work/odd-config" j.edl true </dev/null || fail 'a path with % leads nowhere'
wants 0 "$(status_of enter j.edl cat <"$work/random")" cat
cmp "$work/random" "$work/out" || fail 'bytes were lost'
# sshd of an ordinary account gives no terminal where it may not give the device to its group
if [ "$(id -u)" = 0 ] || grep -q ' /dev/pts devpts .*gid=5' /proc/mounts; then
    wants 0 "$(status_of enter -tt j.edl 'tty; stty size' </dev/null)" 'a terminal'
    grep -q '^/dev/pts/' "$work/out" || fail "a terminal: $(cat "$work/out")"
else
    echo 'no terminal of ssh is tried: /dev/pts is not mounted with gid=5'
fi
wants 0 "$(status_of timeout 300 scp -q -F "$work/config" "$work/random" "j.edl:$work/there")" scp
cmp "$work/random" "$work/there" || fail 'scp loses bytes'
echo "get $work/there $work/back" | timeout 300 sftp -q -b - -F "$work/config" j.edl >/dev/null || fail 'sftp'
cmp "$work/random" "$work/back" || fail 'sftp loses bytes'

# what cannot be entered
wants 255 "$(status_of enter nobody.edl true </dev/null)" 'no such job'
grep -q 'there is no job' "$work/err" || fail "no such job is told with $(cat "$work/err")"
wants 255 "$(status_of enter j.trainer-7.edl true </dev/null)" 'no such process'
wants 2 "$(status_of edl connect j)" 'no host'
wants 2 "$(status_of edl connect j.edl --json)" '--json'
rm "$key" "$key.pub"
wants 255 "$(status_of edl connect j.edl </dev/null)" 'no key'
grep -q 'edl ssh-config' "$work/err" || fail "no key is told with $(cat "$work/err")"
edl kill j >/dev/null
cluster_stop
