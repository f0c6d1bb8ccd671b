// SPDX-License-Identifier: Apache-2.0
// job.js - one job: what it is, why it is so, its processes, its log as it is written, and what happened to it
import { get } from "./api.js";
import { byId, cell, element, fill, headCell, hideEmptyColumns, row, setText, show, stateWord } from "./dom.js";
import { ago, amounts, bounds, bytes, count, firstError, lineJoiner, lost, mood, passOf, percent, progress, roleSize, served, span, stoodStill } from "./format.js";
import { endOf, moodOf, placesOf, triesOf } from "./lists.js";
import { wholeLog } from "./logs.js";
import { addEvents, fillEvents } from "./overview.js";
import { insist } from "./stream.js";

const LOG_LINES = 1000;
const LOG_WAIT_S = 30;
const PART_LENGTH = 2 ** 20; // of a file that is downloaded, in characters
const EVENTS_PAGE = 1000;
const NOT_YET = "Nothing was written yet.";

// --- what it is ---

function facts(job, serving, nowUs) {
    const done = progress(job);
    const said = [["Number", String(job.id)], ["User", job.user], ["Submitted", ago(job.submitted_us, nowUs)]];

    if (job.started_us > 0)
        said.push(["Started", ago(job.started_us, nowUs)]);
    if (job.ended_us > 0)
        said.push(["Ended", ago(job.ended_us, nowUs)]);
    for (const role of job.roles)
        said.push([role.role, job.ended_us > 0 ? bounds(role) : `${roleSize(role)}, ${role.target} wanted`]);
    if (served(serving) !== "")
        said.push(["Serves", served(serving)]);
    if (done !== null)
        said.push(["Trained", `${percent(done)}: ${count(job.records_total, "record")}, ${passOf(job)}`]);
    if (lost(job) !== "")
        said.push(["Skipped", lost(job)]);
    if (job.spec.array?.name)
        said.push(["Array", `${job.spec.array.name}, index ${job.spec.array.index}`]);
    if (job.trial !== undefined)
        said.push(["Search", `${job.trial.search}, trial ${job.trial.trial}`, `#/searches/${job.user}/${encodeURIComponent(job.trial.search)}`]);
    if (job.resizes > 0)
        said.push(["Resized", job.resizes === 1 ? "once" : count(job.resizes, "time")]);
    return said;
}

function showFacts(job, serving, nowUs) {
    const said = facts(job, serving, nowUs).flatMap(([name, text, href], i) => [["dt" + i, "dt", name], ["dd" + i, "dd", text, href]]);

    setText(byId("job-name"), job.name);
    document.title = job.name + " – EDL";
    fill(byId("job-state"), [job.state], () => "state", (state) => stateWord(state, `${mood(state)} ${state}`));
    fill(byId("job-facts"), said, ([key]) => key, ([, tag, text, href]) => element(tag, { class: "said" },
        href === undefined ? text : element("a", { href }, text)));
}

// --- why ---

function nodeLink(name) {
    return element("a", { href: "#/nodes/" + encodeURIComponent(name), class: "said" }, name);
}

function whyRow(node) {
    return row({}, headCell(nodeLink(node.node)), cell("Verdict", node.verdict), cell("Free", node.free),
        cell("Lacks", node.lacks !== "" ? element("span", { class: "said" }, node.lacks) : ""));
}

function showWhy(why) {
    const rows = why.nodes.map((node) => ({
        node: node.node, verdict: node.verdict.replaceAll("-", " "), free: amounts(node.free),
        lacks: [amounts(node.lacks), node.note].filter((text) => text !== "").join("; "),
    }));
    const still = why.stood_still.map((one) => `${one.process} ${stoodStill(one.frozen_us, one.node)}`).join("; ");

    setText(byId("why-first"), firstError(why.first_error));
    setText(byId("why-reason"), why.reason);
    setText(byId("why-still"), still);
    setText(byId("why-change"), why.change !== null ? "What would change it: " + why.change.text : "");
    show(byId("why"), why.reason !== "" || still !== "" || why.change !== null || rows.length > 0);
    show(byId("why-nodes"), rows.length > 0);
    fill(byId("why-rows"), rows, (node) => node.node, whyRow);
    hideEmptyColumns(byId("why-nodes"));
}

