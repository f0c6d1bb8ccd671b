// SPDX-License-Identifier: Apache-2.0
// timeline.js - who held what over the last hour, day or week: a stacked picture, its figures as a table, and each resize
import { get } from "./api.js";
import { canDraw, colourer, legend, picture, resizeText, SERIES_SHOWN, shortNumber } from "./chart.js";
import { byId, element, fill, setText, show, time } from "./dom.js";
import { count } from "./format.js";

const SPANS = { hour: 3600, day: 86400, week: 604800 };
const REFRESH_MS = { hour: 5000, day: 30000, week: 120000 }; // as much as a bin moves, or less
const BIN_PIXELS = 3;
const LIST_MOST = 50;

const colours = colourer();
let drawn = null; // the picture
let read = { at: 0, wanted: "" }; // what is shown, and since when

function wanted() {
    return { span: byId("held-span").value, by: byId("held-by").value, resource: byId("held-resource").value };
}

function unitOf(answer) {
    return answer.resource === "gpus" ? { word: "GPUs", of: 1 } : { word: "cores", of: 1000 };
}

function labelOf(series, by) {
    return by === "user" ? series.user : `${series.job ?? "job " + series.job_id} (${series.user})`;
}

/** Those that are drawn, the most first: beyond a few colours nobody tells them apart. */
function shownSeries(answer, unit) {
    const all = answer.series.map((series) => ({
        key: answer.by === "user" ? series.user : String(series.job_id), label: labelOf(series, answer.by),
        values: series.values.map((value) => value / unit.of),
    }));
    const rest = all.slice(SERIES_SHOWN);
    const others = answer.others?.values.map((value) => value / unit.of);
    const n = rest.length + (answer.others?.n ?? 0);
    const shown = all.slice(0, SERIES_SHOWN);

    if (n > 0)
        shown.push({
            key: "", label: count(n, `other ${answer.by}`),
            values: Array.from({ length: answer.bins }, (_, i) => (others?.[i] ?? 0) + rest.reduce((sum, one) => sum + one.values[i], 0)),
        });
    return shown;
}

function figuresOf(series, hours) {
    const mean = series.values.reduce((sum, value) => sum + value, 0) / series.values.length;

    return { key: series.key, label: series.label, mean, most: Math.max(...series.values), now: series.values[series.values.length - 1], hours: mean * hours };
}

function figuresRow(row) {
    return element("tr", {}, element("th", { scope: "row", class: "said" }, row.label),
        ...[row.hours, row.mean, row.most, row.now].map((value) => element("td", {}, shortNumber(value))));
}

function resizeItem(resize) {
    return element("li", {}, time(resize.time_us, new Date(resize.time_us / 1000).toLocaleString()),
        element("a", { href: "#/jobs/" + resize.job_id, class: "said" }, resize.job ?? "job " + resize.job_id), " ",
        element("span", { class: "said" }, resizeText(resize)));
}

function showFigures(answer, series, unit) {
    const hours = (answer.until_us - answer.since_us) / 3.6e9;
    const newest = answer.resizes.slice(-LIST_MOST).reverse();

    setText(byId("held-unit-hours"), unit.word === "cores" ? "Core hours" : "GPU hours");
    setText(byId("held-owner"), answer.by === "user" ? "User" : "Job");
    fill(byId("held-rows"), series.map((one) => figuresOf(one, hours)), (row) => row.key, figuresRow);
    show(byId("held-none"), series.length === 0);
    setText(byId("held-resizes-title"), answer.resizes.length === 0 ? "No job was resized" :
        `${answer.resizes_left_out ? "More than " : ""}${count(answer.resizes.length, "resize")}` + (newest.length < answer.resizes.length ? `, the last ${newest.length}` : ""));
    fill(byId("held-resizes"), newest, (resize) => resize.revision, resizeItem);
}

function since(answer, span) {
    const late = answer.known_since_us > answer.until_us - SPANS[span] * 1e6;

    return late ? `Kept since ${new Date(answer.known_since_us / 1000).toLocaleString()}.` : "";
}

function draw(answer, series, unit, offered) {
    const from = answer.since_us / 1000, to = answer.until_us / 1000, width = (to - from) / answer.bins;
    const of = colours(series.map((one) => one.key));
    const parts = series.map((one, i) => ({
        label: one.label, colour: of[i], points: one.values.map((y, bin) => ({ x: from + (bin + 0.5) * width, y })),
    }));

    if (drawn?.unit !== unit.word)
        drawn?.picture.end();
    if (drawn?.unit !== unit.word)
        drawn = { unit: unit.word, picture: picture(byId("held-picture"), { unit: unit.word, stacked: true, value: (y) => `${shortNumber(y)} ${unit.word}` }) };
    drawn.picture.show({
        series: parts, from, to, most: offered,
        marks: answer.resizes.map((resize) => ({ ms: resize.time_us / 1000, up: resize.to > resize.from, text: `${resize.job ?? "job " + resize.job_id}: ${resizeText(resize)}` })),
        label: `${unit.word} held over the last ${byId("held-span").value} by ${answer.by}; the table below has the figures`,
    });
    legend(byId("held-legend"), series.map((one, i) => ({ key: one.key, label: one.label, colour: of[i] })));
}

/** Of a new cluster all that there is, and no empty week before it. */
async function allocation(given, signal) {
    const answer = await get("allocation", given, { signal });
    const known_us = Math.min(answer.known_since_us, answer.until_us - 60e6);

    return known_us > given.since_us ? get("allocation", { ...given, since_us: Math.round(known_us) }, { signal }) : answer;
}

/** Reads it anew when what is shown is old, or another picture is wanted. cluster: as the API tells it */
export async function readTimeline(signal) {
    const { span, by, resource } = wanted();
    const key = [span, by, resource].join();

    if (read.wanted === key && performance.now() - read.at < REFRESH_MS[span])
        return;
    const bins = Math.max(50, Math.min(500, Math.floor(byId("held").clientWidth / BIN_PIXELS)));
    const given = { by, resource, bins, since_us: Math.round((Date.now() - SPANS[span] * 1000) * 1000) };
    const [answer, cluster] = await Promise.all([allocation(given, signal), get("cluster", {}, { signal })]);
    const unit = unitOf(answer);
    const series = shownSeries(answer, unit);

    read = { at: performance.now(), wanted: key };
    show(byId("held-picture"), canDraw());
    show(byId("held-legend"), canDraw());
    show(byId("held-no-picture"), !canDraw());
    if (canDraw())
        draw(answer, series, unit, resource === "cpu" ? cluster.cpu_millicores / 1000 : undefined);
    showFigures(answer, series, unit);
    setText(byId("held-since"), since(answer, span));
}

/** changed(): another picture is wanted */
export function beginTimeline(changed) {
    for (const id of ["held-span", "held-by", "held-resource"])
        byId(id).addEventListener("change", changed);
}

/** Of another session: what this one showed is gone. */
export function forgetTimeline() {
    read = { at: 0, wanted: "" };
    drawn?.picture.end();
    drawn = null;
    for (const id of ["held-rows", "held-resizes", "held-legend"])
        byId(id).replaceChildren();
}
