// SPDX-License-Identifier: Apache-2.0
// page_test.mjs - what of the page (scheduler/web) is pure, run by Node.js where there is one
//
//   node tests/lib/page_test.mjs FOLDER      an absolute path; it has the page's files and a package.json of type module
import assert from "node:assert/strict";

const folder = process.argv[2];
const format = await import(folder + "/format.js");
const lists = await import(folder + "/lists.js");
const { follow, parser } = await import(folder + "/stream.js");
const { address, token } = await import(folder + "/api.js");
const logs = await import(folder + "/logs.js");
const signin = await import(folder + "/signin.js");

globalThis.location = { href: "https://proxy:8443/lab/edl/?x#/jobs/3" };
globalThis.localStorage = { getItem: () => null };

const US = 1e6;

// --- signing in ---

const CODE = "0123456789abcdef".repeat(4);

for (const text of [CODE, `  ${CODE}\n`, `edl login https://a:7010 --ca-pin sha256:ab --code ${CODE}`, `https://a:7010/#/sign-in/${CODE}`,
    `edl login 'https://a' --code=${CODE} --ca-pin x`])
    assert.equal(signin.secretIn(text), CODE, text);
for (const text of ["", "  ", "two words", "caf\u00e9"])
    assert.equal(signin.secretIn(text), "", text);
assert.equal(signin.codeIn("#/sign-in/abc"), "abc");
for (const hash of ["", "#/", "#/sign-in/", "#/jobs/sign-in", "#/sign-in/a b"])
    assert.equal(signin.codeIn(hash), null, hash);
for (const [agent, name] of [
    ["Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0", "Firefox 128 on Linux"],
    ["Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36 Edg/126.0.0.0", "Edge 126 on Windows"],
    ["Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36", "Chrome 126 on Android"],
    ["Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1", "Safari 17 on iPhone"],
    ["curl/8", "browser"], ["", "browser"]])
    assert.equal(signin.browserName(agent), name);
assert.equal(token.key(), "edl-token /lab/edl/");

// --- numbers ---

assert.equal(format.cores(1500), "1.5");
assert.equal(format.cores(2000), "2");
assert.equal(format.bytes(0), "0 B");
assert.equal(format.bytes(1536), "1.5 KiB");
assert.equal(format.bytes(64 * 2 ** 20), "64 MiB");
assert.equal(format.span(0), "0s");
assert.equal(format.span(-5 * US), "0s"); // a clock that is behind
assert.equal(format.span(61 * US), "1m 1s");
assert.equal(format.span(86400 * US), "1d");
assert.equal(format.span(2 * 86400 * US + 3 * 3600 * US + 59 * US), "2d 3h");
assert.equal(format.ago(0, 5 * US), format.NEVER);
assert.equal(format.amounts({ cpu_millicores: 500, memory_bytes: 2 ** 30, gpus: 1, ports: 0 }), "0.5 cores, 1 GiB, 1 GPU");
assert.equal(format.amounts({}), "");
assert.equal(format.roleSize({ min: 2, max: 10, running: 3, starting: 1, stopping: 0 }), "3 of 2 to 10 (1 starting)");
assert.equal(format.roleSize({ min: 2, max: 2, running: 2, starting: 0, stopping: 0 }), "2 of 2");
assert.equal(format.progress({ dataset: false, records_pass: 0, passes: 1, records_total: 0 }), null);
assert.equal(format.progress({ dataset: true, records_pass: 100, passes: 4, records_total: 100, records_lost: 0 }), 0.25);
assert.equal(format.passOf({ pass: 0, passes: 3 }), "pass 1 of 3");
assert.equal(format.passOf({ pass: 3, passes: 3 }), "pass 3 of 3");
assert.equal(format.mood("quarantined"), "bad");
assert.equal(format.mood("queued"), "waits");
assert.deepEqual(format.shares(10, [5, 2]), [0.5, 0.2]);
assert.deepEqual(format.shares(10, [8, 8]), [0.8, 1 - 0.8]); // more than there is
assert.deepEqual(format.shares(0, [1]), [0]);

