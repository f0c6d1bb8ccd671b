// SPDX-License-Identifier: Apache-2.0
// node.js - one node: its use, its GPUs and who holds them, its processes, and its events
import { get } from "./api.js";
import { bar, byId, cell, element, fill, headCell, hideEmptyColumns, row, said, setText, show, stateWord } from "./dom.js";
import { ago, bytes, cores, count, mood, nodeStoodStill, percent, shares, span } from "./format.js";
import { addEvents, fillEvents } from "./overview.js";

const EVENTS = 200;
const STRANGERS_SAID = 4;

let shown = ""; // the node's name
let events = []; // the newest first
const names = new Map(); // of the jobs that were seen here, by number
let coming = null; // events that came while those of before are still being read

// --- what it is ---

function loadOf(machine) {
    return (machine.load_milli ?? []).map((load) => (load / 1000).toFixed(2)).join(", ");
}

function pressureOf(machine) {
    return Object.entries(machine.pressure ?? {})
        .map(([what, { some_ppm: ppm = 0 }]) => `${what === "io" ? "disks" : what} ${percent(ppm / 1e6)}`).join(", ");
}

function disksOf(machine) {
    return (machine.disks ?? []).map((disk) => `${disk.name}: ${bytes(disk.free_bytes)} of ${bytes(disk.size_bytes)} free`).join("; ");
}

function labelsOf(labels) {
    return Object.entries(labels).map(([name, value]) => `${name}=${value}`).join(", ");
}

function factsOf(node, nowUs) {
    const machine = node.machine ?? {};
    const all = [
        ["Address", node.address], ["Heard of", ago(node.last_report_us, nowUs)], ["Agent", machine.version ?? ""],
        ["Load of 1, 5 and 15 min", loadOf(machine)],
        ["Waits in the last 10 s for", pressureOf(machine)],
        ["Memory available", machine.memory_available_bytes >= 0 ? bytes(machine.memory_available_bytes) : ""],
        ["Disks", disksOf(machine)], ["Labels", labelsOf(node.labels)],
        ["Speed", node.speed !== null ? `${node.speed.toFixed(2)} × that of other nodes` : ""],
        ["Speed of GPUs", node.gpu_speed !== null ? `${node.gpu_speed.toFixed(2)} × that of other nodes` : ""],
    ];

    return all.filter(([, text]) => text !== "");
}

function showFacts(node, nowUs) {
    const facts = factsOf(node, nowUs).flatMap(([name, text]) => [[name + "?", "dt", name], [name, "dd", text]]);

    setText(byId("node-name"), node.name);
    document.title = node.name + " – EDL";
    fill(byId("node-state"), [node.state], () => "state", (state) => stateWord(state, mood(state)));
    setText(byId("node-reason"), [node.reason, nodeStoodStill(node.frozen_us)].filter((text) => text !== "").join("; "));
    fill(byId("node-facts"), facts, ([key]) => key, ([, tag, text]) => element(tag, { class: "said" }, text));
}

// --- its use: granted, taken by others, free ---

function useOf(name, granted, foreign, all, say) {
    return { name, granted: say(granted), foreign: foreign > 0 ? say(foreign) : "", all: say(all), free: say(Math.max(0, all - granted - foreign)),
        parts: shares(all, [granted, foreign]) };
}

function useRow(use) {
    const [granted, foreign] = use.parts;

    return row({}, headCell(use.name), cell("Use", bar([["granted", granted], ["foreign", foreign]])), cell("Granted", `${use.granted} of ${use.all}`),
        cell("Others", use.foreign), cell("Free", use.free));
}

/** What others take beside cores and memory: ports, of those that jobs could get. */
function othersOf(node) {
    const ports = node.ports_foreign;

    return ports.length > 0 ? `Ports for jobs on which others listen: ${ports.slice(0, 20).join(", ")}` + (ports.length > 20 ? " and more" : "") : "";
}

function showUse(node) {
    const uses = [
        useOf("Cores", node.cpu_granted_millicores, node.foreign_cpu_millicores, node.cpu_millicores, cores),
        useOf("Memory", node.memory_granted_bytes, node.foreign_memory_bytes, node.memory_bytes, bytes),
        useOf("GPUs", node.gpus_granted, node.gpus_foreign.length, node.gpus, String),
    ].filter((use) => use.name !== "GPUs" || node.gpus > 0);

    fill(byId("node-use"), uses, (use) => use.name, useRow);
    hideEmptyColumns(byId("node-use-table"));
    setText(byId("node-others"), othersOf(node));
}

// --- its GPUs ---

