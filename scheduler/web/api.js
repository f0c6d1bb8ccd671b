// SPDX-License-Identifier: Apache-2.0
// api.js - calls to the scheduler, with the token of this tab or of this browser. All but two read: signin.js makes those.
import { calls } from "./calls.js";

// Of the folder that the page is in: a proxy may have several clusters at one origin, and none gets the token of another.
function tokenKey() {
    return "edl-token " + new URL(".", location.href).pathname;
}

/** An answer that is an error, told by the server; status 0: there was no answer. */
export class Problem extends Error {
    constructor(status, detail, remedy, members) {
        super(detail);
        this.status = status;
        this.remedy = remedy;
        this.members = members;
    }
}

function keptText() {
    try {
        return localStorage.getItem(tokenKey());
    } catch {
        return null; // its owner lets the browser keep nothing
    }
}

export const token = {
    key: tokenKey,
    get() { return sessionStorage.getItem(tokenKey()) ?? this.kept()?.token ?? null; },
    /** of this tab, until it is closed */
    set(text) { sessionStorage.setItem(tokenKey(), text); },
    /** of this browser, until somebody signs out */
    keep(text, id) {
        try {
            localStorage.setItem(tokenKey(), JSON.stringify({ token: text, id }));
        } catch {
            this.set(text);
        }
    },
    /** { token, id } of this browser; null: it has none */
    kept() {
        try {
            const kept = JSON.parse(keptText());

            return typeof kept?.token === "string" ? kept : null;
        } catch {
            return null;
        }
    },
    /** whether the one that counts is this browser's */
    isKept() { return sessionStorage.getItem(tokenKey()) === null && this.kept() !== null; },
    forget() {
        sessionStorage.removeItem(tokenKey());
        if (keptText() !== null)
            localStorage.removeItem(tokenKey());
    },
    /** whether it can stand in a header at all */
    isWritable(text) { return /^[\x21-\x7e]+$/.test(text); },
};

/** The address of a call, beside the page's own: behind a proxy the page may not be at the root. */
export function address(name, given = {}) {
    const call = calls[name];
    const path = call.path.replace(/\{(\w+)\}/g, (_, key) => encodeURIComponent(given[key]));
    const query = new URLSearchParams();

    for (const key of call.query)
        if (given[key] !== undefined)
            query.set(key, given[key]);
    return path.slice(1) + (String(query) !== "" ? "?" + query : "");
}

async function problemOf(response) {
    const told = await response.json().catch(() => ({}));

    return new Problem(response.status, told.detail ?? `the server answered with status ${response.status}`,
        told.remedy, told);
}

/** The response to a call; throws a Problem unless it is a good one. accept: the media type that is asked for; bearer: what the
 *  caller comes with, body: what is sent. */
export async function open(name, given = {}, { signal, accept = "application/json", bearer = token.get(), body } = {}) {
    const headers = { Accept: accept };
    let response;

    if (bearer !== null)
        headers.Authorization = "Bearer " + bearer;
    if (body !== undefined)
        headers["Content-Type"] = "application/json";
    try {
        response = await fetch(address(name, given), {
            method: calls[name].method ?? "GET", body: JSON.stringify(body), headers, signal, cache: "no-store", credentials: "same-origin", redirect: "error",
        });
    } catch (error) {
        if (error.name === "AbortError")
            throw error;
        throw new Problem(0, "the scheduler does not answer");
    }
    if (!response.ok)
        throw await problemOf(response);
    return response;
}

export async function get(name, given, options) {
    const response = await open(name, given, options);

    return response.json();
}

/** A call that changes something. */
export async function send(name, given, options) {
    const response = await open(name, given, options);

    return response.json();
}
