// SPDX-License-Identifier: Apache-2.0
// lists.js - what the lists of jobs and processes say, and how a filter stands in the page's address; pure
import { amounts, count, mood, passOf, percent, progress, span } from "./format.js";

/** The cluster in a sentence. */
export function clusterSentence(cluster) {
    const waiting = cluster.pending_jobs > 0 ? `, ${cluster.pending_jobs} waiting` : "";
    const nodes = cluster.nodes === 0 ? "no node has joined" : `${cluster.nodes_ready} of ${count(cluster.nodes, "node")} ready`;
    const size = amounts({ cpu_millicores: cluster.cpu_millicores, memory_bytes: cluster.memory_bytes });

    return nodes + (size !== "" ? `, ${size}, ${percent(cluster.utilisation)} in use` : "") +
        `; ${count(cluster.submitted_jobs, "job")}${waiting}; policy ${cluster.policy}`;
}

/** Who leads, who stands by, and on how many machines each change is; "" where one scheduler is alone. */
export function schedulersSentence({ schedulers, database }, nowUs) {
    const leader = schedulers.find((one) => one.role === "leader");

    if (leader === undefined)
        return "";
    const others = schedulers.filter((one) => one !== leader).map((one) => `${one.name} is ${one.role === "standby" ? "a standby" : one.role}`);
    const told = [`Scheduler ${leader.name} leads for ${span(nowUs - leader.since_us)} (term ${leader.term})`, ...others];
    const held = (database?.copies ?? []).filter((copy) => copy.state === "sync" || copy.state === "quorum").length;
    const unknown = (database?.copies ?? []).some((copy) => copy.state === "unknown");

    if (database !== undefined)
        told.push(unknown ? "copies of the database are not known" : held === 0 ? "each change is in one database alone" :
            `each change is in ${count(held + 1, "database")}`);
    if (database?.detail !== undefined)
        told.push(database.detail);
    return told.join("; ");
}

/** The address of the leader that a standby tells of; null: it leads, is alone, or knows of none that a browser can call. */
export function leaderOf(health) {
    const isLink = /^https?:\/\//.test(health.leader ?? "");

    return health.role === "standby" && isLink ? health.leader : null;
}

// --- the filter of the jobs, in the address: #/?state=failed&user=ann&name=sweep&before=4711 ---

const STATES = ["queued", "starting", "running", "resizing", "stopping", "succeeded", "failed", "killed"];
const KEYS = ["state", "user", "name", "before"];
const ACTIVE = "active";

/** What is chosen: { state, user, name, before }; a key that is left out is "", and state is "active". */
export function filterOf(hash) {
    const query = new URLSearchParams(hash.startsWith("#/?") ? hash.slice(3) : "");
    const filter = Object.fromEntries(KEYS.map((key) => [key, query.get(key) ?? ""]));

    return { ...filter, state: filter.state || ACTIVE };
}

export function addressOf(filter) {
    const query = new URLSearchParams();

    for (const key of KEYS)
        if (filter[key] !== "" && !(key === "state" && filter.state === ACTIVE))
            query.set(key, filter[key]);
    return "#/" + (String(query) !== "" ? "?" + query : "");
}

/** Whether it leaves out jobs that the page shows by itself. */
export function isFiltered(filter) {
    return filter.state !== ACTIVE || filter.user !== "" || filter.name !== "";
}

// --- a job's cells ---

/** How far it is, for people and as a share from 0 to 1; share null: nobody knows; text "": nothing is to be said */
export function progressOf(job) {
    const share = progress(job);

    if (share !== null)
        return { share, text: `${percent(share)}, ${passOf(job)}` };
    if (job.steps && job.steps.step > 0) {
        const speed = job.steps.samples_per_s > 0 ? `, ${Number(job.steps.samples_per_s.toPrecision(3))} samples/s` : "";

        return { share: null, text: `step ${job.steps.step}${speed}` };
    }
    return { share: null, text: "" };
}

/** How many jobs of an array are in which state, those that failed first: [{ state, n }] */
export function statesOf(array) {
    const first = (state) => (mood(state) === "bad" ? 0 : mood(state) === "waits" ? 2 : 1);

    return STATES.filter((state) => array.states[state] > 0).map((state) => ({ state, n: array.states[state] }))
        .sort((a, b) => first(a.state) - first(b.state));
}

/** Of an array: how many of its jobs are over. */
export function overOf(array) {
    const over = ["succeeded", "failed", "killed"].reduce((sum, state) => sum + (array.states[state] ?? 0), 0);

    return { share: over / array.jobs, text: `${over} of ${array.jobs} over` };
}

/** The indexes of an array's jobs: "0 to 299" */
export function indexesOf(array) {
    const last = array.first_index + array.last_id - array.first_id;

    return array.first_index === last ? String(last) : `${array.first_index} to ${last}`;
}

/** The name of a job by its number, of jobs and arrays that were listed; null: it was not */
export function nameIn(listed, id) {
    const array = listed.find(({ array: run }) => run !== undefined && run.first_id <= id && id <= run.last_id)?.array;

    if (array !== undefined)
        return `${array.name}-${array.first_index + id - array.first_id}`;
    return listed.find((job) => job.id === id)?.name ?? null;
}

// --- a job's processes ---

const STOPPED = ["job-ends", "shrunk", "makes-room", "own-services", "drained", "node-offers-less", "moved", "agent-stops"];

/** How it ended, or its state: "exit 1", "signal 9", "stopped", "running" */
export function endOf(process) {
    if (process.state !== "exited")
        return process.state;
    if (STOPPED.includes(process.cause))
        return "stopped";
    if (process.exit_signal > 0)
        return `signal ${process.exit_signal}`;
    return process.exit_code > 0 ? `exit ${process.exit_code}` : "exited";
}

/** mood() of a process: an end that nobody asked for and that is no success is bad; "over" is one that was asked for. */
export function moodOf(process) {
    if (process.state !== "exited")
        return mood(process.state);
    if (STOPPED.includes(process.cause))
        return "over";
    return process.exit_code > 0 || process.exit_signal > 0 ? "bad" : "good";
}

/** "30 tries, last: exit 1 on n2": of a process that was started more than once; "" of another one */
export function triesOf(tries) {
    const ended = tries.find((process) => process.state === "exited" || process.state === "lost");

    if (tries.length < 2)
        return "";
    return `${tries.length} tries` + (ended ? `, last: ${endOf(ended)} on ${ended.node}` : "");
}

/** Processes by their place in the job: [{ key, name, tries }], of each the newest try first. */
export function placesOf(processes) {
    const places = new Map();

    for (const process of processes) {
        const name = `${process.role}-${process.index}`;

        if (!places.has(name))
            places.set(name, { key: name, name, role: process.role, index: process.index, tries: [] });
        places.get(name).tries.push(process);
    }
    for (const place of places.values())
        place.tries.sort((a, b) => b.incarnation - a.incarnation);
    return [...places.values()];
}