function gpuModel(device, node, processes) {
    const holder = processes.find((process) => process.gpus.includes(device.device));
    const strangers = device.strangers ?? [];
    const isKnown = device.memory_total_bytes > 0;

    return {
        device: device.device, name: device.name ?? "", bus: device.pci_bus_id ?? "",
        holder: holder ? { id: holder.job_id, text: `${holder.job} ${holder.role}-${holder.index}`, user: holder.user } : null,
        strangers: strangers.slice(0, STRANGERS_SAID).map((one) => `pid ${one.pid} of ${one.user}`).join(", ") +
            (strangers.length > STRANGERS_SAID ? " and others" : ""),
        taken: node.gpus_foreign.includes(device.device) && strangers.length === 0 ? "not free" : "",
        idle: node.gpus_idle.includes(device.device) ? "does nothing" : "",
        busy: isKnown ? percent((device.utilisation_ppm ?? 0) / 1e6) : "",
        memory: isKnown ? `${bytes(device.memory_used_bytes ?? 0)} of ${bytes(device.memory_total_bytes)}` : "",
        share: isKnown ? shares(device.memory_total_bytes, [device.memory_used_bytes ?? 0])[0] : 0,
    };
}

function jobLink(id, text) {
    return element("a", { href: "#/jobs/" + id, class: "said" }, text);
}

function gpuRow(gpu) {
    const holder = gpu.holder === null ? [] : [jobLink(gpu.holder.id, gpu.holder.text), " of ", said(gpu.holder.user)];
    const notes = [gpu.strangers, gpu.taken, gpu.idle].filter((text) => text !== "").map((text) => element("p", { class: "note said" }, text));

    return row({}, headCell(`GPU ${gpu.device}`), cell("Model", gpu.name !== "" ? said(gpu.name) : ""), cell("Holder", ...holder, ...notes),
        cell("Busy", gpu.busy), cell("Memory", ...(gpu.memory !== "" ? [bar([["granted", gpu.share]]), gpu.memory] : [])));
}

// --- its processes ---

/** CPU time, and the cores that it means as soon as that says something */
function cpuOf(process, nowUs) {
    const ranUs = nowUs - process.started_us;
    const mean = process.started_us > 0 && ranUs > 10e6 ? `, ${count(cores(1000 * process.cpu_used_us / ranUs), "core")} on average` : "";

    return process.cpu_used_us >= 1e6 ? span(process.cpu_used_us) + mean : "";
}

function processModel(process, nowUs) {
    return {
        key: `${process.job_id}.${process.role}.${process.index}.${process.incarnation}`, id: process.job_id, job: process.job, user: process.user,
        name: `${process.role}-${process.index}`, state: process.state, reason: process.stuck ?? process.reason,
        since: ago(process.started_us || process.assigned_us, nowUs), gpus: process.gpus.join(", "),
        cpu: cpuOf(process, nowUs),
        memory: process.memory_used_bytes > 0 ? bytes(process.memory_used_bytes) : "",
    };
}

function processRow(process) {
    return row({}, headCell(jobLink(process.id, process.job)), cell("Process", said(process.name)),
        cell("State", stateWord(process.state, mood(process.state)), process.reason !== "" ? element("p", { class: "note said" }, process.reason) : ""),
        cell("User", said(process.user)), cell("GPUs", process.gpus), cell("CPU time", process.cpu),
        cell("Memory", process.memory), cell("Since", process.since));
}

// --- its events ---

function took(more) {
    addEvents(events, more.filter((event) => shown !== "" && event.node === shown).map((event) => ({ ...event, node: "" })));
    showEvents();
}

function showEvents() {
    fillEvents(byId("node-events"), events, (job) => names.get(job) ?? `job ${job}`);
}

async function readEvents(node, signal) {
    const meanwhile = coming = [];

    try {
        const past = (await get("nodeEvents", { node, limit: EVENTS }, { signal })).events;
        const newest = past.length > 0 ? past[0].revision : 0;

        if (!signal.aborted)
            took([...past.reverse(), ...meanwhile.filter((event) => event.revision > newest)]);
    } finally {
        if (coming === meanwhile) // else another node is shown by now
            coming = null;
    }
}

// --- all of it ---

/** Shows the node from now on; failed(problem) when its events cannot be read. */
export function beginNode(node, signal, failed) {
    shown = node;
    events = [];
    names.clear();
    for (const id of ["node-events", "node-facts", "node-state", "node-use", "node-gpus", "node-processes"])
        byId(id).replaceChildren();
    for (const id of ["node-name", "node-reason", "node-others"])
        setText(byId(id), "");
    readEvents(node, signal).catch(failed);
}

export function tookNodeEvents(more) {
    if (coming !== null)
        coming.push(...more);
    else
        took(more);
}

export async function readNode(node, signal) {
    const [told, { processes }] = await Promise.all([get("node", { node }, { signal }), get("nodeProcesses", { node }, { signal })]);
    const nowUs = Date.now() * 1000;

    for (const process of processes)
        names.set(process.job_id, process.job);
    showFacts(told, nowUs);
    showEvents();
    showUse(told);
    show(byId("node-gpus-section"), told.devices.length > 0);
    fill(byId("node-gpus"), told.devices.map((device) => gpuModel(device, told, processes)), (gpu) => gpu.device, gpuRow);
    hideEmptyColumns(byId("node-gpus-table"));
    fill(byId("node-processes"), processes.map((process) => processModel(process, nowUs)), (process) => process.key, processRow);
    hideEmptyColumns(byId("node-processes-table"));
    show(byId("node-processes-table"), processes.length > 0);
    show(byId("node-idle"), processes.length === 0);
}
