// SPDX-License-Identifier: Apache-2.0
// overview.js - the cluster in a sentence, its nodes, its jobs, and what happened last
import { get } from "./api.js";
import { bar, byId, element, fill, said, setText, show, time } from "./dom.js";
import { ago, amounts, bytes, cores, count, mood, nodeStoodStill, passOf, percent, progress, roleSize, shares, span } from "./format.js";

const JOBS_PAGE = 100;
const NODES_SHOWN = 100;
const EVENTS_SHOWN = 200;

const byName = new Intl.Collator("en", { numeric: true }); // n9 before n10
const wanted = { allJobs: false, jobPages: 1, allNodes: false };

function stateOf(state, reason) {
    const cell = element("td", {}, element("span", { class: "state " + mood(state) }, state));

    if (reason !== "")
        cell.append(element("p", { class: "note said" }, reason));
    return cell;
}

// --- nodes ---

function usage(granted, foreign, all, say) {
    return { granted, foreign, all, text: `${say(granted)} of ${say(all)}` + (foreign > 0 ? `, others ${say(foreign)}` : "") };
}

function usageCell(of) {
    if (of.all === 0)
        return element("td", {}, "none");
    const [granted, foreign] = shares(of.all, [of.granted, of.foreign]);

    return element("td", {}, bar([["granted", granted], ["foreign", foreign]]), of.text);
}

function nodeModel(node, nowUs) {
    return {
        name: node.name, state: node.state, processes: node.processes,
        reason: [node.reason, nodeStoodStill(node.frozen_us)].filter((text) => text !== "").join("; "),
        cores: usage(node.cpu_granted_millicores, node.foreign_cpu_millicores, node.cpu_millicores, cores),
        memory: usage(node.memory_granted_bytes, node.foreign_memory_bytes, node.memory_bytes, bytes),
        gpus: usage(node.gpus_granted, node.gpus_foreign.length, node.gpus, String),
        heard: ago(node.last_report_us, nowUs),
    };
}

function nodeRow(node) {
    return element("tr", {},
        element("th", { scope: "row", class: "said" }, node.name), stateOf(node.state, node.reason),
        usageCell(node.cores), usageCell(node.memory), usageCell(node.gpus),
        element("td", {}, String(node.processes)), element("td", {}, node.heard));
}

function showNodes(nodes, nowUs) {
    nodes.sort((a, b) => byName.compare(a.name, b.name));
    const shown = wanted.allNodes ? nodes : nodes.slice(0, NODES_SHOWN);
    const more = byId("nodes-more");

    fill(byId("nodes"), shown.map((node) => nodeModel(node, nowUs)), (node) => node.name, nodeRow);
    show(more, shown.length < nodes.length);
    setText(more.firstElementChild, `All ${count(nodes.length, "node")}`);
}

// --- jobs ---

function jobModel(job, nowUs) {
    return {
        id: job.id, name: job.name, state: job.state, reason: job.reason, user: job.user,
        roles: job.roles.map((role) => `${role.role} ${roleSize(role)}`),
        progress: progress(job), pass: passOf(job),
        age: job.ended_us > 0 ? `ended ${ago(job.ended_us, nowUs)}` : span(nowUs - job.submitted_us),
    };
}

function progressCell(job) {
    if (job.progress === null)
        return element("td", {}, "–");
    return element("td", {},
        element("progress", { max: "1", value: job.progress, "aria-label": "records trained" }, ""),
        element("p", { class: "note" }, `${percent(job.progress)}, ${job.pass}`));
}

function jobRow(job) {
    return element("tr", {},
        element("th", { scope: "row" }, element("a", { href: "#/jobs/" + job.id, class: "said" }, job.name)),
        stateOf(job.state, job.reason),
        element("td", {}, ...job.roles.map((text) => element("p", { class: "said" }, text))),
        progressCell(job), element("td", { class: "said" }, job.user), element("td", {}, job.age));
}

