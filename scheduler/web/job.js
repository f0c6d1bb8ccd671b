// SPDX-License-Identifier: Apache-2.0
// job.js - one job: what it is, why it is so, its processes, its log as it is written, and what happened to it
import { get } from "./api.js";
import { byId, element, fill, setText, show } from "./dom.js";
import { ago, amounts, bytes, count, lineJoiner, lost, mood, passOf, percent, progress, roleSize, span, stoodStill } from "./format.js";
import { addEvents, fillEvents } from "./overview.js";
import { insist } from "./stream.js";

const LOG_LINES = 1000;
const LOG_WAIT_S = 30;
const EVENTS_PAGE = 1000;

// --- what it is ---

function facts(job, nowUs) {
    const done = progress(job);
    const said = [["Number", String(job.id)], ["User", job.user], ["Submitted", ago(job.submitted_us, nowUs)]];

    if (job.started_us > 0)
        said.push(["Started", ago(job.started_us, nowUs)]);
    if (job.ended_us > 0)
        said.push(["Ended", ago(job.ended_us, nowUs)]);
    for (const role of job.roles)
        said.push([role.role, `${roleSize(role)}, ${role.target} wanted`]);
    if (done !== null)
        said.push(["Trained", `${percent(done)}: ${count(job.records_total, "record")}, ${passOf(job)}`]);
    if (lost(job) !== "")
        said.push(["Skipped", lost(job)]);
    said.push(["Resized", job.resizes === 1 ? "once" : count(job.resizes, "time")]);
    return said;
}

function showFacts(job, nowUs) {
    const said = facts(job, nowUs).flatMap(([name, text], i) => [["dt" + i, "dt", name], ["dd" + i, "dd", text]]);

    setText(byId("job-name"), job.name);
    document.title = job.name + " – EDL";
    fill(byId("job-state"), [job.state], () => "state", (state) => element("span", { class: "state " + mood(state) }, state));
    fill(byId("job-facts"), said, ([key]) => key, ([, tag, text]) => element(tag, { class: "said" }, text));
}

// --- why ---

function whyRow(node) {
    return element("tr", {}, element("th", { scope: "row", class: "said" }, node.node), element("td", {}, node.verdict),
        element("td", {}, String(node.fits)), element("td", {}, node.free), element("td", { class: "said" }, node.lacks));
}

function showWhy(why) {
    const rows = why.nodes.map((node) => ({
        node: node.node, verdict: node.verdict, fits: node.fits, free: amounts(node.free),
        lacks: [amounts(node.lacks), node.note].filter((text) => text !== "").join("; "),
    }));

    setText(byId("why-reason"), why.reason);
    setText(byId("why-still"), why.stood_still.map((one) => `${one.process} ${stoodStill(one.frozen_us, one.node)}`).join("; "));
    setText(byId("why-change"), why.change !== null ? "What would change it: " + why.change.text : "");
    show(byId("why-nodes"), rows.length > 0);
    fill(byId("why-rows"), rows, (row) => row.node, whyRow);
}

// --- processes ---

function processModel(process, nowUs) {
    const since = process.ended_us || process.started_us || process.assigned_us;

    return {
        key: `${process.role}.${process.index}.${process.incarnation}`, name: `${process.role}-${process.index}`,
        state: process.state, reason: process.reason || stoodStill(process.frozen_us), node: process.node, gpus: process.gpus.join(", ") || "–",
        cpu: span(process.cpu_used_us), memory: bytes(process.memory_used_bytes), since: ago(since, nowUs),
    };
}

function processRow(process) {
    const state = element("td", {}, element("span", { class: "state " + mood(process.state) }, process.state));

    if (process.reason !== "")
        state.append(element("p", { class: "note said" }, process.reason));
    return element("tr", {}, element("th", { scope: "row", class: "said" }, process.name), state,
        element("td", { class: "said" }, process.node), element("td", {}, process.gpus), element("td", {}, process.cpu),
        element("td", {}, process.memory), element("td", {}, process.since));
}

// --- log ---

function addLines(log, lines) {
    const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 40; // who scrolled up reads there

    for (const line of lines.slice(-LOG_LINES))
        log.append(element("span", {}, element("b", {}, line.who + " "), line.text + "\n"));
    while (log.childElementCount > LOG_LINES)
        log.firstElementChild.remove();
    if (atEnd)
        log.scrollTop = log.scrollHeight;
}

/** Until the job has ended and all is read, or signal is aborted. */
async function followLog(job, signal) {
    const log = byId("log");
    const join = lineJoiner();
    let after;

    log.replaceChildren();
    setText(byId("log-state"), "");
    for (;;) {
        const given = { job, follow: 1, wait: LOG_WAIT_S, after };
        const page = await insist(signal, () => get("logs", given, { signal }));

        if (page.truncated && after === undefined)
            setText(byId("log-state"), "What was written first is not kept.");
        addLines(log, join(page.entries));
        after = page.cursor;
        if (page.end)
            break;
    }
    if (log.childElementCount === 0)
        setText(byId("log-state"), "Nothing was written.");
}

// --- all of it ---

let events = [];
let coming = null; // events that came while those of before are still being read
let shown = null; // number of the job, once it is known

function took(more) {
    addEvents(events, more);
    fillEvents(byId("job-events"), events, () => null);
}

async function readEvents(job, signal) {
    let after = 0;
    let page;

    coming = [];
    do {
        const given = { job, after, limit: EVENTS_PAGE };

        page = (await insist(signal, () => get("jobEvents", given, { signal }))).events;
        if (signal.aborted)
            return;
        took(page);
        after = page.length > 0 ? page[page.length - 1].revision : after;
    } while (page.length === EVENTS_PAGE);
    const rest = coming.filter((event) => event.job_id === shown && event.revision > after);

    coming = null;
    took(rest);
}

/** Shows the job from now on; failed(problem) when its log or its events cannot be read. */
export function beginJob(job, signal, failed) {
    events = [];
    shown = null;
    for (const id of ["job-events", "job-facts", "job-state", "processes", "why-rows"])
        byId(id).replaceChildren();
    for (const id of ["job-name", "why-reason", "why-still", "why-change"])
        setText(byId(id), "");
    readEvents(job, signal).catch(failed);
    followLog(job, signal).catch(failed);
}

export function tookJobEvents(more) {
    if (coming !== null)
        coming.push(...more);
    else
        took(more.filter((event) => event.job_id === shown));
}

export async function readJob(job, signal) {
    const [told, why, { processes }] = await Promise.all([
        get("job", { job }, { signal }), get("why", { job }, { signal }), get("processes", { job, state: "all" }, { signal })]);
    const nowUs = Date.now() * 1000;

    shown = told.id;
    showFacts(told, nowUs);
    showWhy(why);
    fill(byId("processes"), processes.map((process) => processModel(process, nowUs)), (process) => process.key, processRow);
}
