// SPDX-License-Identifier: Apache-2.0
// search.js - a search of edl search: one row for each trial, the best first, with its values and the way of its metric
import { get } from "./api.js";
import { shortNumber } from "./chart.js";
import { byId, cell, element, fill, headCell, hideEmptyColumns, row, setText, show, stateWord } from "./dom.js";
import { count, mood } from "./format.js";
import { showPictures } from "./parallel.js";

const PAGE = 250;
const JOBS_MOST = 1000; // what is more is said
const WIDTH = 160, HEIGHT = 32, EDGE = 2;
const REACHED = "it has come as far as its search lets it"; // the reasons of kills by edl search itself: client/search_jobs.h
const STOPPED = "it was stopped with its search";
const OVER = new Set(["succeeded", "failed", "killed"]);

// --- pure ---

/** What the jobs of a search say of its trials, the best first: of each rung the newest job counts, of each trial the last rung. */
export function trialsOf(jobs, search) {
    const trials = new Map();

    for (const job of jobs.filter(({ trial }) => trial?.search === search).sort((a, b) => a.id - b.id)) {
        const { trial, metrics } = job;
        const before = trials.get(trial.trial) ?? { rungs: new Map() };
        const value = metrics?.[trial.metric];
        const curve = Array.isArray(metrics?._curve) ? metrics._curve.map((point) => point?.[1]) : [value];

        before.rungs.set(trial.rung ?? 0, curve.filter(Number.isFinite));
        trials.set(trial.trial, { rungs: before.rungs, job, trial });
    }
    return [...trials.values()].map(modelOf).sort(order(directionOf(jobs, search)));
}

function directionOf(jobs, search) {
    return jobs.find(({ trial }) => trial?.search === search)?.trial.direction;
}

function modelOf({ rungs, job, trial }) {
    const curve = [...rungs.keys()].sort((a, b) => a - b).flatMap((rung) => rungs.get(rung));
    const failed = job.state === "failed" || (job.state === "killed" && job.reason !== REACHED && job.reason !== STOPPED);

    return {
        number: trial.trial, rung: trial.rung ?? 0, id: job.id, state: job.state, user: job.user, metric: trial.metric ?? "",
        values: Object.entries(trial.parameters).map(([name, value]) => `${name} ${value}`).join(", "),
        parameters: trial.parameters, begunUs: job.submitted_us, endedUs: job.ended_us || job.submitted_us + job.lasted_us,
        result: failed || curve.length === 0 ? null : curve[curve.length - 1], curve, error: failed ? job.reason : "",
    };
}

function order(direction) {
    const sign = direction === "minimize" ? 1 : -1;

    return (a, b) => (a.result === null) - (b.result === null) || (a.result !== null && sign * (a.result - b.result)) ||
        (a.error !== "") - (b.error !== "") || a.number - b.number;
}

/** The points of a curve in a picture of that size, as an attribute of SVG. */
export function pointsOf(curve, least, most) {
    const wide = Math.max(1, curve.length - 1), high = most > least ? most - least : 1;

    return curve.map((value, i) => `${(EDGE + (WIDTH - 2 * EDGE) * i / wide).toFixed(1)},` +
        `${(HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * (value - least) / high).toFixed(1)}`).join(" ");
}

// --- shown ---

/** All trials in the same range, so that one look compares them. */
function curvePicture({ curve, metric, least, most }) {
    const text = `${metric} from ${shortNumber(curve[0])} to ${shortNumber(curve[curve.length - 1])}, ${count(curve.length, "point")}`;
    const picture = byId("way").content.firstElementChild.cloneNode(true);

    picture.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
    picture.setAttribute("aria-label", text);
    picture.firstElementChild.setAttribute("points", pointsOf(curve, least, most));
    return picture;
}

function trialRow(trial) {
    const state = [stateWord(trial.state, `${mood(trial.state)} ${trial.state}`)];
    const link = element("a", { href: `#/jobs/${trial.id}`, class: "said" }, `${trial.number}`);

    if (trial.error !== "")
        state.push(element("p", { class: "note said" }, trial.error));
    return row({}, headCell(link), cell("State", ...state), cell("Result", trial.result === null ? "" : shortNumber(trial.result)),
        cell("Values", element("span", { class: "said" }, trial.values)), cell("Rung", trial.rung > 0 ? String(trial.rung) : ""),
        cell("Curve", trial.curve.length > 1 ? curvePicture(trial) : ""));
}

async function jobsOf(user, search, signal) {
    let jobs = [], cursor;

    do {
        const page = await get("jobs", { state: "all", user, name: `${search}-`, limit: PAGE, cursor }, { signal });

        jobs = jobs.concat(page.jobs);
        cursor = page.next ?? undefined;
    } while (cursor !== undefined && jobs.length < JOBS_MOST && !signal.aborted);
    return { jobs, more: cursor !== undefined };
}

export function beginSearch() {
    byId("trials").replaceChildren();
    show(byId("search-pictures"), false);
    for (const id of ["search-name", "search-said", "search-result"])
        setText(byId(id), "");
}

/** place: USER/NAME, as two users may have a search of one name. */
export async function readSearch(place, signal) {
    const [user, search] = place.split("/");
    const { jobs, more } = await jobsOf(user, search, signal);

    if (signal.aborted)
        return;
    const trials = trialsOf(jobs, search);
    const values = trials.flatMap(({ curve }) => curve);
    const least = values.reduce((a, b) => Math.min(a, b), Infinity), most = values.reduce((a, b) => Math.max(a, b), -Infinity);
    const over = trials.filter(({ state }) => OVER.has(state)).length;

    setText(byId("search-name"), search);
    document.title = search + " – EDL";
    setText(byId("search-said"), trials.length === 0 ? "No job of such a search is known." :
        `${count(trials.length, "trial")} of ${user}, ${over} of them over` + (more ? "; only the first jobs are shown" : ""));
    setText(byId("search-result"), trials[0]?.metric ?? "");
    show(byId("trials-table"), trials.length > 0);
    fill(byId("trials"), trials.map((trial) => ({ ...trial, least, most })), ({ number }) => number, trialRow);
    hideEmptyColumns(byId("trials-table"));
    showPictures(trials, trials[0]?.metric ?? "", directionOf(jobs, search));
}
