# SPDX-License-Identifier: Apache-2.0
"""report_gaps.py - how long a node was silent at most, as its scheduler heard it

    report_gaps.py URL TOKEN-FILE NODE FILE

Asks ten times a second when the node reported last, until FILE is there. Then prints one object: the reports that it saw and the
greatest time between two that followed each other. A report that came between two questions only makes a gap seem longer.
"""
import http.client
import json
import os
import sys
import time
import urllib.parse

EVERY_S = 0.1


def main():
    url, token_file, node, end = sys.argv[1:]
    with open(token_file, encoding="ascii") as file:
        headers = {"Authorization": "Bearer " + file.read().strip()}
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=120)
    heard = []
    while not os.path.exists(end):
        time.sleep(EVERY_S)
        connection.request("GET", "/nodes/" + node, headers=headers)
        answer = json.loads(connection.getresponse().read())
        last = answer.get("node", answer)["last_report_us"]
        if not heard or heard[-1] != last:
            heard.append(last)
    gaps = [after - before for before, after in zip(heard, heard[1:])]
    print(json.dumps({"reports": len(heard), "longest_ms": max(gaps, default=0) // 1000}))


main()
