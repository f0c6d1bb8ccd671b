// SPDX-License-Identifier: Apache-2.0
// parallel.js - two pictures of a search: which values led to which results, and the results over time
import { shortNumber } from "./chart.js";
import { byId, show, shape } from "./dom.js";

const AXES_MOST = 16, TEXT_MOST = 14;
const AXIS_WIDTH = 110, LEFT = 90, TOP = 30, HEIGHT = 180, FOOT = 40;
const TIME_WIDTH = 700;
const LOG_FROM = 100; // a range of positive numbers that is so many times as wide has a logarithmic axis

// --- pure ---

function range(values) {
    const least = values.reduce((a, b) => Math.min(a, b), Infinity), most = values.reduce((a, b) => Math.max(a, b), -Infinity);

    return { least, most };
}

function numberAxis(name, values) {
    const { least, most } = range(values);
    const scale = least > 0 && most / least >= LOG_FROM ? Math.log : (value) => value;
    const wide = scale(most) - scale(least);

    return {
        name, shareOf: (value) => Number.isFinite(value) ? (wide > 0 ? (scale(value) - scale(least)) / wide : 0.5) : null,
        ticks: wide > 0 ? [[0, shortNumber(least)], [1, shortNumber(most)]] : [[0.5, shortNumber(least)]],
    };
}

function choiceAxis(name, values) {
    const texts = [...new Set(values.map(String))].sort();
    const shareAt = (at) => texts.length > 1 ? at / (texts.length - 1) : 0.5;

    return {
        name, shareOf: (value) => value === undefined || !texts.includes(String(value)) ? null : shareAt(texts.indexOf(String(value))),
        ticks: texts.map((text, at) => [shareAt(at), text]),
    };
}

/** An axis for each parameter of the trials that have a result, and one for the result: 0 its lower end, 1 its upper one, null: it has none. */
export function axesOf(trials, metric) {
    const names = [...new Set(trials.flatMap(({ parameters }) => Object.keys(parameters)))].slice(0, AXES_MOST);
    const axes = names.map((name) => {
        const values = trials.map(({ parameters }) => parameters[name]).filter((value) => value !== undefined);

        return { ...(values.every((value) => typeof value === "number") ? numberAxis : choiceAxis)(name, values), of: ({ parameters }) => parameters[name] };
    });

    return [...axes, { ...numberAxis(metric, trials.map(({ result }) => result)), of: ({ result }) => result }];
}

/** Results in the order of their ends: [seconds since the first trial began, result, whether it is the best until then]. */
export function resultsOver(trials, direction) {
    const first = range(trials.map(({ begunUs }) => begunUs)).least;
    const sign = direction === "minimize" ? -1 : 1;
    let best = -Infinity;

    return trials.slice().sort((a, b) => a.endedUs - b.endedUs).map((trial) => {
        const isBest = sign * trial.result > best;

        best = isBest ? sign * trial.result : best;
        return { seconds: Math.max(0, trial.endedUs - first) / 1e6, trial, isBest };
    });
}

function cut(text) {
    return text.length > TEXT_MOST ? text.slice(0, TEXT_MOST - 1) + "…" : text;
}

// --- shown ---

function label(x, y, anchor, text) {
    return shape("text", { x: x.toFixed(1), y: y.toFixed(1), "text-anchor": anchor }, cut(text), ...(text.length > TEXT_MOST ? [shape("title", {}, text)] : []));
}

function line(x1, y1, x2, y2) {
    return shape("line", { x1, y1, x2, y2 });
}

const yOf = (share) => TOP + HEIGHT * (1 - share);

/** The trials are those with a result, the best first: they are drawn last, and stronger. */
function coordinates(trials, metric) {
    const axes = axesOf(trials, metric);
    const xOf = (at) => LEFT + AXIS_WIDTH * at;
    const labels = axes.flatMap((axis, at) => [label(xOf(at), TOP - 12, "middle", axis.name), ...axis.ticks.map(([share, text]) => label(xOf(at) - 6, yOf(share) + 4, "end", text))]);
    const lines = trials.map((trial, place) => shape("polyline", {
        class: place === 0 ? "best" : "", "stroke-opacity": (1 - 0.85 * place / trials.length).toFixed(2),
        points: axes.map((axis, at) => {
            const share = axis.shareOf(axis.of(trial));

            return `${xOf(at)},${(share === null ? TOP + HEIGHT + 16 : yOf(share)).toFixed(1)}`;
        }).join(" "),
    }, shape("title", {}, `trial ${trial.number}: ${shortNumber(trial.result)}; ${trial.values}`)));

    return picture(xOf(axes.length - 1) + 40, [...axes.map((axis, at) => line(xOf(at), TOP, xOf(at), TOP + HEIGHT)), ...lines.reverse(), ...labels]);
}

function overTime(trials, metric, direction) {
    const results = resultsOver(trials, direction);
    const axis = numberAxis(metric, trials.map(({ result }) => result));
    const last = Math.max(1, results[results.length - 1].seconds);
    const xOf = (seconds) => LEFT + (TIME_WIDTH - LEFT - 20) * seconds / last;
    const steps = results.filter(({ isBest }) => isBest).map(({ seconds, trial }) => [xOf(seconds), yOf(axis.shareOf(trial.result))]);
    const way = steps.map(([x, y], i) => i === 0 ? `M${x.toFixed(1)} ${y.toFixed(1)}` : `H${x.toFixed(1)}V${y.toFixed(1)}`).join("") + `H${TIME_WIDTH - 20}`;

    return picture(TIME_WIDTH, [
        ...axis.ticks.flatMap(([share, text]) => [line(LEFT, yOf(share), TIME_WIDTH - 20, yOf(share)), label(LEFT - 6, yOf(share) + 4, "end", text)]),
        label(LEFT, TOP + HEIGHT + 20, "start", "begun"), label(TIME_WIDTH - 20, TOP + HEIGHT + 20, "end", `${shortNumber(last)} s`),
        shape("path", { d: way, class: "best" }),
        ...results.map(({ seconds, trial }) => shape("circle", { cx: xOf(seconds).toFixed(1), cy: yOf(axis.shareOf(trial.result)).toFixed(1), r: 3.5 },
            shape("title", {}, `trial ${trial.number}: ${shortNumber(trial.result)}; ${trial.values}`))),
    ]);
}

function picture(width, parts) {
    const height = TOP + HEIGHT + FOOT;

    return shape("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" }, ...parts); // the table says the same
}

/** trials: the best first. */
export function showPictures(trials, metric, direction) {
    const told = trials.filter(({ result }) => result !== null);

    show(byId("search-pictures"), told.length > 1);
    for (const [id, draw] of [["search-values", coordinates], ["search-times", overTime]])
        byId(id).replaceChildren(...(told.length > 1 ? [draw(told, metric, direction)] : []));
}
