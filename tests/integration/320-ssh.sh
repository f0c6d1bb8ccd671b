#!/usr/bin/env bash
# Runs at night, and for client/ssh/: each case over two transports, as root and not
# Sessions of client/ssh against a real sshd on 127.0.0.1: both transports, what each of them cannot do, and every fault that is told.
# As root all is run twice: as root, where passwords are tried too, and as an ordinary account that exists in a mount namespace only.
# shellcheck disable=SC2016
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/ports.sh"
. "$EDL_SOURCE_DIR/tests/lib/await.sh"
for program in sshd ssh ssh-keygen ssh-agent; do
    PATH=$PATH:/usr/sbin:/sbin command -v $program >/dev/null || { echo "$program is missing. On Debian: apt-get install openssh-server"; exit 77; }
done
sshd=$(PATH=$PATH:/usr/sbin:/sbin command -v sshd)

# ---- accounts: root's run makes them, for its own mounts only ----
account=edl-ssh-test
if [ "$(id -u)" = 0 ] && [ "${EDL_SSH_PART:-}" = '' ]; then
    root_work=$(mktemp -d)
    trap 'rm -rf "$root_work"' EXIT
    chmod 711 "$root_work"
    if ! unshare -m true 2>/dev/null; then
        echo 'no mount namespace can be made here: only as root, without passwords'
        EDL_SSH_PART=bare "$BASH" "$0"
        exit $?
    fi
    EDL_SSH_PART=accounts root_work=$root_work unshare -m "$BASH" "$0"
    exit $?
fi
if [ "${EDL_SSH_PART:-}" = accounts ]; then
    mkdir -p /run/sshd "$root_work/home"
    cp -p /etc/passwd /etc/shadow "$root_work/"
    echo "$account:x:54321:54321::$root_work/home:/bin/sh" >>"$root_work/passwd"
    echo "$account-none:x:54322:54321::$root_work/home:/usr/sbin/nologin" >>"$root_work/passwd"
    hash=$(openssl passwd -6 right 2>/dev/null || echo '*')
    echo "$account:$hash:19000:0:99999:7:::" >>"$root_work/shadow"
    echo "$account-none:$hash:19000:0:99999:7:::" >>"$root_work/shadow"
    printf 'auth required pam_unix.so\naccount required pam_permit.so\nsession required pam_permit.so\n' >"$root_work/pam"
    for file in passwd shadow; do mount --bind "$root_work/$file" /etc/$file; done
    [ ! -e /etc/pam.d/sshd ] || mount --bind "$root_work/pam" /etc/pam.d/sshd
    mkdir -m 700 "$root_work/user"
    chown 54321:54321 "$root_work/user" "$root_work/home"
    echo 'as root'
    EDL_SSH_PART=root work=$root_work/root "$BASH" "$0" || exit $?
    echo 'as an ordinary account'
    EDL_SSH_PART=user work=$root_work/user HOME=$root_work/home USER=$account LOGNAME=$account \
        setpriv --reuid=54321 --regid=54321 --clear-groups "$BASH" "$0"
    exit $?
fi

