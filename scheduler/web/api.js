// SPDX-License-Identifier: Apache-2.0
// api.js - calls to the scheduler: GET and nothing else, with the token of this tab
import { calls } from "./calls.js";

const TOKEN_KEY = "edl-token";

/** An answer that is an error, told by the server; status 0: there was no answer. */
export class Problem extends Error {
    constructor(status, detail, remedy, members) {
        super(detail);
        this.status = status;
        this.remedy = remedy;
        this.members = members;
    }
}

export const token = {
    get() { return sessionStorage.getItem(TOKEN_KEY); },
    set(text) { sessionStorage.setItem(TOKEN_KEY, text); },
    forget() { sessionStorage.removeItem(TOKEN_KEY); },
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

/** The response to a call; throws a Problem unless it is a good one. accept: the media type that is asked for. */
export async function open(name, given = {}, { signal, accept = "application/json" } = {}) {
    const headers = { Accept: accept };
    let response;

    if (token.get() !== null)
        headers.Authorization = "Bearer " + token.get();
    try {
        response = await fetch(address(name, given), {
            headers, signal, cache: "no-store", credentials: "same-origin", redirect: "error",
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
