#!/usr/bin/env bash
# More machines join at once than one caller may have connections: all are let in, over connections that they keep.
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
machines=400

ulimit -n 1024 # of which an eighth may be one caller's connections
begin scheduler policy edl-scheduler --conf '' --state-dir "$work/state" --listen 127.0.0.1:0
address=$(cat "$work/state/address")
"$python" - "$address" "$work/state/join-token" $machines <<'PY' || fail 'not all machines were let in'
import http.client
import json
import sys

address, token_file, machines = sys.argv[1], sys.argv[2], int(sys.argv[3])
token = open(token_file, encoding='ascii').read().strip()
offer = {'address': '127.0.0.1', 'cpu_millicores': 1000, 'memory_bytes': 1 << 30, 'gpus': 0, 'port_first': 20000, 'port_last': 29999,
         'numa_nodes': 1, 'labels': {}}
kept = []
for n in range(machines):
    connection = http.client.HTTPConnection(address, timeout=60)
    connection.request('POST', '/nodes/join', json.dumps({**offer, 'node': f'a{n}'}), {'Authorization': f'Bearer {token}'})
    answer = connection.getresponse()
    body = answer.read()
    if answer.status != 201:
        sys.exit(f'machine {n}: {answer.status} {body.decode()}')
    kept.append(connection)
print(f'{len(kept)} machines have joined and hold their connections')
PY