work=${work:-$(mktemp -d)}
export XDG_RUNTIME_DIR=$work/run
mkdir -p "$XDG_RUNTIME_DIR"
chmod 711 "$work"
chmod 700 "$XDG_RUNTIME_DIR"
unset SSH_AUTH_SOCK
me=$(id -un)
others=() # processes of this script, by pid
stop() {
    [ ${#others[@]} = 0 ] || kill "${others[@]}" 2>/dev/null
    others=()
    wait
}
trap 'stop; rm -rf "$work" 2>/dev/null' EXIT # root removes the folder itself
on_fail() { head -50 "$work/out"; tail -n 15 "$work"/*.log; }

# ---- keys and servers ----
base=$port
key() { [ -e "$work/$1" ] || ssh-keygen -q -t "$2" ${3:+-b "$3"} -N '' -C '' -f "$work/$1"; }
key host ed25519
key host-rsa rsa 2048
key mine ed25519
key mine-ec ecdsa
key mine-rsa rsa 2048
key wrong ed25519
key certified ed25519
key authority ed25519
ssh-keygen -q -s "$work/authority" -I test -n "$me" "$work/certified.pub"
cat "$work"/mine{,-ec,-rsa}.pub >"$work/authorized"
server() { # NAME HOSTKEY PORTS [LINE...]: sshd's pid is $server_pid
    local name=$1 host_key=$2 ports=$3 port
    shift 3
    {
        for port in $ports; do echo "Port $port"; done
        printf '%s\n' 'ListenAddress 127.0.0.1' "HostKey $work/$host_key" "PidFile $work/$name.pid" \
            "AuthorizedKeysFile $work/authorized" "TrustedUserCAKeys $work/authority.pub" 'StrictModes no' 'PermitRootLogin yes' \
            'MaxStartups 100' 'LoginGraceTime 600' "$@"
        grep -q UsePAM <<<"$*" || printf 'UsePAM no\nPasswordAuthentication no\n'
    } >"$work/$name.conf"
    : >"$work/$name.log"
    "$sshd" -D -f "$work/$name.conf" -E "$work/$name.log" &
    server_pid=$!
    others+=("$server_pid")
    await 120 "$name listens" while_runs "$server_pid" grep -q "Server listening on 127.0.0.1 port ${ports##* }" "$work/$name.log"
}
server main host "$base $((base + 1)) $((base + 2)) $((base + 3)) $((base + 4))"
server rsa host-rsa $((base + 5))
to=$me@127.0.0.1:$base to_rsa=$me@127.0.0.1:$((base + 5))

config() { # LINE...: of ssh_config; without a key of its own it is `mine`
    printf '%s\n' "$@" "UserKnownHostsFile $work/known" 'GlobalKnownHostsFile none' >"$work/config"
    grep -q IdentityFile <<<"$*" || echo "IdentityFile $work/mine" >>"$work/config"
    grep -q IdentityAgent <<<"$*" || echo 'IdentityAgent none' >>"$work/config"
}
run() { # STATUS [OPTION...] TARGET... SCRIPT
    local wanted=$1 status
    shift
    "$EDL_BUILD_DIR/tests/lib/ssh_run" --patience="${patience:-20}" --config="$work/config" --known-hosts="$work/known" "$@" >"$work/out" 2>&1
    status=$?
    [ $status = "$wanted" ] || fail "$*: status $status instead of $wanted"
}
says() { grep -qE -- "$1" "$work/out" || fail "it does not say: $1"; }
says_not() { if grep -qE -- "$1" "$work/out"; then fail "it says: $1"; fi; }
knows() { # PORT KEY [MARKER]
    echo "${3:+$3 }[127.0.0.1]:$1 $(cut -d' ' -f1,2 "$work/$2.pub")"
}
print_of() { ssh-keygen -lf "$work/$1.pub" | cut -d' ' -f2 | sed 's/+/\\+/g'; } # as a pattern
none_left() { ! compgen -G "$XDG_RUNTIME_DIR/*" >/dev/null; }

# ---- an unknown key: refused, accepted, known ----
for transport in libssh2 openssh; do
    : >"$work/known"
    config 'HashKnownHosts yes'
    run 2 --transport=$transport "$to" 'echo never'
    says "key ED25519 $(print_of host)"
    says 'fault key-unknown'
    says_not 'never'
    [ ! -s "$work/known" ] || fail 'a refused key was added'
    run 0 --transport=$transport --yes "$to" 'echo once'
    says " open $transport\$"
    says ' out once$'
    grep -q '^|1|' "$work/known" || fail 'the key was not added with a hash'
    run 0 --transport=$transport "$to" 'echo again'
    says_not '^[^ ]+ key '
    config 'StrictHostKeyChecking accept-new'
    : >"$work/known"
    run 0 --transport=$transport "$to" 'echo new'
    says_not '^[^ ]+ key '
    [ "$(cat "$work/known")" = "$(knows "$base" host)" ] || fail 'accept-new did not add the key'
    : >"$work/known"
    config 'StrictHostKeyChecking yes'
    run 2 --transport=$transport "$to" 'echo never'
    says 'fault key-unknown'
    says_not '^[^ ]+ key '
done

# ---- scripts: streams, status, input; the same over both ----
head -c 5000000 /dev/urandom >"$work/big"
sum=$(sha256sum <"$work/big")
config
for transport in libssh2 openssh; do
    knows "$base" host >"$work/known"
    run 1 --transport=$transport --twice "$to" "echo 'a  b'; printf 'no newline' >&2; exit 7"
    [ "$(grep -c ' out a  b$' "$work/out") $(grep -c ' out no newline$' "$work/out") $(grep -c ' end 7$' "$work/out")" = '2 2 2' ] ||
        fail 'two scripts in one session'
    run 0 --transport=$transport --input="$work/big" "$to" sha256sum
    says " out $sum\$"
    says ' sent 5000000$'
    # who reads no more ends before all is sent
    run 0 --transport=$transport --input="$work/big" "$to" 'head -c 10 >/dev/null; echo enough'
    says ' out enough$'
    run 0 --transport=$transport "$to" 'for i in 1 2 3; do head -c 1000000 /dev/zero | tr "\0" x | fold -w 999; head -c 1000000 /dev/zero | tr "\0" y | fold -w 999 >&2; done'
    [ "$(sed -n 's/.* out //p' "$work/out" | tr -cd x | wc -c) $(sed -n 's/.* out //p' "$work/out" | tr -cd y | wc -c)" = '3000000 3000000' ] ||
        fail 'lines are missing'
    # a daemon that keeps the streams holds nobody up
    run 0 --transport=$transport "$to" 'sleep 1000 & echo "left $!"'
    kill "$(sed -n 's/.* out left //p' "$work/out")"
    run 1 --transport=$transport "$to" 'kill -9 $$'
    says ' end 137$'
    run 2 --transport=$transport "$to" 'echo begun; kill -9 $PPID'
    says ' out begun$'
    says 'fault lost'
    says 'the script was cut off'
    # its output looks like an end, and is none
    run 1 --transport=$transport "$to" 'echo "edl-end $(echo x | tr x 0) 0"; exit 3'
    says ' out edl-end 0 0$'
    says ' end 3$'
done
await 120 'no folder of ssh is left' none_left

# ---- sshd dies half way; a script without a sign of life ----
for transport in libssh2 openssh; do
    : >"$work/out"
    "$EDL_BUILD_DIR/tests/lib/ssh_run" --patience=20 --config="$work/config" --known-hosts="$work/known" --transport=$transport "$to" \
        'echo "its $(ps -o ppid= -p $PPID) $$"; exec sleep 1000' >"$work/out" 2>&1 &
    running=$!
    await 120 'the script runs' while_runs "$running" grep -q ' out its ' "$work/out"
    read -r session script < <(sed -n 's/.* out its //p' "$work/out")
    kill -9 "$session"
    wait $running && fail 'it succeeded without its sshd'
    kill "$script" 2>/dev/null
    says 'fault lost'
done
run 2 --silent=1 "$to" 'echo "its $$"; exec sleep 1000' # twenty times one second
says 'fault silent'
kill "$(sed -n 's/.* out its //p' "$work/out")" 2>/dev/null

# ---- what libssh2 cannot do: ssh does it, and the reason is told ----
: >"$work/known"
run 0 --yes "$to_rsa" 'echo over rsa'
says "key RSA $(print_of host-rsa)"
says ' open openssh libssh2 and that server have no algorithms in common$'
says ' out over rsa$'
run 0 "$to_rsa" true
says ' open openssh .*known:1 has its key of a type that libssh2 cannot use$'
run 2 --transport=libssh2 "$to_rsa" true
says 'remedy .*--ssh=auto'
knows "$base" host >"$work/known"
run 0 "$to" true
says ' open libssh2$'
config "IdentityFile $work/mine-rsa"
run 0 "$to" true
says ' open openssh libssh2 cannot use the type of .*mine-rsa$'
config "IdentityFile $work/certified"
run 0 "$to" true
says ' open openssh a certificate .*certified-cert.pub$'
config "IdentityFile $work/mine" 'Host behind' 'HostName 127.0.0.1' "Port $base" 'ProxyJump jump' 'Host jump' 'HostName 127.0.0.1' "Port $((base + 1))"
{ knows "$base" host; knows $((base + 1)) host; } >"$work/known"
run 0 behind 'echo behind'
says ' open openssh ssh_config leads to it by another host \(jump\)$'
says ' out behind$'
# libssh2 knows nothing of RevokedHostKeys: ssh judges the key
knows "$base" host >"$work/known"
config "RevokedHostKeys $work/host.pub"
run 2 "$to" true
says 'fault key-revoked'
run 2 --transport=libssh2 "$to" true
says 'libssh2 cannot serve it: ssh_config judges its key by RevokedHostKeys'
config "RevokedHostKeys $work/wrong.pub"
run 0 "$to" true
says ' open openssh ssh_config judges its key by RevokedHostKeys$'

# ---- keys ----
config "IdentityFile $work/mine-ec"
run 0 "$to" true
says ' open libssh2$'
for transport in libssh2 openssh; do
    config "IdentityFile $work/wrong"
    run 2 --transport=$transport "$to" true
    says 'fault login'
    says 'remedy .*ssh-copy-id'
done
run 2 --transport=libssh2 "$to" true
says "tried: ED25519 $(print_of wrong)"
eval "$(ssh-agent -a "$work/agent")" >/dev/null
others+=("$SSH_AGENT_PID")
for agent_key in mine mine-ec mine-rsa; do
    ssh-add -q "$work/$agent_key"
    config 'IdentityFile none' 'IdentityAgent SSH_AUTH_SOCK'
    run 0 --transport=libssh2 "$to" "echo by the agent"
    says ' out by the agent$'
    ssh-add -q -D
done
# five keys, and only the one of IdentityFile is right
for number in 1 2 3 4; do
    key extra$number ed25519
    ssh-add -q "$work/extra$number"
done
ssh-add -q "$work/mine"
run 2 --transport=libssh2 "$to" true
says 'remedy .*1 more were not tried'
config "IdentityFile $work/mine" 'IdentityAgent SSH_AUTH_SOCK'
run 0 --transport=libssh2 "$to" true
# an agent that does not answer holds up nobody else; it is waited for
knows $((base + 1)) host >>"$work/known"
kill -STOP "$SSH_AGENT_PID"
config "Host agent" 'HostName 127.0.0.1' 'HostKeyAlias alias' 'IdentityAgent SSH_AUTH_SOCK' 'Host *' 'IdentityAgent none' "IdentityFile $work/mine"
echo "alias $(cut -d' ' -f1,2 "$work/host.pub")" >>"$work/known"
: >"$work/out"
"$EDL_BUILD_DIR/tests/lib/ssh_run" --patience=20 --config="$work/config" --known-hosts="$work/known" --transport=libssh2 \
    "$me@agent:$base" "$to" 'echo here' >"$work/out" 2>&1 &
running=$!
await 120 'the other host is served' while_runs "$running" grep -q "^$to end 0" "$work/out"
says_not "^$me@agent"
kill -CONT "$SSH_AGENT_PID"
wait $running || fail 'the agent went on, and the session did not'
says "^$me@agent:$base end 0"
unset SSH_AUTH_SOCK SSH_AGENT_PID

# ---- host keys that are not right ----
config
for transport in auto openssh; do
    { knows "$base" wrong; knows $((base + 5)) mine-rsa; } >"$work/known"
    run 2 --transport=$transport "$to" true
    says 'fault key-changed'
    says "ED25519 $(print_of host) instead of $(print_of wrong) in $work/known:1"
    says "remedy .*ssh-keygen -f '$work/known' -R '\[127.0.0.1\]:$base'"
    run 2 --transport=$transport "$to_rsa" true
    says 'fault key-changed'
    { knows "$base" host; echo "@revoked * $(cut -d' ' -f1,2 "$work/host.pub")"; } >"$work/known"
    run 2 --transport=$transport "$to" true
    says 'fault key-revoked'
    says "revoked in $work/known:2"
done
knows "$base" host-rsa >"$work/known"
run 2 "$to" true
says 'fault key-unknown'

# ---- no server, or none that speaks ----
knows "$base" host >"$work/known"
run 2 "$me@127.0.0.1:$((base + 6))" true
says 'fault connect'
says "nobody listens at port $((base + 6))"
run 2 "$me@nosuch.invalid:22" true
says 'fault resolve'
run 2 -- '-oProxyCommand=x:1' true
says 'fault target'
"$python" -c 'import signal, socket, sys
silent = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("listens", flush=True)
signal.pause()' $((base + 7)) >"$work/silent" &
others+=($!)
await 120 'the silent one listens' test -s "$work/silent"
patience=0.05 run 2 --transport=libssh2 "$me@127.0.0.1:$((base + 7))" true
says 'fault protocol'
says 'no ssh server, or it hangs'
# a login that prints without end
server endless host $((base + 12)) 'ForceCommand yes endless'
knows $((base + 12)) host >"$work/known"
run 2 --transport=libssh2 "$me@127.0.0.1:$((base + 12))" true
says 'fault protocol'
says 'prints without end, and no script begins: endless'
echo nonsense >"$work/config"
run 2 "$to" true
says 'fault here'
says 'ssh -G: .*config'
config

# ---- twenty sessions at five ports, in one loop, with 5 MB in all ----
head -c 250000 /dev/urandom >"$work/piece"
sum=$(sha256sum <"$work/piece")
targets=()
for number in 0 1 2 3 4; do
    knows $((base + number)) host
    for _ in 1 2 3 4; do targets+=("$me@127.0.0.1:$((base + number))"); done
done >"$work/known"
run 0 --transport=libssh2 --input="$work/piece" "${targets[@]}" sha256sum
[ "$(grep -c " out $sum\$" "$work/out") $(grep -c ' end 0$' "$work/out")" = '20 20' ] || fail 'twenty sessions'

# ---- passwords, with accounts that exist here only ----
if [ "${EDL_SSH_PART:-}" = root ]; then
    echo right >"$work/right"
    echo not it >"$work/not-it"
    server password host $((base + 8)) 'UsePAM no' 'PasswordAuthentication yes' 'KbdInteractiveAuthentication no'
    server prompt host $((base + 9)) 'UsePAM yes' 'PasswordAuthentication no' 'KbdInteractiveAuthentication yes'
    { knows $((base + 8)) host; knows $((base + 9)) host; } >"$work/known"
    config "IdentityFile $work/wrong"
    for transport in libssh2 openssh; do
        for port in $((base + 8)) $((base + 9)); do
            run 0 --transport=$transport --password-file="$work/right" "$account@127.0.0.1:$port" 'id -un'
            says ' password 0$'
            says " out $account\$"
            run 2 --transport=$transport --password-file="$work/not-it" "$account@127.0.0.1:$port" 'id -un'
            says ' password 1$'
            says 'fault login'
        done
        run 2 --transport=$transport --password-file="$work/right" "$account-none@127.0.0.1:$((base + 8))" 'id -un'
        says 'fault login'
        says 'may run no command there: This account is currently not available'
    done
    # a wrong password where ssh may ask for it twice: the second answer is not waited for
    server two host $((base + 11)) 'UsePAM yes' 'PasswordAuthentication yes' 'KbdInteractiveAuthentication yes'
    knows $((base + 11)) host >"$work/known"
    for transport in libssh2 openssh; do
        run 0 --transport=$transport --password-file="$work/right" "$account@127.0.0.1:$((base + 11))" true
        run 2 --transport=$transport --password-file="$work/not-it" "$account@127.0.0.1:$((base + 11))" true
        says ' password 1$'
        says 'fault login'
    done
    # a key and a password
    server both host $((base + 10)) 'UsePAM no' 'PasswordAuthentication yes' 'AuthenticationMethods publickey,password'
    knows $((base + 10)) host >"$work/known"
    config
    for transport in libssh2 openssh; do
        run 0 --transport=$transport --password-file="$work/right" "$account@127.0.0.1:$((base + 10))" true
        says ' password 0$'
    done
fi
await 120 'no folder of ssh is left' none_left
stop
none_runs() { ! pgrep -f "$work/" >/dev/null; }
await 120 'no process is left' none_runs
