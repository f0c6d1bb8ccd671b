// SPDX-License-Identifier: Apache-2.0
// dom.js - elements from data. Whatever the server said becomes text and nothing else: names, reasons and logs are written
// by others.

export function byId(id) {
    return document.getElementById(id);
}

/** An element with attributes and children: nodes, or texts, which stay texts. */
export function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);

    for (const [name, value] of Object.entries(attributes))
        made.setAttribute(name, value);
    made.append(...children);
    return made;
}

/** The same of a picture: an element of SVG, as those in index.html are. */
export function shape(tag, attributes = {}, ...children) {
    const made = document.createElementNS(byId("way").content.firstElementChild.namespaceURI, tag);

    for (const [name, value] of Object.entries(attributes))
        made.setAttribute(name, value);
    made.append(...children);
    return made;
}

export function said(text) {
    return element("span", { class: "said" }, text);
}

/** A row of a table, which a narrow window shows as a card; for a screen reader it stays a row. */
export function row(attributes, ...cells) {
    return element("tr", { role: "row", ...attributes }, ...cells);
}

/** The cell that names its row. */
export function headCell(...children) {
    return element("th", { scope: "row", role: "rowheader" }, ...children);
}

/** A cell below the column's title, which a card repeats; one without content takes no room there. */
export function cell(title, ...children) {
    const full = children.filter((child) => child !== "" && child !== null);

    return element("td", { role: "cell", "data-title": title, ...(full.length === 0 ? { class: "nil" } : {}) }, ...full);
}

/** Shows the columns of a table that have something to say. */
export function hideEmptyColumns(table) {
    const titles = [...table.tHead.rows[0].cells];
    const rows = [...table.tBodies[0].rows].filter((made) => made.cells.length === titles.length);

    titles.forEach((title, at) => {
        const isEmpty = rows.length > 0 && rows.every((made) => made.cells[at].classList.contains("nil"));

        for (const made of [title, ...rows.map((all) => all.cells[at])])
            show(made, !isEmpty);
    });
}

/** A state, or another word that is meant well or badly; the stylesheet puts a mark in front. */
export function stateWord(word, mood) {
    return element("span", { class: "state " + mood }, word);
}

export function show(node, visible) {
    node.hidden = !visible;
}

/** Sets a text that is there already only if it is another one: a screen reader tells what changed. */
export function setText(node, text) {
    if (node.textContent !== text)
        node.textContent = text;
}

export function time(us, text) {
    const when = new Date(us / 1000);

    return element("time", { datetime: when.toISOString(), title: when.toLocaleString() }, text);
}

/** A bar: parts are shares from 0 to 1 with the class of each. A text beside it has to say the same. */
export function bar(parts) {
    const made = element("div", { class: "bar", "aria-hidden": "true" });

    for (const [name, share] of parts) {
        const part = element("span", { class: name });

        part.style.width = share * 100 + "%";
        made.append(part);
    }
    return made;
}

/** Makes the children of parent what items are: one for each, made anew only where its data is another than the last time,
 *  so that focus, selection and place on the page stay. */
export function fill(parent, items, keyOf, make) {
    const before = new Map();
    let at = parent.firstElementChild;

    for (const child of parent.children)
        before.set(child.edlKey, child);
    for (const item of items) {
        const key = String(keyOf(item));
        const data = JSON.stringify(item);
        let child = before.get(key);

        before.delete(key);
        if (child === undefined || child.edlData !== data) {
            const made = make(item);

            made.edlKey = key;
            made.edlData = data;
            if (child !== undefined) {
                const focused = child.contains(document.activeElement);

                if (at === child)
                    at = made;
                child.replaceWith(made);
                if (focused)
                    made.querySelector("a, button")?.focus({ preventScroll: true });
            }
            child = made;
        }
        if (child === at)
            at = at.nextElementSibling;
        else
            parent.insertBefore(child, at);
    }
    for (const child of before.values())
        child.remove();
}