// --- what of a job's data is done, and what is damaged ---

{
    const job = { dataset: true, records_pass: 100, passes: 2, records_total: 90, records_lost: 10, chunks_lost: 1 };

    assert.equal(format.progress(job), 0.5);
    assert.equal(format.lost(job), "10 records in 1 damaged chunk");
    assert.equal(format.lost({ ...job, chunks_lost: 2 }), "10 records in 2 damaged chunks");
    assert.equal(format.lost({ ...job, records_lost: 1 }), "1 record in 1 damaged chunk");
    assert.deepEqual([0, 1, 2, "1.5", "1"].map((n) => format.count(n, "job")), ["0 jobs", "1 job", "2 jobs", "1.5 jobs", "1 job"]);
    assert.equal(format.lost({ ...job, records_lost: 0, chunks_lost: 0 }), "");
}

// --- lists: the filter in the address, arrays, and what was tried more than once ---

{
    const none = { state: "active", user: "", name: "", before: "" };

    for (const hash of ["", "#/", "#/jobs/3", "#/?", "#/?other=1", "#/nodes/n1?user=x"])
        assert.deepEqual(lists.filterOf(hash), none, hash);
    for (const filter of [none, { ...none, state: "failed", user: "a b&c=\u05d0/", name: "x#y" }, { ...none, before: "4711" }])
        assert.deepEqual(lists.filterOf(lists.addressOf(filter)), filter);
    assert.equal(lists.addressOf(none), "#/");
    assert.equal(lists.addressOf({ ...none, state: "all", user: "ann" }), "#/?state=all&user=ann");
    assert.deepEqual([none, { ...none, before: "3" }, { ...none, name: "a" }, { ...none, state: "over" }].map(lists.isFiltered),
        [false, false, true, true]);

    const cluster = { nodes: 3, nodes_ready: 2, cpu_millicores: 1500, memory_bytes: 2 ** 30, utilisation: 0.5, submitted_jobs: 1, pending_jobs: 4, policy: "goodput" };

    assert.equal(lists.clusterSentence(cluster), "2 of 3 nodes ready, 1.5 cores, 1 GiB, 50 % in use; 1 job, 4 waiting; policy goodput");
    assert.equal(lists.clusterSentence({ ...cluster, nodes: 0, nodes_ready: 0, cpu_millicores: 0, memory_bytes: 0, utilisation: 0, pending_jobs: 0 }),
        "no node has joined; 1 job; policy goodput");

    const alone = { schedulers: [{ name: "a", role: "alone" }] };
    const led = { schedulers: [{ name: "a", role: "leader", term: 7, since_us: 0 }, { name: "b", role: "standby" }] };
    const copied = (...states) => ({ ...led, database: { copies: states.map((state) => ({ state })) } });
    const sentence = (answer) => lists.schedulersSentence(answer, 120e6);

    assert.equal(sentence(alone), "");
    assert.equal(sentence(led), "Scheduler a leads for 2m (term 7); b is a standby");
    assert.equal(sentence(copied("sync", "async")), sentence(led) + "; each change is in 2 databases");
    assert.equal(sentence(copied("async")), sentence(led) + "; each change is in one database alone");
    assert.equal(sentence({ ...led, database: { copies: [], detail: "it waits" } }), sentence(led) + "; each change is in one database alone; it waits");
    assert.equal(sentence(copied("unknown")), sentence(led) + "; copies of the database are not known");
    assert.equal(lists.leaderOf({ role: "standby", leader: "https://a:7010" }), "https://a:7010");
    for (const health of [{ status: "ok" }, { role: "leader", leader: "https://a:7010" }, { role: "standby" }, { role: "standby", leader: "javascript:x" }])
        assert.equal(lists.leaderOf(health), null);

    const array = { name: "sweep", jobs: 20, first_id: 101, last_id: 120, first_index: 5,
        states: { queued: 3, running: 2, succeeded: 11, failed: 4 } };

    assert.deepEqual(lists.statesOf(array).map(({ state, n }) => `${n} ${state}`), ["4 failed", "2 running", "11 succeeded", "3 queued"]);
    assert.deepEqual(lists.overOf(array), { share: 0.75, text: "15 of 20 over" });
    assert.equal(lists.indexesOf(array), "5 to 24");
    assert.equal(lists.indexesOf({ ...array, last_id: 101 }), "5");
    const listed = [{ id: 7, name: "one" }, { id: 120, name: "sweep-24", array }];

    assert.deepEqual([7, 8, 101, 120, 121].map((id) => lists.nameIn(listed, id)), ["one", null, "sweep-5", "sweep-24", null]);
    const job = { dataset: false, records_pass: 0, passes: 1, records_total: 0 };

    assert.deepEqual(lists.progressOf(job), { share: null, text: "" });
    assert.deepEqual(lists.progressOf({ ...job, steps: { step: 12, samples_per_s: 1234.5678 } }), { share: null, text: "step 12, 1230 samples/s" });
    assert.deepEqual(lists.progressOf({ ...job, dataset: true, records_pass: 10, pass: 0, records_total: 5, records_lost: 0 }),
        { share: 0.5, text: "50 %, pass 1 of 1" });
}
{
    const tried = (index, incarnation, more = {}) => ({ role: "trainer", index, incarnation, state: "exited", cause: "program", node: "n1",
        exit_code: 1, exit_signal: 0, ...more });
    const places = lists.placesOf([...Array.from({ length: 30 }, (_, i) => tried(0, i + 1, { node: `n${i % 2 + 1}` })), tried(1, 31), tried(0, 40, { state: "running" })]);

    assert.deepEqual(places.map(({ name, tries }) => [name, tries.length, tries[0].incarnation]), [["trainer-0", 31, 40], ["trainer-1", 1, 31]]);
    assert.deepEqual(places.map(({ tries }) => lists.triesOf(tries)), ["31 tries, last: exit 1 on n2", ""]);
    assert.equal(lists.triesOf([tried(0, 2, { state: "running" }), tried(0, 1, { state: "lost" })]), "2 tries, last: lost on n1");
    const cases = [
        [{}, "exit 1", "bad"], [{ exit_code: 0 }, "exited", "good"], [{ exit_code: -1 }, "exited", "good"],
        [{ exit_code: -1, exit_signal: 9 }, "signal 9", "bad"], [{ cause: "shrunk", exit_signal: 15 }, "stopped", "over"],
        [{ state: "lost" }, "lost", "bad"], [{ state: "running" }, "running", "good"], [{ state: "stopping" }, "stopping", "waits"]];

    for (const [more, end, mood] of cases)
        assert.deepEqual([lists.endOf(tried(0, 1, more)), lists.moodOf(tried(0, 1, more))], [end, mood]);
}

