#!/usr/bin/env bash
# 64 MB each way through a session, plain and with TLS; 400 sessions at once; and through nginx as a proxy that does not buffer
# Runs at night, and for scheduler/nodes/: moves gigabytes
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
ulimit -n "$(ulimit -Hn)"
[ "$(ulimit -n)" = unlimited ] || [ "$(ulimit -n)" -ge 8192 ] || { echo "400 sessions need 8,192 open files, and the limit is $(ulimit -n)"; exit 77; }
begin scheduler "known nodes" edl-scheduler --conf '' --state-dir "$work/state" --lease 600s --listen 127.0.0.1:0 --listen https://127.0.0.1:0
address() { sed -n "s,.*listening on \($1[^ ,]*\).*,\1,p" "$work/scheduler.log"; }
play() { # URL TEST...
    "$python" "$EDL_SOURCE_DIR/tests/lib/session_relay.py" "$work/state" "$@" || fail "see above"
}
for scheme in http:// https://; do EDL_SESSION_BYTES=$((64 << 20)) play "$(address $scheme)" test_bytes_arrive_both_ways; done
play "$(address http://)" 'heavy_*'

nginx=$(command -v nginx || true)
[ -n "$nginx" ] || { echo "nginx is not installed; all else has passed"; exit 77; }
port=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat >"$work/nginx.conf" <<END
daemon off;
error_log stderr notice;
pid $work/nginx.pid;
events {}
http {
    access_log off;
    client_body_temp_path $work/nginx-body;
    proxy_temp_path $work/nginx-proxy;
    fastcgi_temp_path $work/nginx-fastcgi;
    uwsgi_temp_path $work/nginx-uwsgi;
    scgi_temp_path $work/nginx-scgi;
    server {
        listen 127.0.0.1:$port;
        client_max_body_size 0;
        location / {
            proxy_pass $(address http://);
            proxy_http_version 1.1;
            proxy_buffering off;
            proxy_request_buffering off;
            proxy_read_timeout 60s;
        }
    }
}
END
begin nginx "start worker process" "$nginx" -p "$work" -c "$work/nginx.conf"
EDL_SESSION_BYTES=$((64 << 20)) play "http://127.0.0.1:$port" test_bytes_arrive_both_ways test_a_slow_writer test_a_slow_reader_stops_the_writer
