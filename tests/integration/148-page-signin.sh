#!/usr/bin/env bash
# Signing a browser in by a code: it stays signed in when it is begun again, can do nothing but look, and is out when the person
# signs out or the token is revoked. Wrong, used and expired codes are refused. The same behind a proxy with a prefix.
# Takes 9 s: begins a browser twice
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
"$python" -B "$EDL_SOURCE_DIR/tests/lib/browser.py" --is-there 2>&1 || exit 77
begin scheduler "listening on" edl-scheduler --state-dir "$work/state" --listen 127.0.0.1:0 --port-file "$work/port" --lease 60s
EDL_SERVER=http://$(cat "$work/port")
export EDL_SERVER EDL_TOKEN_FILE=$work/state/admin-token
edl user add ann >/dev/null 2>&1
edl token create --browser --user ann >"$work/link" 2>"$work/note"
grep -qx "$EDL_SERVER/#/sign-in/[0-9a-f]\{64\}" "$work/link" || fail "the address of the page: $(cat "$work/link")"
grep -q 'it is good once' "$work/note" || fail "the note: $(cat "$work/note")"
PYTHONPATH=$EDL_SOURCE_DIR/tests/lib timeout 300 "$python" -B - "$EDL_SERVER" "$work" <<'PYTHON' || fail "see above"
import json
import subprocess
import sys
import urllib.error
import urllib.request

from browser import Browser
from prefix_proxy import prefix_proxy

server, work = sys.argv[1:]
behind = prefix_proxy(server, "/lab/edl", "/other")
neighbour = behind.replace("/lab/edl", "/other")
SIGNED_IN = "ann (user)"
NO_LONGER = "This browser is signed in no longer: its sign-in was revoked, or has expired."


def edl(*words):
    return subprocess.run(["edl", *words], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=120).stdout.strip()


def tokens():
    return [token for token in json.loads(edl("token", "list", "--json"))["tokens"] if token["user"] == "ann"]


def status(token, method, path, body=None):
    """What the API says to a caller with that token."""
    data = None if body is None else json.dumps(body).encode()
    head = {"Authorization": "Bearer " + token, "Content-Type": "application/json"}
    try:
        with urllib.request.urlopen(urllib.request.Request(server + path, data, head, method=method), timeout=60) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def asks(page, why):
    """It asks who somebody is, says why, and has nothing on it that was for that person."""
    page.wait("document.getElementById('ask').checkVisibility()", what="it asks")
    page.wait_text("#ask", why)
    assert not page.is_shown("#caller") and not page.is_shown("#overview"), page.all_text()
    return page.take_errors()


def refused(page, text, why):
    page.type("#token", text)
    page.click("#sign-in")
    page.wait_text("#ask-why", why)
    page.take_errors()


def kept(page):
    return page.evaluate("JSON.parse(Object.entries(localStorage).map(([key, text]) => text)[0] ?? 'null')")


link = open(work + "/link").read().strip()
code = link.rpartition("/")[2]
with Browser(work + "/profile") as browser:
    # the address fills the form in, and keeps the code no longer; nothing happens before the person wants it
    page = browser.open(link)
    asks(page, "good once")
    history = [entry["url"] for entry in page.call("Page.getNavigationHistory")["entries"]]
    assert history[-1] == server + "/#/" and not any(code in address for address in history), history
    assert len(tokens()) == 1, tokens()
    page.click("#sign-in")
    page.wait_text("#caller-name", SIGNED_IN)
    page.wait_text("#link", "live")
    assert page.text("#forget") == "Sign out", page.text("#forget")
    assert page.errors == [], page.errors
    # a code is good once; one that is none, and one that has expired
    other = browser.open(server + "/#/sign-in/" + code)
    other.wait_text("#trouble", "You are signed in already")
    other.close()
    [one] = tokens()
    assert one["browser"] and not one["login"] and "Chrome" in one["note"] and one["note"].endswith(" on Linux"), one
    days = (one["expires_us"] - one["created_us"]) / 86400e6
    assert days == 30, days
    # it reads, and does nothing else
    mine = kept(page)["token"]
    assert status(mine, "GET", "/jobs") == 200
    anns = json.loads(edl("token", "create", "--user", "ann", "--note", "other", "--json"))
    document = {"metadata": {"name": "behind-a-proxy"}, "spec": {"trainer": {"entrypoint": "true"}}}
    changes = [("POST", "/jobs", document), ("POST", "/tokens", {}), ("GET", "/backup", None), ("GET", "/audit", None), ("POST", "/login", {}),
               ("DELETE", f"/tokens/{anns['id']}", None)]
    for method, path, body in changes:
        assert status(mine, method, path, body) in (403, 404), (method, path, status(mine, method, path, body))

with Browser(work + "/profile") as browser:
    # begun again, it still knows; another browser's folder would not
    page = browser.open(server + "/")
    page.wait_text("#caller-name", SIGNED_IN)
    assert page.errors == [], page.errors
    # revoked while somebody looks: at the next thing that happens, or at the next beat
    edl("token", "remove", str(kept(page)["id"]))
    edl("submit", "--name", "something-happens", "--", "true")
    asks(page, NO_LONGER)
    page.reload()
    asks(page, "good once")
    assert NO_LONGER not in page.all_text() and kept(page) is None, page.all_text()
    refused(page, code, "good once, and for a day")
    refused(page, "0" * 64, "good once, and for a day")
    refused(page, "no code", "That is no code, and no token.")
    short = edl("token", "create", "--browser", "--user", "ann", "--ttl", "1s").rpartition("/")[2]
    page.wait("new Promise(done => setTimeout(done, 1100, true))")  # nothing but time makes a code expire
    refused(page, short, "good once, and for a day")
    # whoever pastes the whole line has pasted the code; signing out revokes
    page.type("#token", "edl login https://x:7010 --ca-pin sha256:00 --code " + edl("token", "create", "--browser", "--user", "ann").rpartition("/")[2])
    page.click("#sign-in")
    page.wait_text("#caller-name", SIGNED_IN)
    mine = kept(page)["token"]
    second = browser.open(server + "/")
    second.wait_text("#caller-name", SIGNED_IN)
    page.click("#forget")
    asks(page, "good once")
    asks(second, "good once")
    assert status(mine, "GET", "/jobs") == 401 and [token["note"] for token in tokens()] == ["other"], tokens()
    # a token is the tab's alone
    page.type("#token", open(work + "/state/admin-token").read().strip())
    page.click("#sign-in")
    page.wait_text("#caller-name", "admin (admin)")
    assert kept(page) is None and page.text("#forget") == "Forget the token", page.text("#forget")
    page.take_errors()
    # behind a proxy the same, and a neighbour below another folder gets no token
    page.go(behind + "/")
    asks(page, "good once")
    page.type("#token", edl("token", "create", "--browser", "--user", "ann"))
    page.click("#sign-in")
    page.wait_text("#caller-name", SIGNED_IN)
    page.wait_text("#link", "live")
    page.wait_text("#summary", "job")
    assert status(anns["token"], "POST", "/jobs", document) == 201
    page.wait_text("#jobs", "behind-a-proxy")
    page.click("#jobs a[href$='/2']")
    page.wait_text("#job-name", "behind-a-proxy")
    page.wait_text("#why", "What would change it")
    assert page.errors == [], page.errors
    page.go(neighbour + "/")
    asks(page, "good once")
    page.go(behind + "/")
    page.wait_text("#caller-name", SIGNED_IN)
    page.click("#forget")
    asks(page, "good once")
    assert [token["note"] for token in tokens()] == ["other"], tokens()
PYTHON
echo "signing in: all good"
