// SPDX-License-Identifier: Apache-2.0
// page.js - which view is shown, and when it is read anew: whenever something happened, and at each beat of the event
// stream for what makes no event (load, progress). Nothing is asked by a timer of the page's own.
import { get, Problem, token } from "./api.js";
import { forgetCurves, readCurves } from "./curve.js";
import { byId, setText, show } from "./dom.js";
import { beginJob, readJob, tookJobEvents } from "./job.js";
import { beginNode, readNode, tookNodeEvents } from "./node.js";
import { beginOverview, forgetEvents, readOverview, readSummary, tookEvents } from "./overview.js";
import { beginSearch, readSearch } from "./search.js";
import { codeIn, secretIn, signIn, signOut, whyRefused } from "./signin.js";
import { leaderOf } from "./lists.js";
import { follow, insist } from "./stream.js";
import { beginTimeline, forgetTimeline, readTimeline } from "./timeline.js";

const LEAST_BETWEEN_MS = 1000;
const SHARE = 10; // of the time, at most one part in so many is spent on reading anew
const FIRST_EVENTS = 100;

const LINKS = {
    live: "live", polled: "live, by long poll", lost: "the scheduler does not answer; trying again",
};

let session = null; // of a token: what goes on until it is refused or forgotten
let view = null; // { of, name, stop }; of: one of VIEWS, name: of its job or node

