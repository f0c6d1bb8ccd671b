#!/usr/bin/env bash
# The API is what /openapi.json says: every operation with good and bad calls, every answer held to its schema.
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
work=$(mktemp -d)
mkfifo "$work/log"
"$EDL_BUILD_DIR/edl-scheduler" --state-dir "$work/state" --listen 127.0.0.1:0 --port-file "$work/port" 2>"$work/log" &
pid=$!
trap 'kill "$pid" 2>/dev/null; wait "$pid" || true; rm -rf "$work"' EXIT

# its log says when it listens
exec 7<"$work/log"
while read -r -t 60 line <&7; do
    echo "$line"
    case $line in *"listening on"*) break ;; esac
done
cat <&7 &

python3 "$EDL_SOURCE_DIR/tests/lib/openapi_walk.py" "$(cat "$work/port")" \
    "$work/state/admin-token" "$work/state/join-token"
