#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Chromium without a screen, for tests of the page; driven over a pipe, by the standard library alone.

    with Browser(work + "/profile") as browser:
        page = browser.open(address, width=390, height=800, token=text)
        page.wait("document.querySelectorAll('#jobs tr').length === 5")
        page.click("#jobs a")
        page.screenshot(work + "/job.png")
        assert page.errors == [], page.errors

Commands go to file descriptor 3 of Chromium, answers and events come from its 4: JSON, each message ended by a NUL. It is the
protocol of the developers' tools. A folder of the test's own is the profile, and the home folder as well: a browser that
begins again with the same one knows what the last one kept. Names other than of this machine are not looked up.

    browser.py --is-there                           fails where none is installed
    browser.py ADDRESS FILE.png [WIDTH [HEIGHT]]    a picture of that address; a token in EDL_TOKEN_FILE"""
import base64
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

WAIT_S = 120
TOKEN_KEY = "edl-token "  # and the folder of the page
PHONE_WIDTH = 600  # up to here the browser lays out as a phone does
PROGRAMS = ("chromium-headless-shell", "chromium")  # Debian's: the first has no windows, so fewer packages come with it
PROGRAM = next(filter(None, (shutil.which(name, path="/usr/bin:/bin:" + os.environ.get("PATH", "")) for name in PROGRAMS)), None)
OPTIONS = (
    "--headless --remote-debugging-pipe --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --no-default-browser-check "
    "--disable-background-networking --disable-component-update --disable-sync --disable-breakpad --disable-extensions "
    "--disable-default-apps --metrics-recording-only --mute-audio --no-proxy-server --password-store=basic --lang=en-US "
    "--force-color-profile=srgb"
).split()
PREPARE = """(selector) => {
    const found = document.querySelectorAll(selector);
    if (found.length === 0) return {why: "there is no " + selector};
    const it = found[0];
    it.scrollIntoView({block: "center", inline: "center", behavior: "instant"});
    const box = it.getClientRects()[0];
    if (box === undefined || box.width === 0 || box.height === 0) return {why: selector + " is not shown"};
    return {x: box.x, y: box.y, width: box.width, height: box.height};
}"""
COVERED = """(selector, x, y) => {
    const it = document.querySelector(selector), top = document.elementFromPoint(x, y);
    return top === it || it.contains(top) || top?.closest("label")?.control === it ? null : (top?.outerHTML ?? "nothing").slice(0, 200);
}"""


class BrowserError(Exception):
    """What the browser did not do, or not in time."""


def _call(function, *given):
    return f"({function})({', '.join(json.dumps(value) for value in given)})"


class Page:
    """One tab. errors: what went wrong since it was opened: console errors, exceptions that nobody caught, breaches of the policy,
    requests that failed or were refused. Those that the page itself gave up are none."""

    def __init__(self, browser, target, session):
        self.browser = browser
        self.target = target
        self.session = session
        self.errors = []
        self.urls = {}  # of its requests
        self.loaded = False

    def call(self, method, **given):
        return self.browser.call(method, given, self.session)

    def take_errors(self):
        """Those so far; then there are none."""
        self.browser.pump(0)
        errors, self.errors = self.errors, []
        return errors

    # --- what it shows ---

    def evaluate(self, expression):
        """The value of a JavaScript expression, as JSON knows it; a promise is waited for."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True, userGesture=True)
        if "exceptionDetails" in answer:
            raise BrowserError(f"{expression}: {_exception(answer['exceptionDetails'])}")
        return answer["result"].get("value")

    def wait(self, condition, seconds=WAIT_S, what=None):
        """Until a JavaScript expression is true; its value. Between two looks the browser's events are taken."""
        deadline = time.monotonic() + seconds
        pause, last = 0.02, ""
        while True:
            try:
                value = self.evaluate(condition)
                if value:
                    return value
                last = f"it is {value!r}"
            except BrowserError as error:  # a document that is going away knows nothing
                last = str(error)
            if time.monotonic() > deadline:
                raise BrowserError(f"not in time: {what or condition}: {last}; errors: {self.errors}; the page:\n{self.all_text()}")
            self.browser.pump(pause)
            pause = min(pause * 1.5, 0.5)

    def wait_text(self, selector, part, seconds=WAIT_S):
        """Until some element of that selector is shown and says part."""
        return self.wait(
            f"[...document.querySelectorAll({json.dumps(selector)})].some(it => it.checkVisibility() && it.innerText.includes({json.dumps(part)}))",
            seconds,
            f'{selector} says "{part}"',
        )

    def all_text(self):
        try:
            return self.evaluate("document.body.innerText")
        except BrowserError as error:
            return f"({error})"

    def text(self, selector):
        """As a reader sees it, of the first such element; None where there is none."""
        return self.evaluate(f"document.querySelector({json.dumps(selector)})?.innerText ?? null")

    def texts(self, selector):
        return self.evaluate(f"[...document.querySelectorAll({json.dumps(selector)})].map(it => it.innerText)")

    def count(self, selector):
        return self.evaluate(f"document.querySelectorAll({json.dumps(selector)}).length")

    def is_shown(self, selector):
        return self.evaluate(f"document.querySelector({json.dumps(selector)})?.checkVisibility() ?? false")

    def overflow(self):
        """How many CSS pixels the page is wider than its window: nobody likes to scroll both ways."""
        return self.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")

    def screenshot(self, file, whole=True):
        """A PNG: of the whole page, or of what the window shows."""
        self.call("Page.bringToFront")  # a tab behind others paints rarely
        given = {"format": "png"}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            given.update(captureBeyondViewport=True, clip={"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1})
        with open(file, "wb") as out:
            out.write(base64.b64decode(self.call("Page.captureScreenshot", **given)["data"]))

    # --- what a person does ---

    def _point(self, selector, at, free):
        self.call("Page.bringToFront")
        self.wait(f"document.querySelector({json.dumps(selector)})?.checkVisibility()", what=f"{selector} is shown")
        box = self.evaluate(_call(PREPARE, selector))
        if "why" in box:
            raise BrowserError(box["why"])
        x, y = box["x"] + box["width"] * at[0], box["y"] + box["height"] * at[1]
        over = self.evaluate(_call(COVERED, selector, x, y)) if free else None
        if over is not None:
            raise BrowserError(f"{selector} is covered by {over}")
        return x, y

    def _mouse(self, kind, x, y, **given):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **given)

    def hover(self, selector, at=(0.5, 0.5)):
        """The mouse onto an element, at shares of its width and height; what lies over it gets the mouse."""
        x, y = self._point(selector, at, free=False)
        self._mouse("mouseMoved", x, y)

    def click(self, selector, at=(0.5, 0.5)):
        x, y = self._point(selector, at, free=True)
        self._mouse("mouseMoved", x, y)
        self._mouse("mousePressed", x, y, button="left", clickCount=1, buttons=1)
        self._mouse("mouseReleased", x, y, button="left", clickCount=1)

    def type(self, selector, text):
        """Text into a field, in place of what is in it. A line end is the Enter key."""
        self.click(selector)
        self.evaluate(f"document.querySelector({json.dumps(selector)}).select?.()")
        lines = text.split("\n")
        self.call("Input.insertText", text=lines[0])
        for line in lines[1:]:
            self.press("Enter")
            self.call("Input.insertText", text=line)

    def press(self, key):
        """A key by its name: Enter, Tab, Escape, ArrowDown, or one letter."""
        codes = {"Enter": 13, "Tab": 9, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, " ": 32}
        text = {"Enter": "\r", " ": " "}.get(key, key if len(key) == 1 else "")
        given = {"key": key, "code": key, "windowsVirtualKeyCode": codes.get(key, ord(key[0].upper()))}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **given)
        self.call("Input.dispatchKeyEvent", type="keyUp", **given)

    def select(self, selector, value):
        """A choice of a <select>, by its value."""
        done = self.evaluate(
            _call(
                """(selector, value) => {
                    const it = document.querySelector(selector);
                    it.value = value;
                    it.dispatchEvent(new Event("input", {bubbles: true}));
                    it.dispatchEvent(new Event("change", {bubbles: true}));
                    return it.value === value;
                }""",
                selector,
                value,
            )
        )
        if not done:
            raise BrowserError(f"{selector} has no choice {value}")

    # --- where it is ---

    def resize(self, width, height, scale=1):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=width <= PHONE_WIDTH)

    def go(self, address):
        """Opens an address and waits until its document is loaded. One that differs in its #part alone loads nothing."""
        self.loaded = False
        answer = self.call("Page.navigate", url=address)
        if answer.get("errorText"):
            raise BrowserError(f"{address}: {answer['errorText']}")
        if "loaderId" in answer:
            self.browser.until(lambda: self.loaded, f"{address} is loaded")

    def reload(self):
        self.loaded = False
        self.call("Page.reload")
        self.browser.until(lambda: self.loaded, "the page is loaded again")

    def close(self):
        self.browser.call("Target.closeTarget", {"targetId": self.target})
        self.browser.pages.pop(self.session, None)

    # --- what the browser tells ---

    def take_event(self, method, told):
        take = TAKES.get(method)
        if take is not None:
            take(self, told)


