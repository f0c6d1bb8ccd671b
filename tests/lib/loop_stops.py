#!/usr/bin/env python3
"""loop_stops.py HOST:PORT PID - how long the event loop of that process stands: asks /healthz every 5 ms until standard input ends

Says "asking" on standard error with the first answer. At the end it prints the longest answers in milliseconds, longest first. For as
long as either of the two waited for a processor, which others had, nobody stood.
"""
import http.client
import select
import sys
import time

host, port = sys.argv[1].rsplit(":", 1)
times = []


def waited_ms():
    """Of both main threads, so far."""
    waited_ns = 0
    for process in ("self", sys.argv[2]):
        with open(f"/proc/{process}/schedstat", encoding="ascii") as stat:  # ns that it ran, and that it waited
            waited_ns += int(stat.read().split()[1])
    return waited_ns / 1e6


while not select.select([sys.stdin], [], [], 0.005)[0]:
    begun, waited = time.monotonic(), waited_ms()
    connection = http.client.HTTPConnection(host, int(port), timeout=60)  # of its own: nobody unknown keeps one
    connection.request("GET", "/healthz")
    connection.getresponse().read()
    connection.close()
    times.append(max(0, (time.monotonic() - begun) * 1000 - (waited_ms() - waited)))
    if len(times) == 1:
        print("asking", file=sys.stderr, flush=True)
print(*(f"{t:.0f}" for t in sorted(times, reverse=True)[:5]), f"of {len(times)}")
