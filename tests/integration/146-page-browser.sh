#!/usr/bin/env bash
# The page in a browser: a cluster without jobs, the five that come while somebody looks, one of them, and its node; on a wide
# window and on a phone. Nothing fails, no script throws, and the policy is not broken. As root the browser runs as an ordinary account.
# Takes 6 s: begins a cluster and a browser
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
"$python" -B "$EDL_SOURCE_DIR/tests/lib/browser.py" --is-there 2>&1 || exit 77
begin scheduler "listening on" edl-scheduler --state-dir "$work/state" --listen 127.0.0.1:0 --port-file "$work/port" --lease 60s
EDL_SERVER=http://$(cat "$work/port")
export EDL_SERVER EDL_TOKEN_FILE=$work/state/admin-token
as_root=''
[ "$(id -u)" != 0 ] || as_root=--allow-root
for node in n1 n2; do
    # shellcheck disable=SC2086
    begin $node "joined as $node" edl-agent --conf '' --node $node --scheduler "$EDL_SERVER" --join-token-file "$work/state/join-token" --state-dir "$work/$node" \
        --runtime direct --heartbeat 500ms --no-foreign --cpu 1 --memory 1Gi --gpus 2 --label rack=7 --stop-processes-on-exit $as_root
done
chmod 711 "$work"
install -d -m 777 "$work/looks"
as_other=''
if [ "$(id -u)" = 0 ]; then as_other='setpriv --reuid=65534 --regid=65534 --clear-groups'; fi
# shellcheck disable=SC2086
EDL_TOKEN=$(<"$EDL_TOKEN_FILE") PYTHONPATH=$EDL_SOURCE_DIR/tests/lib timeout 300 $as_other "$python" -B - "$EDL_SERVER" "$work/looks" <<'PYTHON' || fail "see above"
import json
import os
import sys
import urllib.request

from browser import Browser

server, folder = sys.argv[1:]
token = os.environ["EDL_TOKEN"]
FAULTS = {
    "throw new Error('nobody catches it')": "uncaught: Error: nobody catches it",
    "Promise.reject(new Error('nobody waits for it'))": "uncaught: Error: nobody waits for it",
    "console.error('said so')": "console: said so",
    "document.body.innerHTML = '<p>text</p>'": "policy: require-trusted-types-for",
    "document.body.setAttribute('style', 'color: red')": "policy: style-src-attr",
    "new Image().src = 'http://127.0.0.2/x.png'": "policy: img-src http://127.0.0.2/x.png",
    "fetch('none')": "status 404: " + server + "/none",
}
browser = Browser(folder + "/profile")


def submit(name, **gpus):
    document = {"metadata": {"name": name}, "spec": {"trainer": {"entrypoint": "exec sleep 1000", "resources": {"requests": {"cpu": "50m", "memory": "16Mi", **gpus}}}}}
    call("POST", "/jobs", document)


def submit_trial(number, value):
    told = {"search": "sweep", "trial": number, "rung": 0, "metric": "score", "direction": "maximize", "parameters": {"lr": value, "kind": "<b>"}}
    figures = {"score": value, "_curve": [[1, value / 2], [2, value]]}
    tell = f"curl -sS --unix-socket $EDL_SOCKET --data '{json.dumps(figures)}' http://agent/jobs/self/metrics; exec sleep 1000"
    call("POST", "/jobs", {"metadata": {"name": f"sweep-{number}"}, "spec": {"env": {"EDL_TRIAL": json.dumps(told)}, "trainer": {
        "entrypoint": tell, "resources": {"requests": {"cpu": "50m", "memory": "16Mi"}}}}})


