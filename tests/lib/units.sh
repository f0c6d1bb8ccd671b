# shellcheck shell=bash
# units.sh - the daemons as units of a machine of machines.sh, with the files of the checkout and the programs that were built
#
#   . "$EDL_SOURCE_DIR/tests/lib/units.sh"
#   units_start n1                                 # scheduler and agent; edl in it asks this scheduler
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
        systemd-sysusers
        systemd-tmpfiles --create edl-scheduler.conf
        journalctl --update-catalog
        systemctl daemon-reload'
}

units_start() { # NAME
    units_install "$1" || fail 'the units cannot be installed'
    machine_in "$1" systemctl start edl-scheduler edl-agent || fail 'they do not start'
}