// --- what stood still, in the words of edl show and edl why ---

assert.equal(format.stoodStill(24.1 * US), "stood still for 24.1 s: its node was cut off");
assert.equal(format.stoodStill(24.1 * US, "n2"), "stood still for 24.1 s: its node n2 was cut off");
assert.equal(format.stoodStill(undefined), ""); // a process that never did is told without
assert.equal(format.nodeStoodStill(3 * US), "cut off: its processes stood still for up to 3.0 s");
assert.equal(format.nodeStoodStill(0), "");

// --- lines of a log, in pieces ---

{
    const join = format.lineJoiner(10);
    const piece = (index, text, incarnation = 1) => ({ role: "trainer", index, incarnation, text });

    assert.deepEqual(join([piece(0, "one\ntw"), piece(1, "other\n")]),
        [{ who: "trainer-0", text: "one" }, { who: "trainer-1", text: "other" }]);
    assert.deepEqual(join([piece(0, "x\n", 2), piece(0, "o\n")]), [{ who: "trainer-0", text: "x" }, { who: "trainer-0", text: "two" }]);
    assert.deepEqual(join([piece(0, "without an end")]), [{ who: "trainer-0", text: "without an end" }]);
    assert.deepEqual(join([piece(0, "\n")]), [{ who: "trainer-0", text: "" }]);
}

