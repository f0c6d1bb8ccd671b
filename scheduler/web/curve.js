// SPDX-License-Identifier: Apache-2.0
// curve.js - how a job went: its processes with each resize, how much is done, its cost and its speed over time
import { get } from "./api.js";
import { canDraw, colourer, legend, momentText, picture, resizeText, shortNumber } from "./chart.js";
import { byId, element, fill, setText, show, time } from "./dom.js";
import { count, percent } from "./format.js";

const REFRESH_MS = 5000; // as often as there is a point at most
const OLD_SHARE = 200; // of a long job: its whole time by so much
const BIN_PIXELS = 3;
const LIST_MOST = 100;
const ROWS_MOST = 20;

let read = { at: 0, job: "", restMs: 0 };
let pictures = {}; // by the id of their place
const colours = colourer();

function place(id, told) {
    pictures[id] = pictures[id] ?? picture(byId(id), told);
    return pictures[id];
}

// --- processes ---

function resizeItem(resize) {
    return element("li", {}, time(resize.time_us, new Date(resize.time_us / 1000).toLocaleString()),
        element("span", { class: "said" }, resizeText(resize)));
}

function marksOf(answer) {
    return answer.resizes.map((resize) => ({ ms: resize.time_us / 1000, up: resize.to > resize.from, text: resizeText(resize) }));
}

function showResizes(answer) {
    const newest = answer.resizes.slice(-LIST_MOST).reverse();

    setText(byId("job-resizes-title"), answer.resizes.length === 0 ? "It was not resized" :
        `${answer.resizes_left_out ? "More than " : ""}${count(answer.resizes.length, "resize")}` + (newest.length < answer.resizes.length ? `, the last ${newest.length}` : ""));
    fill(byId("job-resizes"), newest, (resize) => resize.revision, resizeItem);
}

function drawProcesses(answer) {
    const from = answer.since_us / 1000, to = answer.until_us / 1000, width = (to - from) / answer.bins;
    const roles = answer.roles.filter((role) => role.processes.some((n) => n > 0));
    const of = colours(roles.map((role) => role.role));

    place("job-held-picture", { unit: "processes", stacked: true, whole: true, value: shortNumber }).show({
        series: roles.map((role, i) => ({
            label: role.role, colour: of[i], points: role.processes.map((y, bin) => ({ x: from + (bin + 0.5) * width, y })),
        })),
        from, to, most: 1, marks: marksOf(answer), label: "processes over time; the list below has each resize",
    });
    legend(byId("job-held-legend"), roles.map((role, i) => ({ key: role.role, label: role.role, colour: of[i] })));
}

// --- progress ---

/** Each value as the mean of those around it: tasks end in bursts, and a speed that jumps tells nothing. */
export function smoothed(values) {
    const reach = Math.max(1, Math.floor(values.length / 60));

    return values.map((value, i) => {
        const known = values.slice(Math.max(0, i - reach), i + reach + 1).filter((one) => one !== null);

        return value === null ? null : known.reduce((sum, one) => sum + one, 0) / known.length;
    });
}

const COUNTED = { step: "steps", batch: "batches", iteration: "iterations" };

/** "records / s" */
function rateUnit(progress) {
    return `${COUNTED[progress.rate_of] ?? progress.rate_of} / s`;
}

/** Curves of which something is known: where they stand, of what they are, and how a value reads. */
function curvesOf(progress) {
    const some = (values) => values.some((value) => value !== null);
    const all = progress === null ? [] : [
        { id: "job-done", title: "Done", unit: "%", colour: "#009e73", values: progress.done.map((part) => part === null ? null : part * 100), value: (y) => percent(y / 100) },
        { id: "job-cost", title: progress.cost_name === "loss" ? "Loss" : "Cost", unit: progress.cost_name ?? "", colour: "#d55e00", values: progress.cost, value: shortNumber },
        { id: "job-rate", title: "Speed", unit: rateUnit(progress), colour: "#0072b2", values: smoothed(progress.rate_per_s),
            value: (y) => `${shortNumber(y)} ${rateUnit(progress)}` },
    ];

    return all.filter((curve) => some(curve.values));
}

