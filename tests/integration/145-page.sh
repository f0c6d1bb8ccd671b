#!/usr/bin/env bash
# The page at "/": every part is served as what it is, to be kept and asked for again; it brings nothing along and loads
# nothing from elsewhere; and it calls only what the API has.
# Takes 12 s: asks for each part of the page five times, a program each
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
web=$EDL_SOURCE_DIR/scheduler/web
begin scheduler "listening on" edl-scheduler --state-dir "$work/state" --listen 127.0.0.1:0 --port-file "$work/port"
server=http://$(cat "$work/port")

ask() { # STATUS PATH [CURL ARGUMENTS...]: the answer is in $work/answer, its headers in $work/headers
    local wanted=$1 path=$2 status
    shift 2
    rm -f "$work/answer"
    status=$(curl -sS --path-as-is -o "$work/answer" -D "$work/headers" -w '%{http_code}' "$@" "$server$path")
    [ "$status" = "$wanted" ] || fail "$path: status $status instead of $wanted: $(cat "$work/answer")"
}
header() { # NAME: its value; a shell alone is quick enough for hundreds of them
    local line
    while IFS= read -r line; do
        line=${line%$'\r'}
        case ${line,,} in "${1,,}: "*) echo "${line#*: }" ;; esac
    done <"$work/headers"
}
says() { # HEADER VALUE
    [ "$(header "$1")" = "$2" ] || fail "$path: $1 is \"$(header "$1")\" instead of \"$2\""
}

# --- every part is served as it is in the source, with its type, to whoever asks ---

declare -A types=([html]='text/html; charset=utf-8' [css]='text/css; charset=utf-8' [js]='text/javascript; charset=utf-8'
    [svg]='image/svg+xml')
for file in "$web"/*.html "$web"/*.css "$web"/*.js "$web"/*.svg; do
    name=${file##*/} path=/web/${file##*/}
    [ "$name" != index.html ] || path=/
    ask 200 "$path"
    cmp "$file" "$work/answer" || fail "$path is not $name"
    says Content-Type "${types[${name##*.}]}"
    says X-Content-Type-Options nosniff
    says Cache-Control no-cache
    says Referrer-Policy no-referrer
    policy=$(header Content-Security-Policy)
    for word in "default-src 'none'" "script-src 'self'" "frame-ancestors 'none'" "base-uri 'none'" "form-action 'none'" \
        "require-trusted-types-for 'script'"; do
        case "; $policy;" in *"; $word;"*) ;; *) fail "$path: the policy lacks $word: $policy" ;; esac
    done
    case $policy in *unsafe* | *http* | *\** | *data:*) fail "$path: the policy is wide: $policy" ;; esac
    tag=$(header ETag)
    ask 304 "$path" -H "If-None-Match: $tag"
    [ ! -s "$work/answer" ] || fail "$path: 304 with a body"
    says ETag "$tag"
    ask 304 "$path" -H "If-None-Match: \"x\", W/$tag"
    ask 200 "$path" -H 'If-None-Match: "x"'
    ask 200 "$path" --head
    says Content-Length "$(stat -c %s "$file")"
done
for path in /web/index.html /web/ /web /web/none.js /web/../web.c /web/%2e%2e%2fweb.c /web/README.md /web/page.js/x //; do
    ask 404 "$path"
    says Content-Type application/problem+json
done
ask 405 / -d x
ask 400 '/?token=x'

# --- what refers to a part refers to one that is there ---

refers() { grep -oE '(src|href)="web/[^"]*"' "$web/index.html" | sed 's/.*web\///; s/"//' && sed -nE 's/.* from "\.\/([^"]*)".*/\1/p' "$web"/*.js; }
refers | sort -u >"$work/parts"
[ "$(wc -l <"$work/parts")" -ge 8 ] || fail "parts: $(cat "$work/parts")"
while read -r part; do case $part in lib/chart.min.js) ;; *) [ -f "$web/$part" ] || fail "there is no $part" ;; esac done <"$work/parts"
for file in "$web"/*.js "$web"/*.css "$web"/*.svg; do
    grep -qx "${file##*/}" "$work/parts" || fail "nobody asks for ${file##*/}"
done
# and to an element that is there
sed -nE 's/.*byId\("([^"]*)"\).*/\1/p' "$web"/*.js | sort -u | while read -r id; do
    grep -q "id=\"$id\"" "$web/index.html" || fail "index.html has no $id"
done

# --- it calls only what the API has, by GET but for signing in and out, and all of it through one door ---

{ echo '{' && sed '1,/^export const calls/d; /^};/d' "$web/calls.js" && echo '}'; } | jq . >"$work/calls"
curl -sS "$server/openapi.json" >"$work/api"
jq -r --slurpfile api "$work/api" 'to_entries[] | .key as $call | .value as $v | $api[0].paths[$v.path][($v.method // "GET") | ascii_downcase] as $get |
    if $get == null then "\($call): there is no \($v.method // "GET") \($v.path)" else
    ($v.query - [$get.parameters[] | select(.in == "query") | .name])[] | "\($call): \($v.path) does not know the query key \(.)" end' \
    "$work/calls" >"$work/wrong"
[ ! -s "$work/wrong" ] || fail "$(cat "$work/wrong")"
jq -r 'keys[]' "$work/calls" | sort >"$work/known"
grep -oE '\b(get|open|send)\("[a-zA-Z]*"' "$web"/*.js | sed 's/.*"\(.*\)"/\1/' | sort -u >"$work/made"
diff "$work/known" "$work/made" || fail "calls.js and the calls that are made differ"
[ "$(grep -l 'fetch(' "$web"/*.js)" = "$web/api.js" ] || fail "fetch( is in $(grep -l 'fetch(' "$web"/*.js)"
[ "$(grep -l 'method:' "$web"/*.js)" = "$web/api.js" ] || fail "method: is in $(grep -l 'method:' "$web"/*.js)"
jq -r 'to_entries[] | select(.value.method) | "\(.value.method) \(.value.path)"' "$work/calls" | sort >"$work/changes"
[ "$(paste -sd, "$work/changes")" = 'DELETE /tokens/{token},POST /login' ] || fail "the page changes something: $(cat "$work/changes")"
if grep -nE 'XMLHttpRequest|sendBeacon|EventSource\(|WebSocket\(' "$web"/*.js; then fail "there is another door"; fi

# --- what it says is text; the lint knows how else it could be ---

(cd "$EDL_SOURCE_DIR" && tests/lint/web) || fail "see above"
if command -v node >/dev/null && [ "$(node -p 'parseInt(process.versions.node)')" -ge 18 ]; then
    mkdir "$work/node"
    cp "$web"/*.js "$work/node" # beside a word of what they are: Node.js 18 would take them for something else
    echo '{"type": "module"}' >"$work/node/package.json"
    node "$EDL_SOURCE_DIR/tests/lib/page_test.mjs" "$work/node" || fail "see above"
else
    echo "the page's own functions were not run: there is no Node.js"
fi
echo "page: all good"
