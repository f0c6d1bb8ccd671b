# shellcheck shell=bash
# ssh.sh - the peer of a dispatch: an sshd of our own whose ports stand for machines, in a folder of its own
#
#   . bench/peers/ssh.sh
#   ssh_missing                     what has to be installed; "" nothing
#   ssh_start DIR HOSTS             returns 1 where it cannot
#   ssh_dispatch_script FILE DIR PACKAGE PROGRAM...
#                                   writes a program that copies the package to one machine after the other, and starts the program there
#   ssh_stop
ssh_pid=''
ssh_ports=''

ssh_missing() {
    local program
    for program in /usr/sbin/sshd ssh scp ssh-keygen; do command -v "$program" >/dev/null || { echo "$program" && return; }; done
    [ "$(id -u)" != 0 ] || [ -d /run/sshd ] || echo /run/sshd
}

ssh_answers() { ssh -F "$1/config" host1 true 2>"$1/err"; }

ssh_start() { # DIR HOSTS
    local dir=$1 hosts=$2 i port deadline=$((SECONDS + 60))
    [ -z "$(ssh_missing)" ] || return 1
    mkdir -m 700 "$dir"
    mkdir "$dir/hosts"
    ssh-keygen -q -t ed25519 -N '' -f "$dir/host-key"
    ssh-keygen -q -t ed25519 -N '' -f "$dir/key"
    # the kernel gives nobody a port from below its range
    port=$(($(cut -f1 /proc/sys/net/ipv4/ip_local_port_range) - 2000 + $$ % 1000))
    # SHLVL: bash reads no .bashrc, which may take longer than all the rest
    printf '%s\n' "HostKey $dir/host-key" "AuthorizedKeysFile $dir/key.pub" 'StrictModes no' 'UsePAM no' 'PasswordAuthentication no' \
        'PermitRootLogin prohibit-password' "PidFile $dir/pid" 'MaxStartups 100' 'Subsystem sftp internal-sftp' 'SetEnv SHLVL=1' >"$dir/sshd_config"
    printf '%s\n' "UserKnownHostsFile $dir/known" "IdentityFile $dir/key" 'IdentitiesOnly yes' 'BatchMode yes' 'LogLevel ERROR' >"$dir/config"
    for i in $(seq "$hosts"); do
        echo "ListenAddress 127.0.0.1:$((port + i))" >>"$dir/sshd_config"
        echo "[127.0.0.1]:$((port + i)) $(cut -d' ' -f1-2 "$dir/host-key.pub")" >>"$dir/known"
        printf 'Host host%d\n  HostName 127.0.0.1\n  Port %d\n' "$i" $((port + i)) >>"$dir/config"
        ssh_ports="$ssh_ports $i"
    done
    /usr/sbin/sshd -D -e -f "$dir/sshd_config" 2>"$dir/log" &
    ssh_pid=$!
    until ssh_answers "$dir"; do
        if [ $SECONDS -ge $deadline ] || ! kill -0 "$ssh_pid" 2>/dev/null; then
            cat "$dir/log" "$dir/err" >&2
            return 1
        fi
        read -r -t 0.05 <> <(:) || true
    done
}

# Two connections to each machine, which are the fewest that scp and ssh need.
ssh_dispatch_script() { # FILE DIR PACKAGE PROGRAM...
    local file=$1 dir=$2 package=$3 i
    shift 3
    {
        echo '#!/bin/sh'
        echo 'set -e'
        for i in $ssh_ports; do
            echo "scp -q -r -F '$dir/config' '$package' host$i:'$dir/hosts/$i'"
            echo "ssh -F '$dir/config' host$i 'cd \"$dir/hosts/$i\" && nohup $* >log 2>&1 </dev/null &'"
        done
    } >"$file"
    chmod +x "$file"
}

ssh_stop() {
    [ -n "$ssh_pid" ] || return 0
    kill "$ssh_pid" 2>/dev/null || true
    wait "$ssh_pid" 2>/dev/null || true
    ssh_pid='' ssh_ports=''
}