def _exception(details):
    return details.get("exception", {}).get("description") or details.get("text", "an exception")


def _took_load(page, _told):
    page.loaded = True


def _took_console(page, told):
    if told["type"] in ("error", "assert"):
        page.errors.append("console: " + " ".join(str(arg.get("value", arg.get("description", ""))) for arg in told["args"]))


def _took_exception(page, told):
    page.errors.append("uncaught: " + _exception(told["exceptionDetails"]))


def _took_log(page, told):
    entry = told["entry"]
    if entry["level"] == "error" and entry.get("source") != "network":  # those of the network are told by status and address
        page.errors.append(f"{entry.get('source')}: {entry['text']} {entry.get('url', '')}")


def _took_request(page, told):
    page.urls[told["requestId"]] = told["request"]["url"]


def _took_response(page, told):
    if told["response"]["status"] >= 400:
        page.errors.append(f"status {told['response']['status']}: {told['response']['url']}")


def _took_failure(page, told):
    if not told.get("canceled"):
        page.errors.append(f"request failed: {page.urls.get(told['requestId'])}: {told.get('errorText')}")


def _took_issue(page, told):
    issue = told["issue"]
    if issue["code"] == "ContentSecurityPolicyIssue":
        details = issue["details"]["contentSecurityPolicyIssueDetails"]
        page.errors.append(f"policy: {details['violatedDirective']} {details.get('blockedURL', '')} {details['contentSecurityPolicyViolationType']}")


