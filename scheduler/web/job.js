// SPDX-License-Identifier: Apache-2.0
// job.js - one job: what it is, why it is so, its processes, its log as it is written, and what happened to it
import { get } from "./api.js";
import { byId, element, fill, setText, show } from "./dom.js";
import { ago, amounts, bytes, count, firstError, lineJoiner, lost, mood, passOf, percent, progress, roleSize, span, stoodStill } from "./format.js";
import { wholeLog } from "./logs.js";
import { addEvents, fillEvents } from "./overview.js";
import { insist } from "./stream.js";

const LOG_LINES = 1000;
const LOG_WAIT_S = 30;
const PART_LENGTH = 2 ** 20; // of a file that is downloaded, in characters
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

    setText(byId("why-first"), firstError(why.first_error));
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

/** Shows lines as they are written from the cursor on, until the job has ended. take: entries to lines. */
async function followLog(job, signal, after, take) {
    for (;;) {
        const given = { job, follow: 1, wait: LOG_WAIT_S, after };
        const page = await insist(signal, () => get("logs", given, { signal }));

        if (page.truncated && after === undefined)
            setText(byId("log-state"), "These are the last lines. Search and download have all.");
        addLines(byId("log"), take(page.entries));
        after = page.cursor;
        if (page.end)
            break;
    }
}

async function showNewest(job, signal) {
    const log = byId("log");

    log.replaceChildren();
    setText(byId("log-state"), "");
    await followLog(job, signal, undefined, lineJoiner());
    if (log.childElementCount === 0)
        setText(byId("log-state"), "Nothing was written.");
}

/** Lines with the words, whatever their case, of all that was written and of what comes. */
async function showFound(job, words, signal) {
    const log = byId("log");
    const wanted = words.toLowerCase();
    const lines = wholeLog(job, signal);
    let read = 0, found = 0, batch = [];
    const has = (line) => line.text.toLowerCase().includes(wanted);
    const tell = (more) => setText(byId("log-state"), `Found: ${count(found, "line")} of ${read}${more}` +
        (found > LOG_LINES ? `; the last ${LOG_LINES} are shown` : ""));
    const add = (some) => {
        const good = some.filter(has);

        read += some.length;
        found += good.length;
        addLines(log, good);
    };
    let step;

    log.replaceChildren();
    while (!(step = await lines.next()).done && !signal.aborted)
        if (batch.push(step.value) >= LOG_LINES) {
            add(batch.splice(0));
            tell(" so far");
        }
    if (signal.aborted)
        return;
    add(batch);
    tell("");
    await followLog(job, signal, step.value.after, (entries) => {
        const some = step.value.join(step.value.fresh(entries));

        read += some.length;
        const good = some.filter(has);

        found += good.length;
        tell("");
        return good;
    });
}

async function download(job, signal) {
    const lines = wholeLog(job, signal);
    const parts = [];
    let step, part = "", size = 0;
    const put = (line) => {
        part += `[${line.who}] ${line.text}\n`;
        if (part.length >= PART_LENGTH) {
            parts.push(new Blob([part])); // out of the way of what is written on
            size += part.length;
            part = "";
            setText(byId("log-state"), `Reading: ${bytes(size)}`);
        }
    };

    while (!(step = await lines.next()).done)
        put(step.value);
    for (const line of step.value.join.rest())
        put(line);
    const link = element("a", { download: `${byId("job-name").textContent}.log` });

    link.href = URL.createObjectURL(new Blob([...parts, part], { type: "text/plain" }));
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000); // the browser reads it meanwhile
    setText(byId("log-state"), "");
}

let reading = null; // { job, signal, failed, stop } of the log that is shown

/** Shows the newest lines, or those with the words. */
function beginLog(words) {
    const { job, signal, failed } = reading;
    const stop = new AbortController();

    reading.stop?.abort();
    reading.stop = stop;
    signal.addEventListener("abort", () => stop.abort(), { once: true });
    (words === "" ? showNewest(job, stop.signal) : showFound(job, words, stop.signal)).catch((problem) => {
        if (!stop.signal.aborted)
            failed(problem);
    });
}

byId("log-form").addEventListener("submit", (event) => {
    event.preventDefault();
    if (reading !== null)
        beginLog(byId("log-words").value.trim());
});

byId("log-download").addEventListener("click", () => {
    const button = byId("log-download");

    if (reading === null || button.disabled)
        return;
    button.disabled = true;
    download(reading.job, reading.signal).catch(reading.failed).finally(() => {
        button.disabled = false;
    });
});

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
    for (const id of ["job-name", "why-first", "why-reason", "why-still", "why-change"])
        setText(byId(id), "");
    readEvents(job, signal).catch(failed);
    byId("log-words").value = "";
    reading = { job, signal, failed, stop: null };
    beginLog("");
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
