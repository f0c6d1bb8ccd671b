# shellcheck shell=bash
# units.sh - the daemons as units of a machine of machines.sh, with the files of the checkout and the programs that were built
#
#   . "$EDL_SOURCE_DIR/tests/lib/units.sh"
#   units_start n1                                 # scheduler and agent; edl in it asks this scheduler
#   units_cluster n1 n2 n3                         # boots them, whose names nobody resolves: a scheduler on the first, over TLS, and an agent of
#                                                  # two cores on each that has joined it. edl and api ask that scheduler
on_fail() {
    for machine in "${!machine_pid[@]}"; do machine_in "$machine" sh -c 'systemctl --failed --no-legend --no-pager; journalctl --no-pager -o short-precise -n 60'; done
}

units_install() { # NAME: as make install would, with /usr for the prefix and /etc for conf
    tar -C "$EDL_SOURCE_DIR/units" -c . | machine_in "$1" sh -c 'mkdir /run/units && tar -x -C /run/units'
    # shellcheck disable=SC2016
    machine_in "$1" sh -ec '
        cd /run/units
        for unit in edl-scheduler edl-agent; do
            sed -e "s|@bindir@|/opt/edl/bin|g" -e "s|@sysconfdir@|/etc|g" $unit.service.in >/etc/systemd/system/$unit.service
        done
        cp edl-scheduler.socket /etc/systemd/system
        install -D edl-scheduler.sysusers /usr/lib/sysusers.d/edl-scheduler.conf
        install -D edl-scheduler.tmpfiles /usr/lib/tmpfiles.d/edl-scheduler.conf
        install -D -t /usr/lib/systemd/catalog *.catalog
        install -D -m 644 -t /etc/edl agent.conf scheduler.conf
        install -D -m 644 -t /etc/edl/agent.conf.d 10-this-machine.conf
        mkdir -p /etc/edl/scheduler.conf.d
        echo "default-cpu: 100m" >/etc/edl/scheduler.conf.d/small-jobs.conf
        systemd-sysusers
        systemd-tmpfiles --create edl-scheduler.conf
        journalctl --update-catalog
        systemctl daemon-reload'
}

units_start() { # NAME
    units_install "$1" || fail 'the units cannot be installed'
    machine_in "$1" systemctl start edl-scheduler edl-agent || fail 'they do not start'
}

edl() { machine_in "$units_scheduler" env EDL_SERVER=unix:/run/edl/scheduler.sock edl "$@"; }
api() { # METHOD PATH [ARGUMENT...]
    machine_in "$units_scheduler" curl -sS --fail-with-body -m 20 --unix-socket /run/edl/scheduler.sock -X "$1" "http://localhost$2" "${@:3}"
}
units_ready() { [ "$(api GET /nodes | jq '[.nodes[] | select(.state == "ready")] | length')" = "$1" ]; }

units_join() { # NAME
    local token joining
    token=$(api POST /tokens/join -d '{}') || return 1
    machine_in "$1" sh -c 'rm -f /etc/edl/agent.conf.d/10-this-machine.conf; mkdir -p /etc/edl/agent.conf.d
        printf "no-foreign: true\ncpu: 2\nmemory: 2Gi\n" >/etc/edl/agent.conf.d/own.conf'
    machine_in "$1" edl-agent --join "$(jq -r .server <<<"$token")" --token "$(jq -r .token <<<"$token")" --ca-pin "$(jq -r .ca_pin <<<"$token")" &
    joining=$!
    await 300 "$1 has joined" machine_in "$1" test -s /var/lib/edl/agent/credential
    machine_in "$1" pkill -x edl-agent
    wait $joining && machine_in "$1" systemctl start edl-agent
}

units_cluster() { # NAME...
    local name
    units_scheduler=$1
    machine_boot "$@"
    for name in "$@"; do
        # as Debian has it: each its own as 127.0.1.1
        machine_in "$name" sh -c 'printf "127.0.0.1 localhost\n127.0.1.1 %s\n" "$(hostname)" >/etc/hosts'
        units_install "$name" || fail "the units cannot be installed on $name"
    done
    # shellcheck disable=SC2016
    machine_in "$1" sh -c 'mkdir -p /etc/edl/scheduler.conf.d; echo "name: [$1]" >/etc/edl/scheduler.conf.d/own.conf; systemctl start edl-scheduler' sh "${machine_address[$1]}" ||
        fail 'the scheduler does not start'
    for name in "$@"; do units_join "$name" || fail "$name does not join"; done
    await 300 "$# machines are nodes" units_ready $#
}
