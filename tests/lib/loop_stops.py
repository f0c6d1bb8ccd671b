#!/usr/bin/env python3
"""loop_stops.py HOST:PORT - how long an event loop stands: asks /healthz every 5 ms until standard input ends

Says "asking" on standard error with the first answer. At the end it prints the longest answers in milliseconds, longest first.
"""
import http.client
import select
import sys
import time

host, port = sys.argv[1].rsplit(":", 1)
times = []
while not select.select([sys.stdin], [], [], 0.005)[0]:
    begun = time.monotonic()
    connection = http.client.HTTPConnection(host, int(port), timeout=60)  # of its own: nobody unknown keeps one
    connection.request("GET", "/healthz")
    connection.getresponse().read()
    connection.close()
    times.append((time.monotonic() - begun) * 1000)
    if len(times) == 1:
        print("asking", file=sys.stderr, flush=True)
print(*(f"{t:.0f}" for t in sorted(times, reverse=True)[:5]), f"of {len(times)}")
