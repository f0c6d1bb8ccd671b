// SPDX-License-Identifier: Apache-2.0
// signin.js - a code becomes a token of this browser, which reads and nothing else; a token that a person has is kept by the
// tab alone
import { send, token } from "./api.js";

const BROWSERS = [["Edg", "Edge"], ["OPR", "Opera"], ["Firefox", "Firefox"], ["Chrome", "Chrome"], ["Version", "Safari"]];
const SYSTEMS = [["Android", "Android"], ["iPhone", "iPhone"], ["iPad", "iPad"], ["Windows", "Windows"], ["Mac OS X", "macOS"], ["Linux", "Linux"]];

const ENDED = "This browser is signed in no longer: its sign-in was revoked, or has expired.";
const NOT_GOOD = "That is no code or token that is good: a code is good once, and for a day.";
const HAS_MORE = /(?:--code[ =]|#\/sign-in\/)([^\s"']+)/; // a line of edl login, the address of the page

/** What somebody pasted: a code or token, or a line or an address that has a code in it; "": none of them */
export function secretIn(text) {
    const secret = (HAS_MORE.exec(text)?.[1] ?? text).trim();

    return token.isWritable(secret) ? secret : "";
}

/** The code in the page's own address; null: there is none */
export function codeIn(hash) {
    return /^#\/sign-in\/([\x21-\x7e]+)$/.exec(hash)?.[1] ?? null;
}

/** By which name a person finds this browser again in `edl token list`: "Firefox 128 on Linux" */
export function browserName(agent) {
    const [, name, version] = BROWSERS.map(([word, shown]) => [new RegExp(`${word}/(\\d+)`).exec(agent), shown])
        .filter(([found]) => found !== null).map(([found, shown]) => [found, shown, found[1]])[0] ?? [null, "browser", ""];
    const system = SYSTEMS.find(([word]) => agent.includes(word))?.[1];

    return [name, version, system ? "on " + system : ""].filter((part) => part !== "").join(" ");
}

/** The sentence for somebody whose token was refused; "": there was none */
export function whyRefused(problem) {
    return token.isKept() ? ENDED : token.get() !== null ? problem.message : "";
}

/** Keeps what the person gave; throws a Problem with a sentence for them. */
export async function signIn(secret) {
    const told = { browser: true, note: browserName(navigator.userAgent) };

    try {
        const made = await send("login", {}, { bearer: secret, body: told });

        token.keep(made.token, made.id);
    } catch (problem) {
        if (problem.status === 401)
            problem.message = NOT_GOOD;
        if (problem.status !== 403) // that it is a token already
            throw problem;
        token.set(secret);
    }
}

/** The browser's token is good no longer, wherever somebody has copied it to; throws a Problem where that is not sure. */
export async function signOut() {
    const { id } = token.kept();

    try {
        await send("removeToken", { token: id });
    } catch (problem) {
        if (problem.status !== 401) // it was not good any more
            throw problem;
    } finally {
        token.forget();
    }
}
