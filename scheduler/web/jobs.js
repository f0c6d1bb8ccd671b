// SPDX-License-Identifier: Apache-2.0
// jobs.js - the list of jobs: the newest first, an array in one row that opens, filtered by the server as the page's address
// says. One page of it is read, however many there are.
import { get } from "./api.js";
import { byId, cell, element, fill, headCell, hideEmptyColumns, row, setText, show, stateWord } from "./dom.js";
import { ago, count, mood, roleSize, span } from "./format.js";
import { addressOf, filterOf, indexesOf, isFiltered, nameIn, overOf, progressOf, statesOf } from "./lists.js";

const ROWS = 50;
const MEMBERS = 50;
const LISTED_MOST = 500;
const CALLS_MOST = 10; // for one page: the server looks at so many jobs a call, and a filter may fit none of them

const GOES_WELL = ["running", "succeeded"]; // the list says no more of them

const opened = new Map(); // arrays by the number of their first job: { after, before: those of earlier pages }
let listed = []; // as the answers told, the last one first: for the names of events
let further = null; // number at which the next page goes on; null: this was the last

function filter() {
    return filterOf(location.hash);
}

function given({ state, user, name }) {
    return { state, user: user || undefined, name: name || undefined };
}

// --- reading ---

async function readPage(filtered, signal) {
    const jobs = [];
    let cursor = filtered.before || undefined;

    for (let calls = 0; calls < CALLS_MOST && jobs.length < ROWS && cursor !== null; calls++) {
        const asked = { ...given(filtered), order: "newest", fold: 1, limit: ROWS - jobs.length, cursor };
        const answer = await get("jobs", asked, { signal });

        jobs.push(...answer.jobs);
        cursor = answer.next;
    }
    return { jobs, next: cursor };
}

async function readMembers(job, filtered, signal) {
    const { array, user } = job;
    const place = { ...opened.get(array.first_id) };
    const asked = { state: filtered.state, name: filtered.name || undefined, array: `${user}/${array.name}`,
        limit: MEMBERS, cursor: place.after ?? array.first_id - 1 };
    const answer = await get("jobs", asked, { signal });
    const jobs = answer.jobs.filter(({ id }) => id <= array.last_id);
    const last = jobs.at(-1)?.id ?? array.last_id;

    return { of: array.first_id, place, jobs, next: answer.next !== null && last < array.last_id ? last : null };
}

// --- rows ---

function ageOf(job, nowUs) {
    return job.ended_us > 0 ? `ended ${ago(job.ended_us, nowUs)}` : span(nowUs - job.submitted_us);
}

function jobModel(job, nowUs) {
    return {
        kind: "job", key: String(job.id), id: job.id, name: job.name, state: job.state, user: job.user,
        reason: GOES_WELL.includes(job.state) ? "" : job.reason,
        roles: job.ended_us > 0 ? [] : job.roles.map((role) => `${role.role} ${roleSize(role)}`),
        progress: progressOf(job), age: ageOf(job, nowUs),
    };
}

function arrayModel(job, nowUs) {
    const { array } = job;
    const isOver = overOf(array).share === 1;

    return {
        kind: "array", key: "a" + array.first_id, first: array.first_id, name: array.name, isOpen: opened.has(array.first_id),
        states: statesOf(array), reason: job.state === "queued" ? job.reason : "", jobs: array.jobs, indexes: indexesOf(array),
        progress: overOf(array), user: job.user,
        age: isOver ? `ended ${ago(job.ended_us, nowUs)}` : span(nowUs - job.submitted_us),
    };
}

function memberModels(members, nowUs) {
    const { after, before } = members.place;
    const isSame = (job, i) => i > 0 && job.reason === members.jobs[i - 1].reason;
    const models = members.jobs.map((job, i) => ({
        ...jobModel(isSame(job, i) ? { ...job, reason: "" } : job, nowUs), kind: "member", key: `a${members.of}.${job.id}`,
    }));

    if (after !== null || members.next !== null)
        models.push({ kind: "members", key: `a${members.of}.more`, first: members.of, isBegun: before.length > 0, next: members.next });
    return models;
}

function progressCell({ share, text }) {
    if (text === "")
        return cell("Progress");
    const bar = share !== null ? element("progress", { max: "1", value: share, "aria-hidden": "true" }) : "";

    return cell("Progress", bar, element("p", { class: "note" }, text));
}

function reasonNote(reason) {
    return reason !== "" ? element("p", { class: "note said" }, reason) : "";
}

function jobRow(job) {
    return row({ class: job.kind },
        headCell(element("a", { href: "#/jobs/" + job.id, class: "said" }, job.name)),
        cell("State", stateWord(job.state, `${mood(job.state)} ${job.state}`), reasonNote(job.reason)),
        cell("Processes", ...job.roles.map((text) => element("p", { class: "said" }, text))),
        progressCell(job.progress), cell("User", element("span", { class: "said" }, job.user)), cell("Age", job.age));
}

function arrayRow(array) {
    const button = element("button", { type: "button", class: "fold said", "aria-expanded": String(array.isOpen),
        "data-array": array.first }, array.name);
    const states = array.states.map(({ state, n }) => element("p", {}, stateWord(`${n} ${state}`, `${mood(state)} ${state}`)));

    return row({ class: "array" },
        headCell(button, element("p", { class: "note" }, `array of ${count(array.jobs, "job")}, ${array.indexes}`)),
        cell("State", ...states, reasonNote(array.reason)), cell("Processes"), progressCell(array.progress),
        cell("User", element("span", { class: "said" }, array.user)), cell("Age", array.age));
}

