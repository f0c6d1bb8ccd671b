# SPDX-License-Identifier: Apache-2.0
"""report_gaps.py - how long a node was silent at most, as its scheduler heard it

    report_gaps.py URL TOKEN-FILE NODE FILE PID...

Asks ten times a second when the node reported last, until FILE is there. Then prints one object: the reports that it saw and the
greatest time between two that followed each other. A report that came between two questions only makes a gap seem longer. For as long
as one of those processes, its agent and its scheduler, waited for a processor, which others had, the node was not silent.
"""
import http.client
import json
import os
import sys
import time
import urllib.parse

EVERY_S = 0.1


def waited_us(processes):
    """Of their main threads, so far."""
    waited_ns = 0
    for process in processes:
        with open(f"/proc/{process}/schedstat", encoding="ascii") as stat:  # ns that it ran, and that it waited
            waited_ns += int(stat.read().split()[1])
    return waited_ns // 1000


def main():
    url, token_file, node, end, *processes = sys.argv[1:]
    with open(token_file, encoding="ascii") as file:
        headers = {"Authorization": "Bearer " + file.read().strip()}
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=120)
    heard = []
    while not os.path.exists(end):
        time.sleep(EVERY_S)
        connection.request("GET", "/nodes/" + node, headers=headers)
        answer = json.loads(connection.getresponse().read())
        last = answer.get("node", answer)["last_report_us"]
        if not heard or heard[-1][0] != last:
            heard.append((last, waited_us(processes)))
    gaps = [after[0] - before[0] - (after[1] - before[1]) for before, after in zip(heard, heard[1:])]
    print(json.dumps({"reports": len(heard), "longest_ms": max(gaps, default=0) // 1000}))


main()