const serving = { told: 2, wanted: 3, queue_tasks: 1.54, busy_share: 0.913, students: 1, tasks_per_s: 1, samples_per_s: 4 };
assert.equal(format.served(null), "");
assert.equal(format.served(undefined), ""); // of a node's processes
assert.equal(format.served(serving), "1 student, 1.5 tasks waiting for each of 2, 1.0 tasks a second, busy 91 %; 3 wanted by the queue");
assert.equal(format.served({ ...serving, wanted: null, students: 2 }),
    "2 students, 1.5 tasks waiting for each of 2, 1.0 tasks a second, busy 91 %");
assert.equal(format.firstError(null), "");
assert.match(format.firstError({ process: "trainer-2", node: "n1", time_us: US, text: "exit code 1: its error: no" }),
    /^First error: trainer-2 on node n1, .*: exit code 1: its error: no$/);

// --- whole logs: from the nodes, merged in time, and what is missing is told by its bytes ---

{
    const utf8 = (text) => new TextEncoder().encode(text);

    assert.deepEqual(logs.chunksOf(utf8("5 4 1000\none\n9 0 0\n20 3 2000\n5 4")).map(({ offset, timeUs, data }) =>
        [offset, timeUs, new TextDecoder().decode(data)]), [[5, 1000, "one\n"], [9, 0, ""], [20, 2000, "5 4"]]);
    for (const wrong of ["5", "x 1 2\na", "5 4 1\nabc", "5 1\na"])
        assert.throws(() => logs.chunksOf(utf8(wrong)), /damaged/);
    assert.equal(logs.logBytes("µ\ufffd1"), 4);
    assert.equal(logs.behindBytes("µ\ufffd12", 3), "12");
    assert.equal(logs.behindBytes("12", -5), "12");
    assert.deepEqual(logs.placed([
        { text: "[edl: 90 bytes are not shown]\nab\n", next_offset: 97 }, { text: "notice", notice: true }, { text: "cdef", next_offset: 97 },
        { text: "g", offset: 97, next_offset: 98 }]).map((entry) => [entry.text, entry.offset, entry.next_offset]),
    [["ab\n", 90, 93], ["cdef", 93, 97], ["g", 97, 98]]);

    // trainer-0 has lost its front, trainer-1 is on a node that is away, trainer-2 never started
    const process = (index, started_us = 1) => ({ role: "trainer", index, incarnation: 1, node: "n" + index, started_us });
    const entry = (index, text, offset, time_us) => ({ role: "trainer", index, incarnation: 1, text, offset, next_offset: offset + text.length, time_us });
    const answers = {
        "jobs/j/logs?follow=0": { entries: [entry(1, "kept\n", 2000, 15)], cursor: "7", more: false },
        "jobs/j/processes?state=all": { processes: [process(0), process(1), process(2, 0)] },
    };

    globalThis.sessionStorage = { getItem: () => null };
    globalThis.fetch = async (url) => {
        if (answers[url] !== undefined)
            return Response.json(answers[url]);
        if (url.startsWith("jobs/j/processes/trainer/1/"))
            return new Response(JSON.stringify({ detail: "node n1 is away" }), { status: 504 });
        assert.equal(url, "jobs/j/processes/trainer/0/log?incarnation=1&times=1&offset=0&bytes=1048576");
        return new Response("100 9 10\nalf\none\nt109 3 20\nwo\n112 4 30\nthe ");
    };
    const lines = logs.wholeLog("j", new AbortController().signal);
    const said = [];
    let step;

    while (!(step = await lines.next()).done)
        said.push(`${step.value.who} ${step.value.text}`);
    assert.deepEqual(said, [
        "trainer-0 [edl: bytes 0 to 103 of trainer-0 are gone: node n0 keeps the newest (log-max)]",
        "trainer-1 [edl: bytes 0 to 1,999 of trainer-1 are on node n1: node n1 is away]",
        "trainer-0 one", "trainer-1 kept", "trainer-0 two"]);
    assert.equal(step.value.after, "7");
    assert.deepEqual(step.value.join.rest(), [{ who: "trainer-0", text: "the " }]);
    // what follows: the known part is cut off, and the line goes on
    assert.deepEqual(step.value.join(step.value.fresh([entry(0, "wo\nthe end\n", 109, 40), entry(1, "kept\n", 2000, 15)])),
        [{ who: "trainer-0", text: "the end" }]);
}

