// SPDX-License-Identifier: Apache-2.0
// format.js - numbers of the API as people say them; pure

export const NEVER = "never";

/** 1500 millicores: "1.5" */
export function cores(millicores) {
    return String(Math.round(millicores / 100) / 10);
}

export function bytes(n) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let unit = 0;

    while (n >= 1024 && unit < units.length - 1) {
        n /= 1024;
        unit++;
    }
    return (n >= 100 || unit === 0 ? Math.round(n) : Math.round(n * 10) / 10) + " " + units[unit];
}

/** Microseconds as the two largest units: "2d 4h", "3m 20s". */
export function span(us) {
    const units = [["d", 86400], ["h", 3600], ["m", 60], ["s", 1]];
    let left = Math.max(0, Math.floor(us / 1e6));
    const first = units.findIndex(([, size]) => left >= size);

    if (first < 0)
        return "0s";
    return units.slice(first, first + 2).map(([name, size]) => {
        const n = Math.floor(left / size);

        left -= n * size;
        return n > 0 ? n + name : "";
    }).filter((text) => text !== "").join(" ");
}

/** How long ago; 0 is no time at all. */
export function ago(us, nowUs) {
    return us === 0 ? NEVER : span(nowUs - us) + " ago";
}

export function percent(part) {
    return Math.round(part * 100) + " %";
}

/** "1 job", "0 jobs", "2 jobs"; a text as it is: "1.5 cores" */
export function count(n, noun) {
    return `${n} ${noun}${String(n) === "1" ? "" : "s"}`;
}

/** Cores, memory, GPUs of an amount that is not nothing: "1.5 cores, 2 GiB, 1 GPU" */
export function amounts(what) {
    const said = [];

    if (what.cpu_millicores > 0)
        said.push(count(cores(what.cpu_millicores), "core"));
    if (what.memory_bytes > 0)
        said.push(bytes(what.memory_bytes));
    if (what.gpus > 0)
        said.push(count(what.gpus, "GPU"));
    if (what.ports > 0)
        said.push(count(what.ports, "port"));
    return said.join(", ");
}

/** How many instances a role may have: "2 to 10" */
export function bounds(role) {
    return role.min === role.max ? String(role.min) : `${role.min} to ${role.max}`;
}

/** "3 of 2 to 10", and what is on its way */
export function roleSize(role) {
    const moving = [];

    if (role.starting > 0)
        moving.push(role.starting + " starting");
    if (role.stopping > 0)
        moving.push(role.stopping + " stopping");
    return `${role.running} of ${bounds(role)}` + (moving.length > 0 ? ` (${moving.join(", ")})` : "");
}

/** How much of all passes is done, 0 to 1; null: the job has no data, or nobody knows how much */
export function progress(job) {
    const all = job.records_pass * job.passes;

    return job.dataset && all > 0 ? Math.min(1, (job.records_total + job.records_lost) / all) : null;
}

/** What of its data is damaged and was not trained; "": nothing */
export function lost(job) {
    return job.chunks_lost > 0 ? `${count(job.records_lost, "record")} in ${count(job.chunks_lost, "damaged chunk")}` : "";
}

/** Passes are counted from 0, and people begin at 1. */
export function passOf(job) {
    return `pass ${Math.min(job.pass + 1, job.passes)} of ${job.passes}`;
}

/** That a process stood still for so long; "": it did not. node: its name, "" where that is said elsewhere */
export function stoodStill(us = 0, node = "") {
    return us > 0 ? `stood still for ${(us / 1e6).toFixed(1)} s: its node ${node === "" ? "" : node + " "}was cut off` : "";
}

/** The same of a node, which tells the longest standstill of its processes */
export function nodeStoodStill(us = 0) {
    return us > 0 ? `cut off: its processes stood still for up to ${(us / 1e6).toFixed(1)} s` : "";
}

/** What those that serve tell of their queues, together; "": nothing */
export function served(serving) {
    return serving ? `${count(serving.students, "student")}, ${count(serving.queue_tasks.toFixed(1), "task")} waiting for each of ` +
        `${serving.told}, ${count(serving.tasks_per_s.toFixed(1), "task")} a second, busy ${percent(serving.busy_share)}` +
        (serving.wanted !== null ? `; ${serving.wanted} wanted by the queue` : "") : "";
}

/** The process that failed first, and what it said; "": none did */
export function firstError(first) {
    return first ? `First error: ${first.process} on node ${first.node}, ${new Date(first.time_us / 1000).toLocaleString()}: ${first.text}` : "";
}

/** good, waits or bad: how a state of a job, process or node is meant */
export function mood(state) {
    const bad = ["failed", "killed", "lost", "quarantined"];
    const good = ["running", "succeeded", "ready", "exited"];

    return bad.includes(state) ? "bad" : good.includes(state) ? "good" : "waits";
}

/** Parts of a bar that holds `all`, each as a share from 0 to 1; what is beyond it is cut. */
export function shares(all, parts) {
    let left = 1;

    return parts.map((part) => {
        const share = all > 0 ? Math.min(left, Math.max(0, part / all)) : 0;

        left -= share;
        return share;
    });
}

/** Pieces of the processes' output to lines, each with who wrote it: a piece need not end with its line. */
export function lineJoiner(longest = 8192) {
    const open = new Map();

    /** What has no end yet, as lines. */
    join.rest = () => [...open].map(([key, text]) => ({ who: key.slice(0, key.lastIndexOf(".")), text }));
    return join;

    function join(entries) {
        const lines = [];

        for (const entry of entries) {
            const who = `${entry.role}-${entry.index}`;
            const key = `${who}.${entry.incarnation}`;
            const parts = ((open.get(key) ?? "") + entry.text).split("\n");
            const rest = parts.pop();

            for (const text of parts)
                lines.push({ who, text });
            if (rest.length > longest) {
                lines.push({ who, text: rest });
                open.delete(key);
            } else if (rest !== "") {
                open.set(key, rest);
            } else {
                open.delete(key);
            }
        }
        return lines;
    }
}
