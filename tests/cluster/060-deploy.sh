#!/usr/bin/env bash
# Runs at night, and for client/ssh/ client/deploy/: four machines with sshd, and twenty hosts
# `edl deploy` against real sshd, on machines of systemd: three hosts of three kinds (root with an apt repository, sudo without a
# password, sudo with one) become nodes at once, and nothing changes the second time; then every way in which a host can fail, each
# beside one that does not; twenty addresses at once; an upgrade, and a removal.
machine_has=openssh-server,sudo
. "$EDL_SOURCE_DIR/tests/lib/packages.sh"
[ -n "${EDL_TEST_MACHINES:-}" ] || { packages_build && packages_build_next; }
. "$EDL_SOURCE_DIR/tests/lib/machines.sh"
set -u
on() { machine_in "$1" env HOME=/root USER=root PATH=/usr/sbin:/usr/bin:/sbin:/bin "${@:2}"; } # what is installed, not what was built
on_fail() {
    cat "$machines/out" "$machines/err" 2>/dev/null
    on n1 sh -c 'edl nodes; journalctl --no-pager -o cat -n 20 -u "edl*"'
    for name in n2 n3 n4; do on $name journalctl --no-pager -o cat -n 20 -u ssh -u edl-agent; done
}
source=$(sed "s|[^=]*edl\\.gpg|/opt/edl/bin/packages/edl.gpg|; s|file:[^ ]*|file:/opt/edl/bin/packages|" "$packages.source")
case $source in *signed-by=*) source=${source/\[*\]/[signed-by=/opt/edl/bin/packages/edl.gpg]} ;; esac
began=$EPOCHREALTIME
passed() { echo "$(awk "BEGIN { printf \"%6.1f\", $EPOCHREALTIME - $began }") s: $1"; }

machine_boot n1 n2 n3 n4
names='10.77.0.11 n1
10.77.0.12 n2
10.77.0.13 n3
10.77.0.14 n4
10.77.0.99 n9'
# each has keys of its own, several ports, and no repository but where one is given; n1 is where edl deploy is typed
prepare() { # NAME [SOURCE]
    # shellcheck disable=SC2016
    machine_in "$1" sh -c 'rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/* /etc/ssh/ssh_host_*
        [ -z "$2" ] || echo "$2" >/etc/apt/sources.list.d/edl.list
        ssh-keygen -q -t ed25519 -N "" -f /etc/ssh/ssh_host_ed25519_key; ssh-keygen -q -t ecdsa -N "" -f /etc/ssh/ssh_host_ecdsa_key
        printf "Port 22\nPort 2201\nPort 2202\nPort 2203\nPort 2204\nMaxStartups 100\n" >/etc/ssh/sshd_config.d/test.conf
        echo "$3" >>/etc/hosts; apt-get -qq update; mkdir -p -m 700 /root/.ssh; systemctl restart ssh' sh "$1" "${2:-}" "$names" || fail "preparing $1"
}
for name in n1 n2; do prepare $name "$source"; done
for name in n3 n4; do prepare $name; done
on n1 sh -c 'apt-get -qq -y --no-install-recommends install edl-scheduler edl-agent >/dev/null 2>&1 && systemctl start edl-scheduler &&
    ssh-keygen -q -t ed25519 -N "" -f /root/.ssh/id_ed25519' || fail 'n1 has no scheduler'
key=$(on n1 cat /root/.ssh/id_ed25519.pub)
account() { # MACHINE NAME GROUPS-LINE: with our key, a password, and a line of sudoers
    # shellcheck disable=SC2016
    machine_in "$1" sh -c 'id "$1" >/dev/null 2>&1 || useradd -m -s /bin/bash "$1"; home=$(getent passwd "$1" | cut -d: -f6); mkdir -p -m 700 "$home/.ssh"
        echo "$2" >>"$home/.ssh/authorized_keys"; chown -R "$1:" "$home/.ssh"; echo "$1:secret of $1" | chpasswd
        [ -z "$3" ] || echo "$1 $3" >/etc/sudoers.d/"$1"' sh "$2" "$key" "${3:-}" || fail "the account $2 of $1"
}
for name in n1 n2 n3 n4; do account $name root; done
account n3 ann 'ALL=(ALL) NOPASSWD: ALL'
account n4 bob 'ALL=(ALL) ALL'
account n4 eve
conf() { # FILE HOST...
    local file=$1
    shift
    { echo 'HOSTS = ['; printf '    "%s",\n' "$@"; echo "]"; printf 'ROOT_DIR = "/home/paddle"\nPADDLE_NIC = "host0"\nPADDLE_PORT = 7164\n'; } | machine_in n1 sh -c "cat >/root/$file"
}
deploy() { # ARGUMENT...: on n1, without a terminal; out, err, status
    status=0
    on n1 timeout 300 edl deploy "$@" >"$machines/out" 2>"$machines/err" </dev/null || status=$?
}
result() { jq -r --arg host "$1" '.hosts[] | select(.host == $host) | .result' "$machines/out"; }
text() { jq -r --arg host "$1" '.hosts[] | select(.host == $host) | .text + "; try: " + .remedy' "$machines/out"; }
is() { # HOST RESULT [WORDS...]: in what it says
    local host=$1 result=$2
    shift 2
    [ "$(result "$host")" = "$result" ] || fail "$host is $(result "$host"), not $result: $(text "$host")"
    for word in "$@"; do text "$host" | grep -qF -- "$word" || fail "$host does not say \"$word\": $(text "$host")"; done
}

# 1: nothing is known of the hosts: at a terminal one list of keys and one question, one password for all that want one
conf conf.py root@n1 root@n2 ann@n3 bob@n4
nsenter_n1="nsenter -t ${machine_leader[n1]} -m -p -u -n -i -C -- env HOME=/root TERM=vt100 PATH=/usr/sbin:/usr/bin:/sbin:/bin"
# shellcheck disable=SC2086
/usr/bin/python3 "$EDL_SOURCE_DIR/tests/lib/answers.py" 'yes, no' yes 'password for sudo at bob@n4: ' 'secret of bob' -- \
    $nsenter_n1 edl deploy --conf /root/conf.py >"$machines/out" 2>"$machines/err" || fail 'the first deploy'
grep -q '4 hosts never seen' "$machines/out" || fail 'it does not list the keys'
for name in n1 n2 n3 n4; do
    on n1 edl nodes --json | holds --arg name $name 'any(.nodes[]; .name == $name and .state == "ready")' || fail "$name is not ready"
    [ "$(machine_in $name stat -c %a /home/paddle)" = 1777 ] || fail "$name has no ROOT_DIR"
done
[ "$(on n1 edl nodes --json | jq -r '.nodes[] | select(.name == "n3") | .address')" = 10.77.0.13 ] || fail 'n3 has not the address of its interface'
! grep -q 'secret of bob' "$machines/out" || fail 'the password is shown'
for name in n2 n3 n4; do
    on $name journalctl -q --no-pager | lacks -E 'token [0-9a-f]{16}' || fail "$name's journal has the token"
    silent machine_in $name find /tmp /run -maxdepth 1 '(' -name 'edl-deploy.*' -o -name 'edl-join.*' ')' || fail "something is left at $name"
done
passed 'three hosts of three kinds are nodes'

# 2: a job runs on each; ssh is not needed for it
on n2 systemctl stop ssh
on n1 timeout 120 edl submit --name everywhere --min 4 --cpu "$(($(nproc) * 550))m" --memory 64Mi --follow -- hostname >"$machines/out" 2>"$machines/err" || fail 'the job fails'
on n2 systemctl start ssh
passed 'a job has run on all of them'

# 3: again, and nothing changes
echo 'secret of bob' | machine_in n1 sh -c 'umask 077; cat >/root/password'
before=$(for name in n2 n3 n4; do machine_in $name sh -c 'systemctl show edl-agent -p MainPID; stat -c "%n %Y" /var/lib/edl/agent/member.json /home/paddle /etc/edl/agent.conf.d/*'; done)
tokens=$(on n1 edl node tokens --json | jq '.tokens | length')
deploy --conf /root/conf.py --password-file /root/password --json
[ $status = 0 ] || fail 'the second deploy fails'
for host in root@n1 root@n2 ann@n3 bob@n4; do is $host ok 'nothing to do'; done
[ "$(jq -r '.hosts[0].transport' "$machines/out")" = libssh2 ] || fail 'it does not say what it used'
[ "$before" = "$(for name in n2 n3 n4; do machine_in $name sh -c 'systemctl show edl-agent -p MainPID; stat -c "%n %Y" /var/lib/edl/agent/member.json /home/paddle /etc/edl/agent.conf.d/*'; done)" ] || fail 'something was changed'
[ "$(on n1 edl node tokens --json | jq '.tokens | length')" = "$tokens" ] || fail 'it asked for tokens'
deploy --conf /root/conf.py --password-file /root/password --check
[ $status = 0 ] && grep -q 'n2 .*of this cluster' "$machines/out" || fail '--check does not tell'
passed 'doing it again changes nothing'

# 4: each way to fail, all at once, and each says what to type; one good host is done all the same
machine_in n2 sh -c 'rm /etc/ssh/ssh_host_ed25519_key* && ssh-keygen -q -t ed25519 -N "" -f /etc/ssh/ssh_host_ed25519_key && systemctl restart ssh'
conf bad.py ann@n3 eve@n4 nobody@n4:2201 root@n2 root@n9:22 root@10.77.0.13:9 no-such-host.invalid root@n1:2204
/usr/bin/python3 -c 'import socket, sys, time
s = socket.socket(); s.bind(("10.77.0.1", 2222)); s.listen(8); print("ready", flush=True); time.sleep(100000)' >"$machines/silent" &
silent_pid=$!
until grep -q ready "$machines/silent"; do await_pause; done
sed -i 's/^]/    "root@10.77.0.1:2222",\n]/' "$machines/n1/root/root/bad.py"
status=0
on n1 env EDL_DEPLOY_PATIENCE=0.3 timeout 120 edl deploy --conf /root/bad.py --accept-new-keys --json >"$machines/out" 2>"$machines/err" </dev/null || status=$?
kill $silent_pid
wait $silent_pid 2>/dev/null || true
[ $status = 1 ] || fail "the exit status is $status"
is ann@n3 ok
is root@n1:2204 ok
is eve@n4 failed sudo root@n4
is nobody@n4:2201 failed ssh-copy-id
is root@n2 failed 'ssh-keygen -f' 'instead of'
is root@n9:22 failed 'is it on'
is root@10.77.0.13:9 failed 'openssh-server'
is no-such-host.invalid failed HOSTS
is root@10.77.0.1:2222 failed 'try: '
passed 'eight ways to fail, and two hosts that do not'

# 5: a revoked key; a host with an RSA key only, where ssh itself has to connect; a full disk; a host that freezes
machine_in n1 sh -c 'ssh-keygen -q -R n2 -f /root/.ssh/known_hosts 2>/dev/null; echo "@revoked n3 $(ssh-keyscan -t ed25519 n3 2>/dev/null | cut -d" " -f2-)" >>/root/.ssh/known_hosts
    printf "10.77.0.14 n5\n10.77.0.12 n6\n" >>/etc/hosts'
machine_in n2 sh -c 'rm /etc/ssh/ssh_host_* && ssh-keygen -q -t rsa -b 2048 -N "" -f /etc/ssh/ssh_host_rsa_key && systemctl restart ssh'
conf worse.py ann@n3 root@n2
status=0
on n1 env EDL_DEPLOY_PATIENCE=0.3 timeout 120 edl deploy --conf /root/worse.py --accept-new-keys --json >"$machines/out" 2>"$machines/err" </dev/null || status=$?
is ann@n3 failed revoked known_hosts
is root@n2 ok
[ "$(jq -r '.hosts[] | select(.host == "root@n2") | .transport' "$machines/out")" = openssh ] || fail 'it does not say that ssh connected'
machine_in n1 sed -i '/@revoked/d' /root/.ssh/known_hosts
on n4 sh -c 'apt-get -qq -y purge edl-agent edl-client >/dev/null 2>&1; mount -t tmpfs -o size=100k tmp /tmp'
conf one.py root@n4
deploy --conf /root/one.py --accept-new-keys --json
is root@n4 failed 'No space left' 'make room'
machine_in n4 umount /tmp
machine_freeze n4
status=0
on n1 env EDL_DEPLOY_PATIENCE=0.3 timeout 120 edl deploy --conf /root/one.py --accept-new-keys --json >"$machines/out" 2>"$machines/err" </dev/null || status=$?
machine_thaw n4
is root@n4 failed 'try: '
deploy --conf /root/one.py --accept-new-keys --json
is root@n4 changed 'node n4'
passed 'a revoked key, RSA only, a full disk, a frozen host; and it comes back'

# 6: a host dies half way; the next try goes on
on n4 sh -c 'apt-get -qq -y purge edl-agent edl-client >/dev/null 2>&1'
on n1 timeout 120 edl deploy --conf /root/one.py --accept-new-keys --json >"$machines/out" 2>"$machines/err" </dev/null &
deploying=$!
until machine_in n4 sh -c 'pgrep -x apt-get || ls -d /tmp/edl-deploy.*' >/dev/null 2>&1 || ! kill -0 $deploying 2>/dev/null; do await_pause; done
machine_cut n4
status=0
wait $deploying || status=$?
[ $status = 1 ] || fail "a host that died is fine: $(cat "$machines/out")"
is root@n4 failed 'try: '
machine_boot n4
machine_in n4 sh -c 'dpkg --configure -a >/dev/null 2>&1 || true'
deploy --conf /root/one.py --accept-new-keys --json
is root@n4 changed 'node n4'
passed 'a host died half way, and is a node after the next try'

# 7: twenty addresses at once: four machines with five ports each
mapfile -t many < <(for name in n1 n2 n3 n4; do for port in 22 2201 2202 2203 2204; do echo "root@$name:$port"; done; done)
conf many.py "${many[@]}"
since=$EPOCHREALTIME
deploy --conf /root/many.py --check --accept-new-keys --json
[ $status = 0 ] && [ "$(jq '[.hosts[] | select(.result == "ok")] | length' "$machines/out")" = 20 ] || fail 'twenty hosts'
passed "twenty hosts looked at in $(awk "BEGIN { printf \"%.1f\", $EPOCHREALTIME - $since }") s"

# 8: newer packages, only when that is asked for; and off again
mapfile -t next < <(ls "$packages.next"/*.deb)
machine_in n1 mkdir -p /root/next
for file in "${next[@]}"; do cp "$file" "$machines/n1/root/root/next/"; done
conf one.py root@n4
deploy --conf /root/one.py --packages /root/next --json
is root@n4 ok 'nothing to do'
deploy --conf /root/one.py --packages /root/next --upgrade --json
is root@n4 changed
machine_in n4 dpkg-query -W -f '${Version}' edl-agent | grep -q '+next' || fail 'it is not the newer one'
deploy --conf /root/one.py --remove
[ $status != 0 ] && grep -q -- --yes "$machines/err" || fail 'it removes without a question'
deploy --conf /root/one.py --remove --yes --json
is root@n4 changed 'packages are gone'
machine_in n4 dpkg-query -W -f '${db:Status-Status} ${Package}\n' | lacks '^installed edl-' || fail 'a package of ours is left'
silent machine_in n4 find /var/lib -maxdepth 1 -name edl || fail '/var/lib/edl is left'
on n1 edl nodes --json | holds 'all(.nodes[]; .name != "n4")' || fail 'the cluster still has n4'
passed 'an upgrade, and a removal'
