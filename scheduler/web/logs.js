// SPDX-License-Identifier: Apache-2.0
// logs.js - the whole output of a job, as `edl logs` has it: from the logs on its nodes, merged in time; where a node gives nothing,
// the end that the scheduler keeps. What neither has is told by its bytes.
import { get, open } from "./api.js";
import { lineJoiner } from "./format.js";

const PIECE_BYTES = 2 ** 20;
const LINE_BYTES = 2 ** 20; // a longer line comes in parts
const REPLACED = "\ufffd"; // stands for one byte that is no UTF-8
const OURS = "[edl: ";

const keyOf = (one) => `${one.role}.${one.index}.${one.incarnation}`;

/** "OFFSET BYTES TIME_US", a line end, the bytes: as often as they are there. */
export function chunksOf(bytes) {
    const found = [];

    for (let at = 0; at < bytes.length;) {
        const end = bytes.indexOf(10, at);
        const [offset, size, timeUs] = new TextDecoder().decode(bytes.subarray(at, end)).split(" ").map(Number);

        if (end < 0 || !(offset >= 0) || !(timeUs >= 0) || !(end + 1 + size <= bytes.length))
            throw new Error("the node's answer is damaged");
        found.push({ offset, timeUs, data: bytes.subarray(end + 1, end + 1 + size) });
        at = end + 1 + size;
    }
    return found;
}

/** How many bytes of the log a text is. */
export function logBytes(text) {
    return new TextEncoder().encode(text).length - 2 * (text.split(REPLACED).length - 1);
}

/** A text without so many bytes of the log in front. */
export function behindBytes(text, n) {
    let at = 0;

    for (const char of text) {
        if (n <= 0)
            break;
        n -= logBytes(char);
        at += char.length;
    }
    return text.slice(at);
}

/** Gives each kept piece its place; of the end of a process that is over only the last one's is told. */
export function placed(entries) {
    const whole = entries.filter((entry) => !entry.notice);
    const out = [];

    for (let i = 0; i < whole.length;) {
        const next = whole[i].next_offset ?? 0;
        let n = i + 1;

        if (whole[i].offset !== undefined) {
            out.push(whole[i++]);
            continue;
        }
        while (n < whole.length && whole[n].offset === undefined && (whole[n].next_offset ?? 0) === next)
            n++;
        const pieces = whole.slice(i, n).map((entry) => ({ ...entry }));
        const sum = () => pieces.reduce((all, piece) => all + logBytes(piece.text), 0);

        for (let lines = 0; lines < 2 && sum() !== next && pieces[0].text.startsWith(OURS); lines++)
            pieces[0].text = pieces[0].text.slice(pieces[0].text.indexOf("\n") + 1 || pieces[0].text.length);
        let at = Math.max(0, next - sum());

        for (const piece of pieces) {
            piece.offset = at;
            at += logBytes(piece.text);
            piece.next_offset = at;
            out.push(piece);
        }
        i = n;
    }
    return out;
}

function sentence(process, from, to, where) {
    const count = (n) => n.toLocaleString("en-US");
    const one = to === from + 1;
    const range = one ? `byte ${count(from)}` : `bytes ${count(from)} to ${count(to - 1)}`;

    return `${OURS}${range} of ${process.role}-${process.index} ${one ? "is" : "are"} ${where}]`;
}

/** One start of a process: pieces { role, index, incarnation, timeUs, text }, one after the other. */
class Source {
    constructor(job, process, kept, signal) {
        this.job = job;
        this.process = process;
        this.kept = kept;
        this.signal = signal;
        this.at = 0; // next byte
        this.gapFrom = null;
        this.queue = [];
        this.decoder = new TextDecoder();
        this.over = false;
    }

    push(timeUs, text) {
        if (text !== "")
            this.queue.push({ role: this.process.role, index: this.process.index, incarnation: this.process.incarnation, timeUs, text });
    }

    tell(from, to, where) {
        this.push(0, sentence(this.process, from, to, where) + "\n");
    }

    take({ offset, timeUs, data }) {
        if (offset > this.at && this.gapFrom === null) {
            this.push(timeUs, this.decoder.decode());
            this.gapFrom = this.at;
        }
        this.at = offset + data.length;
        if (this.gapFrom !== null) { // it goes on with a whole line
            const end = data.indexOf(10);

            if (end < 0)
                return;
            this.tell(this.gapFrom, offset + end + 1, `gone: node ${this.process.node} keeps the newest (log-max)`);
            this.gapFrom = null;
            data = data.subarray(end + 1);
        }
        this.push(timeUs, this.decoder.decode(data, { stream: true }));
    }

    fallBack(problem) {
        for (const entry of this.kept) {
            const text = behindBytes(entry.text, this.at - entry.offset);

            if (entry.next_offset <= this.at)
                continue;
            if (entry.offset > this.at)
                this.tell(this.at, entry.offset, `on node ${this.process.node}: ${problem.message}`);
            this.push(entry.time_us, text);
            this.at = entry.next_offset;
        }
    }

    async fill() {
        while (this.queue.length === 0 && !this.over) {
            const given = { job: this.job, role: this.process.role, index: this.process.index,
                incarnation: this.process.incarnation, times: 1, offset: this.at, bytes: PIECE_BYTES };
            let bytes = 0;

            try {
                const answer = await open("log", given, { signal: this.signal, accept: "application/octet-stream" });

                for (const chunk of chunksOf(new Uint8Array(await answer.arrayBuffer()))) {
                    bytes += chunk.data.length;
                    this.take(chunk);
                }
            } catch (problem) {
                if (this.signal.aborted)
                    throw problem;
                this.fallBack(problem);
            }
            this.over = bytes < PIECE_BYTES;
        }
        return this.queue[0];
    }
}

async function keptEnds(job, signal) {
    const ends = new Map();
    let page, after;

    do {
        page = await get("logs", { job, follow: 0, after }, { signal });
        for (const entry of page.entries)
            ends.set(keyOf(entry), [...ends.get(keyOf(entry)) ?? [], entry]);
        after = page.cursor;
    } while (page.more);
    return { ends, after };
}

/** Lines { who, text } of all that was written until now. Returns what to follow with: { after, seen }, a cursor of the call
 *  "logs", and a function that gives what of its entries is new. */
export async function* wholeLog(job, signal) {
    const { ends, after } = await keptEnds(job, signal);
    const { processes } = await get("processes", { job, state: "all" }, { signal });
    const sources = processes.filter((process) => process.started_us > 0 || ends.has(keyOf(process)))
        .map((process) => new Source(job, process, placed(ends.get(keyOf(process)) ?? []), signal));
    const join = lineJoiner(LINE_BYTES);

    for (;;) {
        let first = null;

        for (const source of sources) {
            const piece = await source.fill();

            if (piece !== undefined && (first === null || piece.timeUs < first.queue[0].timeUs))
                first = source;
        }
        if (first === null)
            break;
        yield* join([first.queue.shift()]);
    }
    const places = new Map(sources.map((source) => [keyOf(source.process), source.at]));

    return {
        after, join,
        fresh: (entries) => placed(entries).filter((entry) => !(entry.next_offset <= places.get(keyOf(entry)))).map((entry) => ({
            ...entry, text: behindBytes(entry.text, (places.get(keyOf(entry)) ?? 0) - entry.offset),
        })),
    };
}