TAKES = {
    "Page.loadEventFired": _took_load,
    "Runtime.consoleAPICalled": _took_console,
    "Runtime.exceptionThrown": _took_exception,
    "Log.entryAdded": _took_log,
    "Network.requestWillBeSent": _took_request,
    "Network.responseReceived": _took_response,
    "Network.loadingFailed": _took_failure,
    "Audits.issueAdded": _took_issue,
}


class Browser:
    """Chromium with a profile of its own. It is ended by close(), or at the end of the with block."""

    def __init__(self, profile, options=()):
        if PROGRAM is None:
            raise BrowserError("there is no browser: apt-get install chromium-headless-shell")
        self.profile = os.path.abspath(profile)
        os.makedirs(self.profile, mode=0o700, exist_ok=True)
        self.pages = {}
        self.answers = {}
        self.last_id = 0
        self.kept = b""
        self.log_path = os.path.join(self.profile, "chromium.log")
        self._begin([*OPTIONS, "--user-data-dir=" + self.profile, *options, "about:blank"])

    def _begin(self, options):
        from_us, self.write_fd = os.pipe()
        self.read_fd, to_us = os.pipe()

        # Descriptors 3 and 4 are the pipe's names in Chromium; first out of each other's way.
        def place():
            first, second = os.dup(from_us), os.dup(to_us)
            while first in (3, 4):
                first = os.dup(first)
            while second in (3, 4):
                second = os.dup(second)
            os.dup2(first, 3)
            os.dup2(second, 4)

        home = {"HOME": self.profile, "XDG_CONFIG_HOME": self.profile, "XDG_CACHE_HOME": self.profile, "XDG_RUNTIME_DIR": self.profile}
        environment = {**os.environ, **home, "DBUS_SESSION_BUS_ADDRESS": "disabled:", "DBUS_SYSTEM_BUS_ADDRESS": "disabled:"}
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                [PROGRAM, *options, "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                preexec_fn=place,
                pass_fds=(3, 4),
                start_new_session=True,
            )
        os.close(from_us)
        os.close(to_us)
        os.set_blocking(self.write_fd, False)

    # --- messages ---

    def call(self, method, given=None, session=None, seconds=WAIT_S):
        """The result of one command of the protocol."""
        self.last_id += 1
        number = self.last_id
        message = {"id": number, "method": method, "params": given or {}}
        if session is not None:
            message["sessionId"] = session
        self._send(json.dumps(message).encode() + b"\0")
        self.until(lambda: number in self.answers, f"an answer to {method}", seconds)
        answer = self.answers.pop(number)
        if "error" in answer:
            raise BrowserError(f"{method}: {answer['error'].get('message')} {answer['error'].get('data', '')}")
        return answer["result"]

    def _send(self, data):
        while data:
            select.select([], [self.write_fd], [], WAIT_S)
            try:
                data = data[os.write(self.write_fd, data) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                raise self._gone() from None

    def _gone(self):
        with open(self.log_path, errors="replace") as log:
            return BrowserError(f"chromium has ended; its last words: {log.read()[-2000:]}")

    def pump(self, seconds):
        """Takes what comes within that time, and returns after the first of it."""
        while select.select([self.read_fd], [], [], seconds)[0]:
            data = os.read(self.read_fd, 1 << 20)
            if data == b"":
                raise self._gone()
            *messages, self.kept = (self.kept + data).split(b"\0")
            for message in messages:
                self._take(json.loads(message))
            seconds = 0

    def _take(self, message):
        if "id" in message:
            self.answers[message["id"]] = message
        elif message.get("sessionId") in self.pages:
            self.pages[message["sessionId"]].take_event(message["method"], message["params"])

    def until(self, holds, what, seconds=WAIT_S):
        deadline = time.monotonic() + seconds
        while not holds():
            left = deadline - time.monotonic()
            if left <= 0:
                raise BrowserError(f"not in time: {what}")
            self.pump(left)

    # --- tabs ---

    def open(self, address, width=1280, height=800, scale=1, token=None):
        """A tab of so many CSS pixels, scale device pixels each, with the address loaded. token: as if a person had signed in with
        it in this tab."""
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        page = self.pages[session] = Page(self, target, session)
        for room in ("Page", "Runtime", "Log", "Network", "Audits"):
            page.call(room + ".enable")
        page.call("Emulation.setFocusEmulationEnabled", enabled=True)  # each of several tabs is one that somebody looks at
        page.resize(width, height, scale)
        if token is None:
            page.go(address)
            return page
        put = f"sessionStorage.setItem({json.dumps(TOKEN_KEY)} + new URL('.', location.href).pathname, {json.dumps(token)})"
        script = page.call("Page.addScriptToEvaluateOnNewDocument", source=put)["identifier"]
        page.go(address)
        page.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script)
        return page

    # --- its end ---

    def __enter__(self):
        return self

    def __exit__(self, *_what):
        self.close()

    def close(self):
        """Ends it and all its processes; what pages have kept is on disk then."""
        if self.process is None:
            return
        family = _family(self.process.pid)
        try:
            self.call("Browser.close", seconds=30)
            self.process.wait(timeout=30)
        except (BrowserError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        for descriptor in (self.write_fd, self.read_fd):
            os.close(descriptor)
        self.process = None
        for process in family:
            _end(process)


def _family(pid):
    """Descriptors of the processes below that one."""
    below, found = {}, []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as stat:
                below.setdefault(int(stat.read().rpartition(")")[2].split()[1]), []).append(int(name))
        except OSError:
            continue
    waiting = [pid]
    while waiting:
        for child in below.get(waiting.pop(), []):
            waiting.append(child)
            try:
                found.append(os.pidfd_open(child))
            except OSError:
                continue
    return found


def _end(process):
    if not select.select([process], [], [], 10)[0]:  # most end by themselves
        signal.pidfd_send_signal(process, signal.SIGKILL)
        select.select([process], [], [], 10)
    os.close(process)


def main(arguments):
    if arguments == ["--is-there"]:
        return 0 if PROGRAM else "there is no browser: apt-get install chromium-headless-shell"
    address, file, *size = arguments
    token = None
    if "EDL_TOKEN_FILE" in os.environ:
        with open(os.environ["EDL_TOKEN_FILE"]) as told:
            token = told.read().strip()
    with tempfile.TemporaryDirectory() as profile, Browser(profile) as browser:
        page = browser.open(address, *map(int, size), token=token)
        if token is not None:
            page.wait("document.getElementById('caller').checkVisibility()")
        page.screenshot(file)
        for error in page.errors:
            print(error, file=sys.stderr)
        return 1 if page.errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