function membersRow(members) {
    const buttons = [];

    if (members.isBegun)
        buttons.push(element("button", { type: "button", "data-earlier": members.first }, "Earlier jobs of the array"), " ");
    if (members.next !== null)
        buttons.push(element("button", { type: "button", "data-later": members.first, "data-at": members.next }, "Later jobs of the array"));
    return row({ class: "member" }, element("td", { role: "cell", colspan: "6" }, ...buttons));
}

const ROWS_OF = { job: jobRow, member: jobRow, array: arrayRow, members: membersRow };

// --- the section ---

function showFilter(filtered) {
    const choice = byId("jobs-state");

    if (![...choice.options].some((option) => option.value === filtered.state)) // of an address that somebody wrote
        choice.append(element("option", { value: filtered.state }, filtered.state.replaceAll(",", ", ")));
    for (const [id, value] of [["jobs-state", filtered.state], ["jobs-user", filtered.user], ["jobs-word", filtered.name]])
        if (byId(id) !== document.activeElement || id === "jobs-state")
            byId(id).value = value;
    show(byId("jobs-clear"), isFiltered(filtered));
}

function showRows(jobs, members, nowUs) {
    const models = jobs.flatMap((job) => (job.array === undefined || job.array.jobs === 1 ? [jobModel(job, nowUs)] :
        [arrayModel(job, nowUs), ...members.filter(({ of }) => of === job.array.first_id && opened.has(of))
            .flatMap((some) => memberModels(some, nowUs))]));
    const users = [...new Set(jobs.map((job) => job.user))].sort();

    fill(byId("jobs"), models, (model) => model.key, (model) => ROWS_OF[model.kind](model));
    fill(byId("jobs-users"), users, (user) => user, (user) => element("option", { value: user }));
    show(byId("jobs-table"), jobs.length > 0);
    hideEmptyColumns(byId("jobs-table"));
}

function showRest(filtered, jobs) {
    const isEnd = further === null;

    show(byId("jobs-none"), jobs.length === 0 && isEnd && !isFiltered(filtered) && filtered.before === "");
    show(byId("jobs-no-match"), jobs.length === 0 && isEnd && (isFiltered(filtered) || filtered.before !== ""));
    setText(byId("jobs-looked"), !isEnd && jobs.length < ROWS ? `Looked at the jobs down to number ${further}.` : "");
    setText(byId("jobs-older"), jobs.length < ROWS ? "Look further" : "Older jobs");
    show(byId("jobs-older"), !isEnd);
    show(byId("jobs-newest"), filtered.before !== "");
}

export async function readJobs(signal) {
    const filtered = filter();

    showFilter(filtered);
    const page = await readPage(filtered, signal);
    const arrays = page.jobs.filter((job) => job.array !== undefined && opened.has(job.array.first_id));
    const members = await Promise.all(arrays.map((job) => readMembers(job, filtered, signal)));

    if (addressOf(filter()) !== addressOf(filtered))
        return; // somebody chose something else meanwhile, which is read next
    listed = [...page.jobs, ...listed].slice(0, LISTED_MOST);
    further = page.next;
    showRows(page.jobs, members, Date.now() * 1000);
    showRest(filtered, page.jobs);
}

/** The name of a job by its number, as far as the list has it. */
export function listedName(id) {
    return nameIn(listed, id) ?? `job ${id}`;
}

// --- what its reader does ---

function chosen() {
    return { state: byId("jobs-state").value, user: byId("jobs-user").value.trim(), name: byId("jobs-word").value.trim(), before: "" };
}

/** The address says what is shown, so that it can be sent to somebody else. */
function goTo(filtered, isPlace) {
    const address = addressOf(filtered);

    if (address === addressOf(filter()))
        return false;
    history[isPlace ? "pushState" : "replaceState"](null, "", address);
    return true;
}

function tookClick(button) {
    const { array, earlier, later, at } = button.dataset;

    if (array !== undefined && !opened.delete(Number(array)))
        opened.set(Number(array), { after: null, before: [] });
    if (later !== undefined) {
        const place = opened.get(Number(later));

        place.before.push(place.after);
        place.after = Number(at);
    }
    if (earlier !== undefined) {
        const place = opened.get(Number(earlier));

        place.after = place.before.pop();
    }
}

/** changed(): what is wanted is other than what is shown */
export function beginJobs(changed) {
    const turn = (before) => {
        if (goTo({ ...filter(), before }, true))
            changed();
        byId("jobs-title").focus();
    };
    const choose = () => {
        if (goTo(chosen(), false))
            changed();
    };

    byId("jobs-filter").addEventListener("submit", (event) => {
        event.preventDefault();
        choose();
    });
    byId("jobs-filter").addEventListener("change", choose);
    byId("jobs-word").addEventListener("input", choose);
    byId("jobs-clear").addEventListener("click", () => {
        for (const id of ["jobs-user", "jobs-word"])
            byId(id).value = "";
        byId("jobs-state").value = filterOf("").state;
        choose();
        byId("jobs-word").focus();
    });
    byId("jobs").addEventListener("click", (event) => {
        const button = event.target.closest("button");

        if (button === null)
            return;
        tookClick(button);
        changed();
    });
    byId("jobs-older").addEventListener("click", () => turn(String(further)));
    byId("jobs-newest").addEventListener("click", () => turn(""));
}
