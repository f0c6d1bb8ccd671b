// SPDX-License-Identifier: Apache-2.0
// overview.js - the cluster in a sentence, its nodes, and what happened last; jobs.js has its jobs
import { get } from "./api.js";
import { bar, byId, cell, element, fill, headCell, hideEmptyColumns, row, said, setText, show, stateWord, time } from "./dom.js";
import { ago, bytes, cores, count, mood, nodeStoodStill, shares } from "./format.js";
import { beginJobs, listedName, readJobs } from "./jobs.js";
import { clusterSentence, schedulersSentence } from "./lists.js";

const NODES_SHOWN = 100;
const EVENTS_SHOWN = 200;

const byName = new Intl.Collator("en", { numeric: true }); // n9 before n10
const wanted = { allNodes: false };

// --- nodes ---

function usage(granted, foreign, all, say) {
    return { granted, foreign, all, text: `${say(granted)} of ${say(all)}` + (foreign > 0 ? `, others ${say(foreign)}` : "") };
}

function usageCell(title, of) {
    if (of.all === 0)
        return cell(title);
    const [granted, foreign] = shares(of.all, [of.granted, of.foreign]);

    return cell(title, bar([["granted", granted], ["foreign", foreign]]), of.text);
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
    return row({},
        headCell(element("a", { href: "#/nodes/" + node.name, class: "said" }, node.name)),
        cell("State", stateWord(node.state, mood(node.state)), node.reason !== "" ? element("p", { class: "note said" }, node.reason) : ""),
        usageCell("Cores", node.cores), usageCell("Memory", node.memory), usageCell("GPUs", node.gpus),
        cell("Processes", String(node.processes)), cell("Heard of", node.heard));
}

function showNodes(nodes, nowUs) {
    nodes.sort((a, b) => byName.compare(a.name, b.name));
    const shown = wanted.allNodes ? nodes : nodes.slice(0, NODES_SHOWN);
    const more = byId("nodes-more");

    fill(byId("nodes"), shown.map((node) => nodeModel(node, nowUs)), (node) => node.name, nodeRow);
    show(byId("nodes-table"), nodes.length > 0);
    show(byId("nodes-legend"), nodes.length > 0);
    show(byId("nodes-none"), nodes.length === 0);
    hideEmptyColumns(byId("nodes-table"));
    show(more, shown.length < nodes.length);
    setText(more.firstElementChild, `All ${count(nodes.length, "node")}`);
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

// --- events ---

const events = []; // the newest first

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
    fillEvents(byId("events"), events, listedName);
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

/** The sentence at the top, whatever is below it. */
export async function readSummary(signal) {
    setText(byId("summary"), clusterSentence(await get("cluster", {}, { signal })));
}

async function readSchedulers(signal) {
    const said = schedulersSentence(await get("schedulers", {}, { signal }), Date.now() * 1000);

    setText(byId("schedulers"), said);
    show(byId("schedulers"), said !== "");
}

export async function readOverview(signal) {
    const [nodes] = await Promise.all([readNodes(signal), readJobs(signal), readSchedulers(signal)]);

    showNodes(nodes, Date.now() * 1000);
    showEvents();
}

/** changed(): what is wanted is other than what is shown */
export function beginOverview(changed) {
    beginJobs(changed);
    byId("nodes-more").firstElementChild.addEventListener("click", () => {
        wanted.allNodes = true;
        changed();
    });
}
