"""Plays the driver of elastic Horovod: asks the discovery script again and again, keeps the ranks of hosts that stay.

    horovod_driver.py SECONDS COMMAND...      asks every SECONDS; a line whenever its hosts are others

A line tells the hosts in the order of their ranks. An answer that is not HOST:SLOTS, or a script that fails, is a line as well."""

import subprocess
import sys
import time


def ask(command):
    """{host: slots}, or a text of what is wrong."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return f"failed {done.returncode}: {done.stderr.strip()}"
    hosts = {}
    for line in done.stdout.splitlines():
        host, colon, slots = line.rpartition(":")
        if not (colon and host and slots.isdigit() and host not in hosts):
            return f"no host: {line!r}"
        hosts[host] = int(slots)
    return hosts


def main():
    pause_s, command = float(sys.argv[1]), sys.argv[2:]
    ranked, told = {}, None
    while True:
        found = ask(command)
        if isinstance(found, dict):
            stay = [host for host in ranked if host in found]
            ranked = {host: found[host] for host in stay + [host for host in found if host not in stay]}
            found = " ".join(f"{host}:{slots}" for host, slots in ranked.items())
        if found != told:
            print(f"hosts {found}", flush=True)
            told = found
        time.sleep(pause_s)  # as the driver does, once a second


main()
