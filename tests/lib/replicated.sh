# shellcheck shell=bash disable=SC2154
# replicated.sh - three machines with packages, n1 to n3, on which docs/replicated.md is typed; two schedulers then, on n1 and n2, three
# nodes, and a job of processes that say that they act. After packages.sh, machines.sh and blocks.sh.
#
#   replicated_boot                 # the three machines, with the apt repository
#   replicated_type HEADING...      # the blocks of the document below those headings are typed: n1 leads, n2 stands by
#   replicated_run N [CPU]          # n2 and n3 join; the job "many" has N processes of that size, all of which run
#   undisturbed WHAT                # all of them go on, and are those of $before
#   work NAME, all_there            # a job that is acknowledged; all of those are there
machines_all='n1 n2 n3'
servers=https://10.77.0.11:7010,https://10.77.0.12:7010 # whom people ask: both, in turn
copy_name=edl job='' before='' acknowledged='' processes=0
on() { machine_in "$1" env HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin "${@:2}"; } # what is installed, not what was built
on_fail() {
    local name
    for name in "${!machine_pid[@]}"; do
        echo "== $name"
        on "$name" sh -c 'journalctl --no-pager -o short-precise -n 30 -u "edl*" -u patroni -u etcd; tail -n 15 /var/log/postgresql/*.log; edl nodes; edl ps --all | tail -n 20' || true
    done
}
began=$EPOCHREALTIME
passed() { echo "$(awk "BEGIN { printf \"%6.1f\", $EPOCHREALTIME - $began }") s: $1"; }
since() { awk "BEGIN { printf \"%.1f\", $EPOCHREALTIME - $1 }"; } # a moment of EPOCHREALTIME

# ---- whom people ask

api() { # METHOD PATH [ARGUMENT...]: of the one that leads
    local server
    for server in ${servers//,/ }; do
        ! curl -sS --fail-with-body --connect-timeout 1 -m 20 --cacert "$machines/ca.pem" -X "$1" "$server$2" -H "Authorization: Bearer $(cat "$machines/admin-token")" "${@:3}" \
            >"$machines/answer" 2>"$machines/why" || { cat "$machines/answer" && return 0; }
    done
    return 1
}
submit() { # DOCUMENT on stdin, with a key: asked again until it is taken
    local document key
    document=$(cat) key=$(cat /proc/sys/kernel/random/uuid)
    taken() { api POST /jobs -H 'Content-Type: application/json' -H "Idempotency-Key: $key" --data-binary "$document" >"$machines/taken"; }
    await 300 'it is taken' taken
}
live() { # JOB: its processes that run: INDEX NODE PID INCARNATION
    api GET "/jobs/$1/processes?state=live" | jq -r '.processes[] | select(.state == "running") | "\(.index) \(.node) \(.pid) \(.incarnation)"' | sort -n
}
has_live() { [ "$(live "$1" | wc -l)" = "$2" ]; }
ready() { [ "$(api GET /nodes | jq '[.nodes[] | select(.state == "ready")] | length')" = "$1" ]; }
role() { curl -sS --connect-timeout 1 -m 5 --cacert "$machines/ca.pem" "https://${machine_address[$1]}:7010/healthz" 2>/dev/null | jq -r .role; }
role_is() { [ "$(role "$1")" = "$2" ]; }
work() { # NAME: a job that is acknowledged
    submit <<<"{\"name\": \"$1\", \"roles\": [{\"role\": \"worker\", \"command\": [\"true\"]}]}"
    acknowledged="$acknowledged $1"
}
is_there() { api GET "/jobs/$1" | holds --arg name "$1" '.job.name // .name == $name'; }
all_there() { # what is over is read beside the loop: that finds the other database some seconds later
    local name
    for name in $acknowledged; do await 300 "$name, which was acknowledged, is there" is_there "$name"; done
}

# ---- what the document says

apt_source() { # NAME FILE
    local built
    built=$(cd "$EDL_BUILD_DIR" && pwd)
    # shellcheck disable=SC2016
    sed "s|$built|/opt/edl/bin|g" "$2" | on "$1" sh -c 'rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/*; cat >/etc/apt/sources.list.d/local.list
        echo "path-include=/usr/share/doc/edl-*" >>/etc/dpkg/dpkg.cfg.d/machines
        echo "APT::Get::Assume-Yes true; Dpkg::Use-Pty false;" >/etc/apt/apt.conf.d/test; apt-get -qq update'
}
setup() { # NAME
    on "$1" sh -ec 'mkdir -p /etc/edl/agent.conf.d
        printf "no-foreign: true\ncpu: 2\nnode: %s\n" "$1" >/etc/edl/agent.conf.d/own.conf
        cat >/usr/local/bin/count; chmod +x /usr/local/bin/count' sh "$1" <"$EDL_SOURCE_DIR/tests/lib/count.pl"
}
replicated_boot() {
    local name
    # shellcheck disable=SC2086
    machine_boot $machines_all
    for name in $machines_all; do apt_source "$name" "$packages.source" || fail "apt update on $name"; done
    for name in $machines_all; do setup "$name"; done
}
replicated_type() { # HEADING...
    blocks docs/replicated.md "$@"
    sed -i "s/ edl sync\$/ $copy_name sync/" "$machines"/blocks/*.text
    run_blocks
    cp "$machines/n1/root/var/lib/edl/scheduler/ca.pem" "$machines/n1/root/var/lib/edl/scheduler/admin-token" "$machines/"
    await 300 'n2 stands by' role_is n2 standby
    role_is n1 leader || fail "n1 is $(role n1)"
    passed 'all that docs/replicated.md says was typed'
}

# ---- three nodes, and processes

join() { # NAME
    local token
    token=$(api POST /tokens/join -d '{}') || return 1
    # what the package of a scheduler says to an agent beside it; this one is to ask all schedulers
    rm -f "$machines/$1/root/etc/edl/agent.conf.d/10-this-machine.conf"
    on "$1" apt-get install -qq --no-install-recommends edl-agent &&
        on "$1" edl-agent --join-only --join "$(jq -r .server <<<"$token")" --token "$(jq -r .token <<<"$token")" --ca-pin "$(jq -r .ca_pin <<<"$token")" &&
        on "$1" systemctl start edl-agent
}
replicated_run() { # PROCESSES [CPU]
    local name
    processes=$1
    for name in n2 n3; do join "$name" >"$machines/said" 2>&1 || fail "$name does not join: $(cat "$machines/said")"; done
    await 300 'three machines are nodes' ready 3
    submit <<END
{"name": "many", "fault_tolerant": true, "roles": [{"role": "worker", "command": ["count"], "min": $processes, "max": $processes, "cpu": "${2:-50m}", "memory": "32Mi"}]}
END
    job=$(jq -r .id "$machines/taken")
    await 300 "$processes processes run" has_live many "$processes"
    before=$(live many)
}
tick() { cat "$machines"/n[123]/root/var/lib/edl/agent/output/"many-$job"/*; } # "INCARNATION PID NUMBER UPTIME"
counted() { tick | awk 'NR == FNR { before[$1 " " $2] = $3; next } { n[$1 " " $2] = $3 } END { for (i in n) if (n[i] > before[i]) further++; print length(n), further + 0 }' "$1" -; }
go_on() { [ "$(counted "$machines/ticks")" = "$processes $processes" ]; }
undisturbed() { # WHAT
    tick >"$machines/ticks"
    await 300 "$1: all processes go on" go_on
    [ "$(live many)" = "$before" ] || fail "$1: $(diff <(echo "$before") <(live many))"
    passed "$1: $processes processes undisturbed"
}
kept_run() { # a condition: all of the processes in $kept run as they did
    [ "$(live many | grep -cxF -f <(echo "$kept"))" = "$(wc -l <<<"$kept")" ]
}
