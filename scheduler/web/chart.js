// SPDX-License-Identifier: Apache-2.0
// chart.js - pictures of figures over time: a thin layer over Chart.js, which the scheduler serves where it is installed
// (index.html). What a picture shows stands beside it as text as well: a canvas is nothing to a screen reader.
import { element, fill } from "./dom.js";

/** Told apart also by those who see no red or no green (Okabe and Ito), on light and on dark ground; the last is that of the rest. */
const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800", "#8f63c9"];
const REST_COLOUR = "#8a939c";
const NEAR_PIXELS = 8; // so close to the pointer, a mark is told of
const TICK_PIXELS = 80;
const STEPS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];

export const SERIES_SHOWN = COLOURS.length;

/** Whether there is a library to draw with. */
export function canDraw() {
    return globalThis.Chart !== undefined;
}

/** Colours that stay with their keys, as long as they are shown. */
export function colourer() {
    const of = new Map();

    return function colours(keys) {
        for (const key of of.keys())
            if (!keys.includes(key))
                of.delete(key);
        for (const key of keys)
            if (!of.has(key))
                of.set(key, COLOURS.find((colour) => ![...of.values()].includes(colour)) ?? REST_COLOUR);
        return keys.map((key) => key === "" ? REST_COLOUR : of.get(key));
    };
}

/** Three digits of a number: "0.00123", "12.3", "1,230" */
export function shortNumber(value) {
    return value === null ? "–" : value.toLocaleString("en", { maximumSignificantDigits: Math.abs(value) >= 1000 ? 4 : 3 });
}

/** Moments of a time axis from one to the other, in milliseconds: whole minutes, hours or days of the place, at most `most`. */
export function timeTicks(fromMs, toMs, most) {
    const seconds = (toMs - fromMs) / 1000;
    const step = STEPS_S.find((one) => seconds / one <= most) ?? STEPS_S[STEPS_S.length - 1] * Math.ceil(seconds / most / 604800);
    const shift = new Date(fromMs).getTimezoneOffset() * 60000;
    const ticks = [];

    for (let at = Math.ceil((fromMs - shift) / 1000 / step) * step * 1000 + shift; at <= toMs; at += step * 1000)
        ticks.push(at);
    return ticks;
}

/** A tick's text, by how far it is to the next one. */
export function tickText(ms, stepMs) {
    const when = new Date(ms);

    if (stepMs >= 86400000 || (when.getHours() === 0 && when.getMinutes() === 0 && when.getSeconds() === 0))
        return when.toLocaleDateString(undefined, { day: "numeric", month: "short" });
    return when.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", ...(stepMs < 60000 ? { second: "2-digit" } : {}) });
}

export function momentText(ms) {
    const when = new Date(ms);
    const today = when.toDateString() === new Date().toDateString();

    return today ? when.toLocaleTimeString() : when.toLocaleString();
}

/** The colours of the page as they are now: light or dark. */
function paint() {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue(name).trim();

    return { ink: of("--ink"), faint: of("--faint"), line: of("--line"), ground: of("--ground") };
}

/** Marks of moments (resizes) along the lower edge: up for grown, down for shrunk. */
const marksPlugin = {
    id: "edlMarks",
    afterDatasetsDraw(chart) {
        const { ctx, scales: { x }, chartArea: { bottom } } = chart;
        const { ink, ground } = paint();

        ctx.save();
        ctx.lineWidth = 1.5;
        for (const mark of chart.edlMarks ?? []) {
            const at = x.getPixelForValue(mark.ms), tip = mark.up ? -10 : -1, foot = mark.up ? -1 : -10;

            if (mark.ms < x.min || mark.ms > x.max)
                continue;
            ctx.beginPath();
            ctx.moveTo(at, bottom + tip);
            ctx.lineTo(at - 5, bottom + foot);
            ctx.lineTo(at + 5, bottom + foot);
            ctx.closePath();
            ctx.fillStyle = ink;
            ctx.strokeStyle = ground;
            ctx.stroke();
            ctx.fill();
        }
        ctx.restore();
    },
};

function tipLine(colour, text) {
    const line = element("p", {}, text);

    if (colour !== null) {
        const swatch = element("span", { class: "swatch" });

        swatch.style.background = colour;
        line.prepend(swatch);
    }
    return line;
}