// --- server-sent events, however they are cut ---

{
    const text = "retry: 1000\n\nid: 1\ndata: {\"a\":1}\n\n:\n\nid: 2\ndata: {\"b\":\ndata: 2}\n\n";
    const wanted = [{ data: "{\"a\":1}" }, { beat: true }, { data: "{\"b\":\n2}" }];

    for (let size = 1; size <= text.length; size++) {
        const feed = parser();
        const found = [];

        for (let at = 0; at < text.length; at += size)
            found.push(...feed(text.slice(at, at + size)));
        assert.deepEqual(found, wanted, `in pieces of ${size}`);
    }
    assert.deepEqual(parser()("data: cut off"), []);
}

// --- addresses: whatever a job is called stays within its segment ---

assert.equal(address("job", { job: "a/b?c#d e" }), "jobs/a%2Fb%3Fc%23d%20e");
assert.equal(address("jobs", { state: "all", limit: 5, cursor: undefined }), "jobs?state=all&limit=5");
assert.equal(address("logs", { job: 7, follow: 1, after: "1 2" }), "jobs/7/logs?follow=1&after=1+2");
assert.equal(token.isWritable("c0ffee"), true);
for (const text of ["", "two words", "line\r\nbreak", "\u00e4"])
    assert.equal(token.isWritable(text), false);

// --- the stream: goes on where it was, by poll when there are too many, and anew when history is gone ---

{
    const said = [];
    const asked = [];
    const event = (revision) => ({ revision, event: "e" });
    const stream = (...revisions) => new Response(
        revisions.map((r) => `id: ${r}\ndata: ${JSON.stringify(event(r))}\n\n`).join("") + ":\n\n");
    const refuse = (status, members = {}) => new Response(JSON.stringify({ detail: "no", ...members }), { status });
    const answers = [
        stream(6, 7), // and ends
        refuse(410, { after: 50 }), stream(51),
        refuse(503), Response.json({ events: [event(52)] }), Response.json({ events: [] }),
        refuse(401)];

    globalThis.sessionStorage = { getItem: () => "c0ffee" };
    globalThis.fetch = async (url, { headers }) => {
        asked.push(`${headers.Accept === "text/event-stream" ? "stream" : "get"} ${url}`);
        assert.equal(headers.Authorization, "Bearer c0ffee");
        return answers.shift();
    };
    await assert.rejects(follow(5, new AbortController().signal, {
        events: (list) => said.push(...list.map((e) => e.revision)),
        beat: () => said.push("beat"), gap: () => said.push("gap"), link: (word) => said.push(word),
    }), { status: 401 });
    assert.deepEqual(asked, ["stream events?after=5", "stream events?after=7", "stream events?after=50", "stream events?after=51",
        "get events?after=51&wait=30", "get events?after=52&wait=30", "get events?after=52&wait=30"]);
    assert.deepEqual(said, ["live", 6, 7, "lost", "gap", "live", 51, "lost", "polled", 52, "polled", "beat", "polled"]);

    // what is given up asks no more
    const over = new AbortController();

    globalThis.fetch = (_, { signal }) => new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(new DOMException("", "AbortError")));
        queueMicrotask(() => over.abort());
    });
    await assert.rejects(follow(0, over.signal, { link() {} }), { name: "AbortError" });
}