/** What can be shown: where in the page, at which address, how it begins and how it is read anew. */
const VIEWS = [
    { id: "one-job", at: /^#\/jobs\/([\w.-]+)$/, begin: beginJob, read: (name, signal) => Promise.all([readJob(name, signal), readCurves(name, signal)]) },
    { id: "one-search", at: /^#\/searches\/([\w.-]+\/[\w.-]+)$/, begin: beginSearch, read: readSearch },
    { id: "one-node", at: /^#\/nodes\/([\w.-]+)$/, begin: beginNode, read: readNode },
    { id: "overview", at: /(?:)/, begin() {}, read: (_name, signal) => Promise.all([readOverview(signal), readTimeline(signal)]) },
];

// --- what is wrong ---

let notice = null; // what stays until another view is chosen

function showTrouble(problem) {
    const text = problem === null ? "" : problem.message + (problem.remedy ? ` – ${problem.remedy}` : "");

    setText(byId("trouble"), text);
    show(byId("trouble"), text !== "");
}

function failed(problem) {
    if (problem.name === "AbortError")
        return;
    if (problem.status === 401)
        ask(whyRefused(problem));
    else if (problem.status !== 0) // whether the scheduler answers is told by the stream
        showTrouble(problem);
    if (!(problem instanceof Problem))
        throw problem;
}

// --- reading anew ---

const fresh = { wanted: false, reading: false, hurried: false, rest: null };

/** Soon, once: however much happens, the scheduler is asked now and then. */
function refresh() {
    fresh.wanted = true;
    if (fresh.reading || fresh.rest !== null || document.hidden || view === null)
        return;
    fresh.wanted = false;
    fresh.reading = true;
    const begin = performance.now();
    const { of, name, stop } = view;

    Promise.all([readSummary(stop.signal), of.read(name, stop.signal)])
        .then(() => showTrouble(notice), failed)
        .finally(() => {
            const rest = stop.signal.aborted || fresh.hurried ? 0 : Math.max(LEAST_BETWEEN_MS, SHARE * (performance.now() - begin));

            fresh.reading = fresh.hurried = false;
            fresh.rest = setTimeout(rested, rest);
        });
}

function rested() {
    clearTimeout(fresh.rest);
    fresh.rest = null;
    if (fresh.wanted)
        refresh();
}

/** Whoever chooses something does not wait, but for an answer that is on its way. */
function hurry() {
    fresh.wanted = true;
    fresh.hurried = fresh.reading;
    rested();
}

document.addEventListener("visibilitychange", () => {
    if (!document.hidden && fresh.wanted)
        refresh();
});

// --- views ---

function choose() {
    const of = VIEWS.find((one) => one.at.test(location.hash));

    if (session === null)
        return;
    view?.stop.abort();
    view = { of, name: of.at.exec(location.hash)[1], stop: new AbortController() };
    for (const one of VIEWS)
        show(byId(one.id), one === of);
    showTrouble(notice = null);
    document.title = "EDL cluster";
    forgetCurves();
    of.begin(view.name, view.stop.signal, failed);
    hurry();
}

window.addEventListener("hashchange", () => {
    takeCode();
    if (code !== null) {
        begin();
        return;
    }
    choose();
    byId("main").focus();
});

// --- who looks ---

function end() {
    session?.abort();
    view?.stop.abort();
    session = view = null;
    for (const id of [...VIEWS.map((one) => one.id), "caller"])
        show(byId(id), false);
    forgetTimeline();
    forgetCurves();
    setText(byId("summary"), "");
    setText(byId("link"), "");
    showTrouble(null);
}

let code = null; // of the page's address: for the form, once

/** Takes the code out of the address: the history of the browser need not have it. */
function takeCode() {
    const found = codeIn(location.hash);

    if (found === null)
        return;
    code = found;
    history.replaceState(null, "", "#/");
}

function ask(why) {
    end();
    token.forget();
    show(byId("ask"), true);
    setText(byId("ask-why"), why);
    byId("token").value = code ?? "";
    byId(code === null ? "token" : "sign-in").focus();
    code = null;
}

byId("ask-form").addEventListener("submit", (event) => {
    const secret = secretIn(byId("token").value);

    event.preventDefault();
    byId("token").value = "";
    if (secret === "") {
        setText(byId("ask-why"), "That is no code, and no token.");
        return;
    }
    signIn(secret).then(begin, (problem) => setText(byId("ask-why"), problem.message));
});

byId("forget").addEventListener("click", () => {
    if (!token.isKept()) {
        ask("");
        return;
    }
    const { id } = token.kept();

    signOut().then(() => ask(""), () => ask(`The scheduler did not hear of it: edl token remove ${id}`));
});

// another tab signed this browser in or out
window.addEventListener("storage", (event) => {
    if (event.key === token.key())
        begin();
});

/** A standby answers nothing but where the leader is. */
async function lookForLeader(signal) {
    const leader = leaderOf(await get("health", {}, { signal }));

    show(byId("standby"), leader !== null);
    byId("leader").href = leader ?? "";
    setText(byId("leader"), leader ?? "");
}

/** What there is first, then what happens behind it: nothing falls between. */
async function watch(signal) {
    const tell = () => {
        setText(byId("link"), LINKS.lost);
        lookForLeader(signal).catch(() => {});
    };
    const caller = await insist(signal, () => get("caller", {}, { signal }), tell);
    const { newest } = await insist(signal, () => get("events", { limit: 1 }, { signal }), tell);
    const after = Math.max(0, newest - FIRST_EVENTS);

    show(byId("standby"), false);
    setText(byId("caller-name"), `${caller.user} (${caller.role})`);
    show(byId("forget"), token.get() !== null);
    setText(byId("forget"), token.isKept() ? "Sign out" : "Forget the token");
    show(byId("caller"), true);
    if (!byId("ask").hidden)
        byId("main").focus();
    show(byId("ask"), false);
    forgetEvents();
    choose();
    if (code !== null) {
        code = null;
        showTrouble(notice = new Problem(0, "You are signed in already. The code in the address was not used."));
    }
    await follow(after, signal, {
        events(list) {
            tookEvents(list);
            tookJobEvents(list);
            tookNodeEvents(list);
            refresh();
        },
        beat: refresh,
        gap: refresh,
        link(word) {
            setText(byId("link"), LINKS[word]);
            if (word === "live")
                refresh(); // something may not have come through while it was away
        },
    });
}

function begin() {
    end();
    session = new AbortController();
    takeCode();
    watch(session.signal).catch(failed);
}

beginOverview(hurry);
beginTimeline(hurry);
get("version", {}).then((told) => setText(byId("version"), "EDL " + told.version), () => {});
begin();