/** What is there at the pointer: the moment, each series, and the marks nearby. */
function showTip(tip, chart, tooltip, told) {
    if (tooltip.opacity === 0 || !tooltip.dataPoints?.length) {
        tip.hidden = true;
        return;
    }
    const { x } = chart.scales;
    const at = tooltip.dataPoints[0].parsed.x;
    const near = (chart.edlMarks ?? []).filter((mark) => Math.abs(x.getPixelForValue(mark.ms) - tooltip.caretX) <= NEAR_PIXELS);
    const lines = tooltip.dataPoints.filter((point) => point.parsed.y > 0 || told.zeros)
        .map((point) => tipLine(point.dataset.borderColor, `${point.dataset.label}: ${told.value(point.parsed.y)}`));

    tip.replaceChildren(element("p", { class: "moment" }, momentText(at)), ...lines,
        ...near.map((mark) => element("p", { class: "mark said" }, mark.text)));
    tip.hidden = false;
    const left = Math.max(0, Math.min(tooltip.caretX + 12, chart.width - tip.offsetWidth));

    tip.style.left = left + "px";
    tip.style.top = chart.chartArea.top + "px";
    // beside the pointer, not below it
    if (left < tooltip.caretX + 12 && tooltip.caretX - 12 - tip.offsetWidth >= 0)
        tip.style.left = tooltip.caretX - 12 - tip.offsetWidth + "px";
}

function axes(told, colours) {
    const grid = { color: colours.line };

    return {
        x: {
            type: "linear", grid, ticks: { color: colours.faint, maxRotation: 0, autoSkip: false, callback: (ms, i, ticks) =>
                tickText(ms, ticks.length > 1 ? ticks[1].value - ticks[0].value : 0) },
            afterBuildTicks(axis) {
                const most = Math.max(2, Math.floor(axis.chart.width / TICK_PIXELS));

                axis.ticks = timeTicks(axis.min, axis.max, most).map((value) => ({ value }));
            },
        },
        y: {
            stacked: told.stacked === true, beginAtZero: true, grid, title: { display: true, text: told.unit, color: colours.faint },
            ticks: { color: colours.faint, maxTicksLimit: 6, ...(told.whole ? { precision: 0 } : {}), callback: (value) => told.tick?.(value) ?? shortNumber(value) },
        },
    };
}

/** A picture in `parent`, an element of its own for it. told: { unit, stacked, whole, zeros, value(y) }; what it shows is given to show(). */
export function picture(parent, told) {
    const canvas = element("canvas", { role: "img" });
    const tip = element("div", { class: "tip", hidden: "" });
    const dark = matchMedia("(prefers-color-scheme: dark)");
    let chart = null;

    parent.replaceChildren(canvas, tip);

    function make(data) {
        const colours = paint();

        return new globalThis.Chart(canvas, {
            type: "line", data, plugins: [marksPlugin],
            options: {
                animation: false, responsive: true, maintainAspectRatio: false, normalized: true, parsing: false, spanGaps: true,
                interaction: { mode: "index", intersect: false }, elements: { point: { radius: 0, hitRadius: 0, hoverRadius: 3 }, line: { tension: 0 } },
                plugins: { legend: { display: false }, tooltip: { enabled: false, external: ({ chart: of, tooltip }) => showTip(tip, of, tooltip, told) } },
                scales: axes(told, colours),
            },
        });
    }

    /** Light has become dark, or the other way round. */
    function repaint() {
        const colours = paint();

        for (const axis of Object.values(chart?.options.scales ?? {})) {
            axis.grid.color = colours.line;
            axis.ticks.color = colours.faint;
            if (axis.title !== undefined)
                axis.title.color = colours.faint;
        }
        chart?.update("none");
    }

    dark.addEventListener("change", repaint);
    return {
        /** series: [{ label, colour, points: [{ x, y }], dashed }]; from, to: of the axis, ms; marks: [{ ms, up, text }] */
        show({ series, from, to, most, marks, label }) {
            const { ground } = paint();
            const datasets = series.map((one) => ({
                label: one.label, data: one.points, borderColor: one.colour, borderWidth: told.stacked && !one.dashed ? 1 : 2,
                backgroundColor: one.dashed ? ground : one.colour, fill: told.stacked && !one.dashed ? "stack" : false,
                borderDash: one.dashed ? [5, 4] : [], stack: one.dashed ? "alone" : "all",
                ...(one.points.length === 1 ? { pointRadius: 3 } : {}),
            }));

            chart = chart ?? make({ datasets: [] });
            chart.edlMarks = marks ?? [];
            chart.data.datasets = datasets;
            Object.assign(chart.options.scales.x, { min: from, max: to });
            chart.options.scales.y.suggestedMax = most;
            chart.options.scales.y.title.text = told.unit;
            canvas.setAttribute("aria-label", label);
            chart.update("none");
        },
        end() {
            dark.removeEventListener("change", repaint);
            chart?.destroy();
            chart = null;
            parent.replaceChildren();
        },
    };
}

/** Which colour is whose: items { key, label, colour }. */
export function legend(parent, items) {
    fill(parent, items, (item) => item.key, (item) => {
        const swatch = element("span", { class: "swatch", "aria-hidden": "true" });

        swatch.style.background = item.colour;
        return element("li", { class: "said" }, swatch, item.label);
    });
}

/** "trainer 2 → 5: ...": a resize in a line */
export function resizeText(resize) {
    return `${resize.role} ${resize.from} → ${resize.to}${resize.reason !== "" ? ": " + resize.reason : ""}`;
}
