#!/usr/bin/env bash
# The API is what /openapi.json says: every operation with good and bad calls, every answer held to its schema.
# Takes 7 s: makes good and bad calls of each operation of the API
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
echo "// a library" >"$work/library.js" # that of the page, as if it were installed
export EDL_CHART_LIBRARY=$work/library.js
begin scheduler "listening on" edl-scheduler --state-dir "$work/state" --listen 127.0.0.1:0 --listen https://127.0.0.1:0
"$python" "$EDL_SOURCE_DIR/tests/lib/openapi_walk.py" "$(sed -n 's,.*listening on http://,,p' "$work/scheduler.log")" \
    "$work/state/admin-token" "$work/state/join-token" || fail "see above"