async function readNodes(signal) {
    const nodes = [];
    let next;

    do {
        const answer = await get("nodes", { cursor: next }, { signal });

        nodes.push(...answer.nodes);
        next = answer.next ?? undefined;
    } while (next !== undefined);
    return nodes;
}

async function readJobs(signal) {
    const jobs = [];
    let next = null;

    for (let page = 0; page < wanted.jobPages; page++) {
        const answer = await get("jobs", {
            state: wanted.allJobs ? "all" : "active", limit: JOBS_PAGE, cursor: next ?? undefined,
        }, { signal });

        jobs.push(...answer.jobs);
        next = answer.next;
        if (next === null)
            break;
    }
    return { jobs, more: next !== null };
}

// --- events ---

const events = []; // the newest first
const names = new Map(); // of the jobs that are shown, by number

function eventModel(event, nameOf) {
    return {
        revision: event.revision, us: event.time_us, event: event.event, job: event.job_id,
        name: event.job_id !== null ? nameOf(event.job_id) : null,
        text: [event.node, event.text].filter((text) => text !== "").join(": "),
    };
}

function eventItem(event) {
    const item = element("li", {}, time(event.us, new Date(event.us / 1000).toLocaleTimeString()),
        element("code", { class: "said" }, event.event));

    if (event.name !== null)
        item.append(element("a", { href: "#/jobs/" + event.job, class: "said" }, event.name), " ");
    item.append(said(event.text));
    return item;
}

/** Shows events, the newest first; nameOf(number): of a job, null where it need not be said. */
export function fillEvents(parent, list, nameOf) {
    fill(parent, list.map((event) => eventModel(event, nameOf)), (event) => event.revision, eventItem);
}

/** Takes more of them, the oldest first, to a list whose newest is the first. */
export function addEvents(list, more) {
    for (const event of more)
        list.unshift(event);
    list.length = Math.min(list.length, EVENTS_SHOWN);
}

function showEvents() {
    fillEvents(byId("events"), events, (job) => names.get(job) ?? `job ${job}`);
}

export function tookEvents(more) {
    addEvents(events, more);
    showEvents();
}

/** Of another session: what this one showed is gone. */
export function forgetEvents() {
    events.length = 0;
    showEvents();
}

// --- all of it ---

function sentence(cluster) {
    const busy = percent(cluster.utilisation);
    const waiting = cluster.pending_jobs > 0 ? `, ${cluster.pending_jobs} waiting` : "";

    return `${cluster.nodes_ready} of ${count(cluster.nodes, "node")} ready, ` +
        `${amounts({ cpu_millicores: cluster.cpu_millicores, memory_bytes: cluster.memory_bytes })}, ${busy} in use; ` +
        `${count(cluster.submitted_jobs, "job")}${waiting}; policy ${cluster.policy}`;
}

/** The sentence at the top, whatever is below it. */
export async function readSummary(signal) {
    setText(byId("summary"), sentence(await get("cluster", {}, { signal })));
}

export async function readOverview(signal) {
    const [nodes, { jobs, more }] = await Promise.all([readNodes(signal), readJobs(signal)]);
    const nowUs = Date.now() * 1000;

    showNodes(nodes, nowUs);
    fill(byId("jobs"), jobs.map((job) => jobModel(job, nowUs)), (job) => job.id, jobRow);
    show(byId("jobs-none"), jobs.length === 0);
    for (const job of jobs)
        names.set(job.id, job.name);
    showEvents();
    show(byId("jobs-more"), more);
}

/** changed(): what is wanted is other than what is shown */
export function beginOverview(changed) {
    byId("all").addEventListener("change", (event) => {
        wanted.allJobs = event.target.checked;
        changed();
    });
    byId("jobs-more").firstElementChild.addEventListener("click", () => {
        wanted.jobPages++;
        changed();
    });
    byId("nodes-more").firstElementChild.addEventListener("click", () => {
        wanted.allNodes = true;
        changed();
    });
}
