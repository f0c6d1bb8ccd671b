// SPDX-License-Identifier: Apache-2.0
// stream.js - what happens in the cluster, as it happens: server-sent events read by fetch, because EventSource can send no
// token; a long poll where there are streams enough already
import { get, open } from "./api.js";

const SILENT_MS = 45000; // the scheduler says something every 15 s: beyond that nobody is there
const RETRY_MS = [500, 1000, 2000, 5000, 10000];
const POLL_S = 30;

function backoffMs(failures) {
    return RETRY_MS[Math.min(failures, RETRY_MS.length - 1)] * (0.5 + Math.random());
}

/** Takes a stream of server-sent events apart: text as it comes in, whole messages out; { beat: true } is a comment. */
export function parser() {
    let rest = "";

    return function feed(text) {
        const blocks = (rest + text).split("\n\n");
        const messages = [];

        rest = blocks.pop();
        for (const block of blocks) {
            const data = [];
            let beat = false;

            for (const line of block.split("\n")) {
                if (line.startsWith("data:"))
                    data.push(line.slice(5).replace(/^ /, ""));
                else if (line.startsWith(":"))
                    beat = true;
            }
            if (data.length > 0)
                messages.push({ data: data.join("\n") });
            else if (beat)
                messages.push({ beat: true });
        }
        return messages;
    };
}

/** Rejects when signal is aborted. */
function pause(ms, signal) {
    return new Promise((resolve, reject) => {
        const timer = setTimeout(resolve, ms);

        signal.addEventListener("abort", () => {
            clearTimeout(timer);
            reject(new DOMException("over", "AbortError"));
        }, { once: true });
    });
}

/** Calls attempt until it comes through, ever more rarely while the scheduler does not answer or is restarting. */
export async function insist(signal, attempt, onFailure = () => {}) {
    for (let failures = 0;; failures++) {
        try {
            return await attempt();
        } catch (problem) {
            if (signal.aborted || (problem.status !== 0 && problem.status !== 503))
                throw problem;
            onFailure();
            await pause(backoffMs(failures), signal);
        }
    }
}

/** Follows the events behind revision `after` until signal is aborted.
 *  on.events(list), on.beat(): nothing happened for a while; on.gap(): some are gone, what is shown has to be read anew;
 *  on.link(word): "live", "polled" or "lost". Throws the Problem when the server refuses. */
export async function follow(after, signal, on) {
    let failures = 0;

    function take(events) {
        if (events.length === 0)
            return on.beat();
        after = events[events.length - 1].revision;
        return on.events(events);
    }

    async function stream() {
        const connection = new AbortController();
        const cut = () => connection.abort();
        const feed = parser();
        let watch;

        signal.addEventListener("abort", cut);
        try {
            const response = await open("events", { after }, { signal: connection.signal, accept: "text/event-stream" });
            const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();

            failures = 0;
            on.link("live");
            for (;;) {
                clearTimeout(watch);
                watch = setTimeout(cut, SILENT_MS);
                const { value, done } = await reader.read();

                if (done)
                    return;
                const messages = feed(value);
                const events = messages.filter((m) => m.data !== undefined).map((m) => JSON.parse(m.data));

                if (messages.length > 0)
                    take(events);
            }
        } finally {
            clearTimeout(watch);
            signal.removeEventListener("abort", cut);
        }
    }

    async function poll() {
        on.link("polled");
        const page = await get("events", { after, wait: POLL_S }, { signal });

        failures = 0;
        take(page.events);
    }

    for (let mayStream = true;;) {
        signal.throwIfAborted();
        try {
            await (mayStream ? stream() : poll());
        } catch (problem) {
            if (signal.aborted || problem.status === 401 || problem.status === 403)
                throw problem;
            if (problem.status === 410) {
                after = problem.members.after;
                on.gap();
                continue;
            }
            if (problem.status === 503 && mayStream) {
                mayStream = false; // so many streams are there already, or it is restarting: the poll tells
                continue;
            }
            mayStream = true;
        }
        if (mayStream) { // it ended, or failed
            on.link("lost");
            await pause(backoffMs(failures++), signal);
        }
    }
}