function drawCurve(curve, answer) {
    const times = answer.progress.time_us;
    const zeros = curve.values.every((value) => value === null || value >= 0);

    place(curve.id, { unit: curve.unit, zeros: true, value: curve.value }).show({
        series: [{ label: curve.title, colour: curve.colour, points: curve.values.map((y, i) => ({ x: times[i] / 1000, y })) }],
        from: answer.since_us / 1000, to: answer.until_us / 1000, most: curve.unit === "%" ? 100 : undefined, marks: marksOf(answer),
        label: `${curve.title} over time${zeros ? "" : ", also below 0"}; the table below has the figures`,
    });
}

/** A few rows of many points: the last one of each of equal parts. */
function rowsOf(progress) {
    const n = progress.time_us.length, rows = Math.min(n, ROWS_MOST);

    return Array.from({ length: rows }, (_, row) => {
        const i = Math.floor((row + 1) * n / rows) - 1;

        return { us: progress.time_us[i], done: progress.done[i], cost: progress.cost[i], rate: progress.rate_per_s[i] };
    }).reverse();
}

function figuresRow(row) {
    return element("tr", {}, element("th", { scope: "row" }, momentText(row.us / 1000)), element("td", {}, row.done === null ? "–" : percent(row.done)),
        element("td", {}, shortNumber(row.cost)), element("td", {}, shortNumber(row.rate)));
}

function showProgress(answer) {
    const curves = curvesOf(answer.progress);

    show(byId("job-curves"), canDraw() && curves.length > 0);
    for (const id of ["job-done", "job-cost", "job-rate"]) {
        const curve = curves.find((one) => one.id === id);

        show(byId(id).parentElement, curve !== undefined);
        if (curve !== undefined)
            setText(byId(id + "-title"), curve.title + (curve.id === "job-rate" ? `, ${curve.unit}` : ""));
        if (curve !== undefined && canDraw())
            drawCurve(curve, answer);
    }
    show(byId("job-curves-none"), curves.length === 0);
    show(byId("job-curves-table"), curves.length > 0);
    setText(byId("job-cost-name"), answer.progress?.cost_name === "loss" ? "Loss" : "Cost");
    setText(byId("job-rate-name"), answer.progress?.rate_of ? rateUnit(answer.progress) : "Speed");
    fill(byId("job-curves-rows"), curves.length > 0 ? rowsOf(answer.progress) : [], (row) => row.us, figuresRow);
}

// --- all of it ---

/** Reads it anew when what is shown is old. */
export async function readCurves(job, signal) {
    if (read.job === job && performance.now() - read.at < read.restMs)
        return;
    const bins = Math.max(50, Math.min(500, Math.floor(byId("job-held").clientWidth / BIN_PIXELS)));
    const answer = await get("history", { job, bins }, { signal });

    if (signal.aborted)
        return;
    read = { at: performance.now(), job, restMs: Math.max(REFRESH_MS, (answer.until_us - answer.since_us) / 1000 / OLD_SHARE) };
    show(byId("job-held-picture"), canDraw());
    show(byId("job-held-legend"), canDraw());
    show(byId("job-no-picture"), !canDraw());
    if (canDraw())
        drawProcesses(answer);
    showResizes(answer);
    showProgress(answer);
}

/** Another job is shown, or none: what was drawn is of the one before. */
export function forgetCurves() {
    read = { at: 0, job: "", restMs: 0 };
    for (const one of Object.values(pictures))
        one.end();
    pictures = {};
    for (const id of ["job-resizes", "job-curves-rows", "job-held-legend"])
        byId(id).replaceChildren();
    show(byId("job-curves"), false);
    show(byId("job-curves-table"), false);
}