def call(method, path, body):
    head = {"Authorization": "Bearer " + token, "Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(server + path, None if body is None else json.dumps(body).encode(), head, method=method), timeout=60) as answer:
        return json.load(answer)


def check(page, name):
    page.screenshot(f"{folder}/{name}.png")
    assert page.overflow() == 0, f"{name}: the page is {page.overflow()} pixels wider than its window"
    assert page.errors == [], f"{name}: {page.errors}"


with browser:
    pages = {width: browser.open(server + "/", width=width, height=800, token=token) for width in (1280, 390)}
    for width, page in pages.items():
        page.wait_text("#summary", "2 of 2 nodes ready")
        page.wait_text("#link", "live")
        page.wait("document.querySelectorAll('#nodes tr').length === 2")
        page.wait_text("#jobs-none", "There is none")
        assert page.count("#jobs tr") == 0, page.all_text()
        check(page, f"none-{width}")
    for number in range(5):
        submit(f"sleeper-{number}", **({"gpu": 1} if number == 4 else {}))
    for width, page in pages.items():
        page.wait("document.querySelectorAll('#jobs tr').length === 5")
        page.wait("[...document.querySelectorAll('#jobs tr')].every(row => row.innerText.includes('running'))")
        assert not page.is_shown("#jobs-none"), page.all_text()
        check(page, f"five-{width}")
        page.click("#jobs a")
        page.wait_text("#job-name", "sleeper-")
        page.wait_text("#processes", "running")
        assert not page.is_shown("#overview"), page.all_text()
        check(page, f"job-{width}")
    # the node of the process with a GPU, from the table of nodes; what happens to it is seen as it happens
    node = call("GET", "/jobs/sleeper-4/processes", None)["processes"][0]["node"]
    for width, page in pages.items():
        page.go(server + "/#/")
        page.wait_text("#nodes", node)
        page.click(f"#nodes a[href$={node}]")
        page.wait_text("#node-name", node)
        page.wait_text("#node-facts", "rack=7")
        page.wait_text("#node-facts", "Agent")
        page.wait_text("#node-use", "of 1")
        page.wait_text("#node-gpus tr", "sleeper-4 trainer-0 of admin")
        page.wait_text("#node-processes tr", "sleeper-4")
        page.wait_text("#node-events", "joined with 1000m CPU")
        assert not page.is_shown("#overview") and not page.is_shown("#one-job"), page.all_text()
        check(page, f"node-{width}")
    call("PATCH", f"/nodes/{node}", {"state": "cordoned"})
    for page in pages.values():
        page.wait_text("#node-state", "cordoned")
        page.wait_text("#node-events", "node-cordoned")
    # a search: its trials, the best first, as their metric comes
    submit_trial(1, 0.25)
    submit_trial(2, 0.75)
    call("PATCH", f"/nodes/{node}", {"state": "ready"})
    for width, page in pages.items():
        page.go(server + "/#/jobs/sweep-1")
        page.wait_text("#job-facts", "sweep, trial 1")
        page.click("#job-facts a[href$=sweep]")
        page.wait_text("#search-said", "2 trials of admin, 0 of them over")
        page.wait("document.querySelectorAll('#trials polyline').length === 2")
        page.wait_text("#trials tr", "lr 0.75, kind <b>")
        page.wait("document.querySelectorAll('#search-values polyline').length === 2 && document.querySelectorAll('#search-times circle').length === 2")
        page.wait_text("#search-values", "<b>")
        assert not page.is_shown("#one-job"), page.all_text()
        check(page, f"search-{width}")
    # what it would have seen
    for fault, seen in FAULTS.items():
        page.evaluate(f"setTimeout(() => {{ {fault} }}) && null")
        browser.until(lambda seen=seen: any(seen in error for error in page.errors), f"{seen}: {page.errors}")
PYTHON
[ "$(find "$work/looks" -name '*.png' -size +8k | wc -l)" = 10 ] || fail "pictures: $(ls -l "$work/looks")"
# what the browser began has ended with it
if pgrep -af -- "$work/looks/profile"; then fail "see above: it was left behind"; fi
echo "the page in a browser: all good"