// --- processes: one row for each place, whose earlier tries it opens to ---

const opened = new Set(); // places whose tries are shown

function processModel(process, nowUs) {
    const since = process.ended_us || process.started_us || process.assigned_us;

    return {
        key: `${process.role}.${process.index}.${process.incarnation}`, name: `${process.role}-${process.index}`,
        state: endOf(process), mood: moodOf(process), reason: process.reason || stoodStill(process.frozen_us),
        node: process.node, gpus: process.gpus.join(", "), cpu: process.cpu_used_us >= 1e6 ? span(process.cpu_used_us) : "",
        memory: process.memory_used_bytes > 0 ? bytes(process.memory_used_bytes) : "", since: ago(since, nowUs),
        tries: "", place: "", isOpen: false, isEarlier: false,
    };
}

function placeModels({ key, tries }, nowUs) {
    const [newest, ...earlier] = tries.map((process) => processModel(process, nowUs));
    const isOpen = opened.has(key);

    return [{ ...newest, tries: triesOf(tries), place: key, isOpen },
        ...(isOpen ? earlier.map((model, i) => ({ ...model, name: `try ${earlier.length - i}`, isEarlier: true })) : [])];
}

function processRow(process) {
    const state = [stateWord(process.state, `${process.mood} ${process.state}`)];

    if (process.tries !== "")
        state.push(element("p", {}, element("button", { type: "button", class: "fold", "aria-expanded": String(process.isOpen),
            "data-place": process.place }, process.tries)));
    if (process.reason !== "")
        state.push(element("p", { class: "note said" }, process.reason));
    return row({ class: process.isEarlier ? "member" : "" }, headCell(element("span", { class: "said" }, process.name)),
        cell("State", ...state), cell("Node", process.node !== "" ? nodeLink(process.node) : ""), cell("GPUs", process.gpus),
        cell("CPU time", process.cpu), cell("Memory", process.memory), cell("Since", process.since));
}

let processes = [];
let hasStarted = false; // before that nothing can have been written

function showProcesses() {
    const nowUs = Date.now() * 1000;

    fill(byId("processes"), placesOf(processes).flatMap((place) => placeModels(place, nowUs)), (process) => process.key, processRow);
    show(byId("job-processes"), processes.length > 0);
    hideEmptyColumns(byId("processes-table"));
    show(byId("job-log"), hasStarted || processes.some((process) => process.started_us > 0));
}

byId("processes").addEventListener("click", (event) => {
    const place = event.target.closest("button")?.dataset.place;

    if (place === undefined)
        return;
    if (!opened.delete(place))
        opened.add(place);
    showProcesses();
});

// --- log ---

function addLines(log, lines) {
    const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 40; // who scrolled up reads there

    for (const line of lines.slice(-LOG_LINES))
        log.append(element("span", {}, element("b", {}, line.who + " "), line.text + "\n"));
    if (lines.length > 0 && byId("log-state").textContent === NOT_YET)
        setText(byId("log-state"), "");
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
    setText(byId("log-state"), NOT_YET);
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
    processes = [];
    hasStarted = false;
    opened.clear();
    for (const id of ["why", "job-processes", "job-log"])
        show(byId(id), false);
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
    const [told, why, known] = await Promise.all([
        get("job", { job }, { signal }), get("why", { job }, { signal }), get("processes", { job, state: "all" }, { signal })]);
    const nowUs = Date.now() * 1000;

    shown = told.id;
    showFacts(told, known.serving, nowUs);
    showWhy(why);
    processes = known.processes;
    hasStarted = told.started_us > 0;
    showProcesses();
}
