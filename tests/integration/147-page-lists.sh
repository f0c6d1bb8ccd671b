#!/usr/bin/env bash
# The lists of the page in a browser, behind a proxy that shows it below a folder: no job, five and 300, on a wide window and on a
# phone. Arrays and tries fold, the newest come first, the address has the filter, and nothing is wider than its window.
# EDL_PICTURES=FOLDER keeps a picture of each. Takes 12 s: begins a cluster and a browser, and submits 300 jobs
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
"$python" -B "$EDL_SOURCE_DIR/tests/lib/browser.py" --is-there 2>&1 || exit 77
cluster_start --nodes 1
chmod 711 "$work"
install -d -m 777 "$work/looks"
as_other=''
if [ "$(id -u)" = 0 ]; then as_other='setpriv --reuid=65534 --regid=65534 --clear-groups'; fi
# shellcheck disable=SC2086
EDL_TOKEN=$(<"$EDL_TOKEN_FILE") PYTHONPATH=$EDL_SOURCE_DIR/tests/lib timeout 300 $as_other "$python" -B - "$EDL_SERVER" "$work/looks" <<'PYTHON' || fail "see above"
import json
import os
import sys
import urllib.parse
import urllib.request

from browser import Browser
from prefix_proxy import prefix_proxy

server, folder = sys.argv[1:]
page_at = prefix_proxy(server, "/some/folder")
admin = os.environ["EDL_TOKEN"]
GUEST = "אורח"  # written from right to left
LONG = "a" + 62 * "z"
SCREEN = "document.querySelectorAll('#jobs tr')"


def call(method, path, body=None, token=admin):
    head = {"Authorization": "Bearer " + token, "Content-Type": "application/json"}
    data = json.dumps(body).encode() if body is not None else None
    with urllib.request.urlopen(urllib.request.Request(server + path, data, head, method=method), timeout=60) as answer:
        return json.load(answer)


def submit(name, command, cpu="10m", token=admin, **more):
    trainer = {"entrypoint": command, "min-instance": 1, "max-instance": 1, "resources": {"requests": {"cpu": cpu, "memory": "16Mi"}}}
    return call("POST", "/jobs", {"metadata": {"name": name}, "spec": {"trainer": trainer, **more}}, token)["id"]


def go(page, place):
    """Shows a place of the page, at its top."""
    page.go(f"{page_at}/#/{place}")
    page.wait(f"location.hash === {json.dumps('#/' + place)}")


def names(page):
    return page.evaluate("[...document.querySelectorAll('#jobs th')].map(it => it.querySelector('a, button')?.textContent)")


def check(page, what):
    if "EDL_PICTURES" in os.environ:  # a folder, for whoever wants to look
        page.screenshot(f"{os.environ['EDL_PICTURES']}/{what}.png")
    assert page.overflow() == 0, f"{what}: {page.overflow()} pixels wider than its window"
    assert page.errors == [], f"{what}: {page.errors}"
    cut = page.evaluate(
        """[...document.querySelectorAll("#jobs th, #jobs td, #nodes td, #processes td, #processes th")]
            .filter(it => it.checkVisibility() && it.scrollWidth > it.clientWidth + 1 && it.clientWidth > 0).map(it => it.outerHTML)"""
    )
    assert cut == [], f"{what}: wider than their places: {cut}"


def none(page, what):
    page.wait_text("#jobs-none", "There is none")
    assert not page.is_shown("#jobs-table")
    assert page.is_shown("#nodes-table") and not page.is_shown("#nodes-none")
    check(page, what)


def five(page, what):
    go(page, "?state=all")
    page.wait(f"{SCREEN}.length === 5")
    page.wait_text("#jobs", "failed")
    assert names(page) == ["guests", LONG, "failing", "second", "first"], names(page)
    bad = page.evaluate("""(() => {
        const it = [...document.querySelectorAll("#jobs .state")].find(state => state.textContent === "failed");
        return [getComputedStyle(it).color, getComputedStyle(it, "::before").content];
    })()""")
    running = page.evaluate("getComputedStyle([...document.querySelectorAll('#jobs .state')].find(it => it.textContent === 'running')).color")
    assert bad[0] != running and "\u2717" in bad[1], (bad, running)
    # each row begins at the same place, in whatever script a name is
    left = page.evaluate("[...new Set([...document.querySelectorAll('#jobs th')].map(it => it.getBoundingClientRect().x))]")
    assert len(left) == 1, left
    # name, state, user and age of each are in sight
    seen = page.evaluate("""[...document.querySelectorAll("#jobs th, #jobs [data-title=State], #jobs [data-title=User], #jobs [data-title=Age]")]
        .filter(it => it.checkVisibility() && it.innerText !== "" && it.getBoundingClientRect().right <= innerWidth).length""")
    assert seen == 4 * 5, (seen, page.text("#jobs"))
    assert GUEST in page.text("#jobs"), page.text("#jobs")
    # a card is still a row of a table for a screen reader, with its name
    heard = [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in page.call("Accessibility.getFullAXTree")["nodes"] if "role" in node]
    roles = [role for role, _ in heard]
    assert ("table", "Jobs") in heard and ("search", "Jobs") in heard, heard
    assert ("rowheader", "failing") in heard and ("columnheader", "Age") in heard, heard
    assert roles.count("row") == 1 + 1 + 1 + 5, roles.count("row")  # titles and rows of nodes and jobs
    check(page, what)
    # one that waits: no box without content, no word of fits
    go(page, f"jobs/{ids[LONG]}")
    page.wait_text("#why-nodes", "too small")
    assert not page.is_shown("#job-processes") and not page.is_shown("#job-log"), page.all_text()
    assert "Fits" not in page.all_text(), page.all_text()
    check(page, what + "-waits")
    go(page, f"jobs/{ids['failing']}")
    page.wait_text("#processes button", "2 tries, last: exit 3 on ")
    assert page.count("#processes tr") == 1
    assert page.count('#processes a[href="#/nodes/node-1"]') == 1, page.text("#processes")
    page.click("#processes button")
    page.wait("document.querySelectorAll('#processes tr').length === 2")
    page.wait_text("#processes", "try 1")
    assert page.evaluate("document.querySelector('#processes button').getAttribute('aria-expanded')") == "true"
    check(page, what + "-tries")


