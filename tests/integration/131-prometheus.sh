#!/usr/bin/env bash
# The examples for those who watch: Prometheus as Debian has it reads a scheduler on the packaged port, over TLS, with the token
# of a viewer, and finds what its rules and the dashboard ask for. In a network namespace, where port 7010 is free.
# Takes 16 s: Prometheus starts and reads twice
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
if ! command -v prometheus promtool >/dev/null; then
    echo 'skipped: there is no prometheus here (apt install prometheus)'
    exit 77
fi
. "$EDL_SOURCE_DIR/tests/lib/namespace.sh"
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
examples=$EDL_SOURCE_DIR/conf/examples

begin scheduler "policy" edl-scheduler --state-dir "$work/state" --listen 0.0.0.0:7010 --listen "unix:$work/socket" --lease 60s
export EDL_SERVER=unix:$work/socket EDL_TOKEN_FILE=$work/state/admin-token
begin agent 'joined as n1' edl-agent --conf '' --node n1 --scheduler "unix:$work/socket" --join-token-file "$work/state/join-token" --state-dir "$work/n1" --runtime direct \
    --allow-root --no-foreign --cpu 2 --memory 2Gi
edl group add vision --permille 100
edl user add ann --group vision
edl token create --user ann >"$work/ann"
EDL_TOKEN_FILE=$work/ann edl submit --name hers --cpu 1 -- sleep 1000
await 120 'it runs' job_is hers running

# what the head of the example says is done, as it stands there
umask 077
edl user add prometheus --role viewer
edl token create --user prometheus --note prometheus >"$work/edl-token"
cp "$work/state/ca.pem" "$work/edl-ca.pem"
cp "$examples/alerts.yaml" "$work/"
sed -e "s|/etc/prometheus/|$work/|; s|_interval: .*|_interval: 1s|" "$examples/prometheus.yaml" >"$work/prometheus.yml"
promtool check config "$work/prometheus.yml" || fail 'the example is no configuration'
promtool check rules "$work/alerts.yaml" || fail 'the rules are none'
for path in /metrics /metrics/cluster; do
    curl -sS --fail --cacert "$work/edl-ca.pem" -H "Authorization: Bearer $(cat "$work/edl-token")" "https://127.0.0.1:7010$path" >"$work/figures"
    promtool check metrics <"$work/figures" >"$work/said" 2>&1 || fail "promtool says of $path: $(cat "$work/said")"
done

begin prometheus 'Server is ready to receive web requests' prometheus --config.file="$work/prometheus.yml" \
    --storage.tsdb.path="$work/tsdb" --web.listen-address=127.0.0.1:9090 --log.level=info
asked() { # QUERY: the values of what it finds
    curl -sS --get --data-urlencode "query=$1" http://127.0.0.1:9090/api/v1/query | jq -r '.data.result[] | .value[1]'
}
is() { # QUERY VALUE
    [ "$(asked "$1")" = "$2" ]
}
await 120 'both are read' is 'count(up{job=~"edl|edl-cluster"} == 1)' 2
await 120 'the job is seen' is 'edl_user_cores{user="ann"}' 1
await 120 'its group is seen' is 'edl_group_jobs{group="vision",state="running"}' 1
await 120 'its node is seen' is 'edl_node_cores{node="n1",amount="granted"}' 1
await 120 'the scheduler is seen' is 'edl_jobs{state="running"}' 1
alerts=$(curl -sS http://127.0.0.1:9090/api/v1/rules | jq '[.data.groups[].rules[] | select(.health != "err")] | length')
[ "$alerts" = "$(grep -c 'alert:' "$work/alerts.yaml")" ] || fail "$alerts rules are well"

# each question of the dashboard is one that Prometheus understands
n=0
while IFS= read -r query; do
    curl -sS --get --data-urlencode "query=$query" http://127.0.0.1:9090/api/v1/query | holds '.status == "success"' || fail "the dashboard asks: $query"
    n=$((n + 1))
done < <(jq -r '.panels[].targets[].expr' "$examples/grafana-dashboard.json")
[ "$n" -gt 20 ] || fail "the dashboard asks $n questions"

# a token that was taken away is seen at once as a target that does not answer
edl token remove "$(edl token list --json | jq '.tokens[] | select(.note == "prometheus").id')"
await 120 'it is refused' is 'count(up{job=~"edl|edl-cluster"} == 0)' 2