// --- a search ---

const search = await import(folder + "/search.js");
const trial = (id, number, more = {}, rung = 0, told = {}) => ({
    id, state: "succeeded", user: "ann", reason: "exit 1", metrics: null,
    trial: { search: "s", trial: number, rung, metric: "loss", direction: "minimize", parameters: { lr: 0.1, kind: "a" }, ...told }, ...more,
});
const listed = [
    trial(6, 3, { state: "failed" }), trial(1, 1, { metrics: { loss: 0.5 } }), { id: 2 },
    trial(5, 2, { metrics: { _curve: [[3, 0.3], [4, 0.2]] } }, 1), trial(3, 2, { metrics: { _curve: [[1, 0.9], [2, "x"], null] } }),
    trial(4, 9, {}, 0, { search: "t" }), trial(7, 4, { state: "running", metrics: {} }),
];
const trials = search.trialsOf(listed, "s");

assert.deepEqual(trials.map(({ number }) => number), [2, 1, 4, 3]);
assert.deepEqual(trials.map(({ result }) => result), [0.2, 0.5, null, null]);
assert.deepEqual(trials[0].curve, [0.9, 0.3, 0.2]); // over its rungs
assert.equal(trials[0].id, 5);
assert.equal(trials[0].values, "lr 0.1, kind a");
assert.equal(trials[3].error, "exit 1");
const ended = (reason) => search.trialsOf([trial(1, 1, { state: "killed", reason, metrics: { loss: 0.5 } })], "s")[0];

assert.equal(ended("it has come as far as its search lets it").result, 0.5);
assert.equal(ended("it was stopped with its search").error, "");
assert.equal(ended("killed by ann").result, null);
assert.deepEqual(search.trialsOf([], "s"), []);
assert.equal(search.pointsOf([0, 1], 0, 1), "2.0,30.0 158.0,2.0");
assert.equal(search.pointsOf([3], 3, 3), "2.0,30.0");

const parallel = await import(folder + "/parallel.js");
const told = [
    { parameters: { lr: 0.001, kind: "b", deep: 2 }, result: 0.2, begunUs: 0, endedUs: 3e6 },
    { parameters: { lr: 1, kind: "a" }, result: 0.4, begunUs: 1e6, endedUs: 2e6 },
    { parameters: { lr: 0.1, kind: "c" }, result: 0.3, begunUs: 1e6, endedUs: 4e6 },
];
const axes = parallel.axesOf(told, "loss");
const sharesOf = (axis) => told.map((one) => axis.shareOf(axis.of(one)));

assert.deepEqual(axes.map(({ name }) => name), ["lr", "kind", "deep", "loss"]);
assert.deepEqual(sharesOf(axes[0]).map((share) => Math.round(share * 300)), [0, 300, 200]); // logarithmic
assert.deepEqual(sharesOf(axes[1]), [0.5, 0, 1]);
assert.deepEqual(sharesOf(axes[2]), [0.5, null, null]); // one value alone; others have none
assert.deepEqual(axes[1].ticks, [[0, "a"], [0.5, "b"], [1, "c"]]);
assert.deepEqual(parallel.resultsOver(told, "minimize").map(({ seconds, isBest }) => [seconds, isBest]), [[2, true], [3, true], [4, false]]);
assert.deepEqual(parallel.resultsOver(told, "maximize").map(({ isBest }) => isBest), [true, false, false]);
console.log("page_test: all good");