def many(page, what):
    go(page, "?state=all")
    page.wait(f"{SCREEN}.length === 50")
    assert names(page)[:3] == ["newest", "sweep", "solo-58"], names(page)
    page.wait_text("#jobs", "235 queued")
    assert page.count("#jobs .array") == 1
    check(page, what)
    page.click("#jobs button.fold")
    page.wait("document.querySelectorAll('#jobs tr.member').length === 51")
    assert names(page)[2] == "sweep-5", names(page)
    page.click("#jobs [data-later]")
    page.wait("document.querySelector('#jobs tr.member a').textContent === 'sweep-55'")
    page.click("#jobs [data-earlier]")
    page.wait("document.querySelector('#jobs tr.member a').textContent === 'sweep-5'")
    check(page, what + "-open")
    page.click("#jobs button.fold")
    page.wait(f"{SCREEN}.length === 50")


def searched(page, what):
    # further back, by the browser's own way as well
    page.click("#jobs-older")
    page.wait(f"{SCREEN}.length === 16")
    assert names(page)[-5:] == ["guests", LONG, "failing", "second", "first"], names(page)
    page.evaluate("history.back()")
    page.wait(f"{SCREEN}.length === 50")
    # what is sought stands in the address, and the address is enough
    page.type("#jobs-word", "OLO-1")
    page.wait(f"{SCREEN}.length === 11")
    assert page.evaluate("location.hash") == "#/?state=all&name=OLO-1", page.evaluate("location.hash")
    check(page, what + "-found")
    page.select("#jobs-state", "failed")
    page.wait_text("#jobs-no-match", "There is none like that")
    page.click("#jobs-clear")
    page.wait("location.hash === '#/'")
    go(page, "?state=failed,killed")
    page.wait_text("#jobs", "failing")
    assert names(page) == ["failing"], names(page)
    assert page.evaluate("document.getElementById('jobs-state').value") == "failed,killed"
    go(page, f"?state=all&user={urllib.parse.quote(GUEST)}")
    page.wait_text("#jobs", "guests")
    assert names(page) == ["guests"] and page.evaluate("document.getElementById('jobs-user').value") == GUEST
    # by keys alone: a folded row is opened by the Enter key, and keeps the focus
    go(page, "?name=sweep-24")
    page.wait_text("#jobs", "array of 235 jobs")
    page.evaluate("document.querySelector('#jobs button.fold').focus()")
    page.press("Enter")
    page.wait("document.querySelectorAll('#jobs tr.member').length === 1")
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"
    page.press("Enter")
    page.wait(f"{SCREEN}.length === 1")
    check(page, what + "-keys")


def changed_meanwhile(page, what):
    """Somebody goes on while answers are on their way: they are held back here, and let go one by one."""
    go(page, "?name=sweep")
    page.wait_text("#jobs", "array of 235 jobs")
    page.evaluate("""(() => {
        const ask = window.fetch;
        window.held = [];
        window.fetch = async (address, given) => {
            const answer = await ask(address, given);
            if (address.startsWith("jobs?")) await new Promise(resolve => window.held.push(resolve));
            return answer;
        };
    })()""")
    page.click("#jobs button.fold")
    page.wait("held.length === 1")
    page.evaluate("held.shift()()")
    page.wait("held.length === 1")  # the array's jobs
    page.click("#jobs button.fold")
    page.evaluate("held.shift()()")
    page.wait("held.length === 1")  # all is read anew
    assert page.count("#jobs tr") == 1 and page.count("#jobs .member") == 0, page.text("#jobs")
    # the answer to what is not wanted any more is not shown, nor does it change what was chosen
    page.select("#jobs-state", "over")
    page.evaluate("held.shift()()")
    page.wait("held.length === 1")
    assert page.evaluate("document.getElementById('jobs-state').value") == "over"
    page.evaluate("held.shift()()")
    page.wait_text("#jobs-no-match", "There is none like that")
    check(page, what)


ids = {}
with Browser(folder + "/profile") as browser:
    pages = {width: browser.open(page_at + "/", width=width, height=800, token=admin) for width in (1280, 390)}
    for width, page in pages.items():
        page.wait_text("#link", "live")
        none(page, f"lists-none-{width}")
    call("POST", "/users", {"name": GUEST})
    guest = call("POST", "/tokens", {"user": GUEST})["token"]
    ids["first"] = submit("first", "exec sleep 1000")
    ids["second"] = submit("second", "exec sleep 1000")
    ids["failing"] = submit("failing", "exit 3", fault_tolerant=True, restart={"max": 1, "backoff": "0s"})
    ids[LONG] = submit(LONG, "true", cpu="1000")
    ids["guests"] = submit("guests", "true", cpu="1000", token=guest)
    for width, page in pages.items():
        five(page, f"lists-five-{width}")
    for number in range(59):
        submit(f"solo-{number}", "true", cpu="1000")
    submit("sweep", "true", cpu="1000", array="5-239")
    submit("newest", "true", cpu="1000")
    for width, page in pages.items():
        many(page, f"lists-300-{width}")
    searched(pages[1280], "lists-300-1280")
    changed_meanwhile(pages[1280], "lists-300-1280-meanwhile")
PYTHON
echo "the lists of the page: all good"
