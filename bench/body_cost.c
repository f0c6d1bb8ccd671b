/* SPDX-License-Identifier: Apache-2.0 */
/* body_cost.c - the CPU time that the worst documents within the bounds take to be read
 *
 * Each kind is one piece, over and over, as often as the bounds of a job document allow. Most are
 * refused in the end, but not before they were read. Nothing is timed but job_document_parse and
 * job_spec_from_document, and the results of both are freed. The least of three is told, as a
 * machine that is busy only adds to it.
 *
 * Usage: body_cost [--json] */
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/document_bounds.h"
#include "shared/error.h"
#include "shared/job_document.h"
#include "shared/job_spec.h"
#include "shared/macro.h"

#define TRIES 3
#define PIECE_MAX 256

static const struct kind {
    const char *name, *begin;
    const char *piece; /* %x: a number that no other piece has */
    const char *end;
    size_t values; /* of a piece */
} kinds[] = {
    { "json: one text", "{\"a\":\"", "aaaaaaaaaaaaaaaa", "\"}", 0 },
    { "json: text of escapes", "{\"a\":\"", "\\u00fc\\n", "\"}", 0 },
    { "json: blanks", "{\"a\":1", "\n \t", "}", 0 },
    { "json: numbers", "{\"a\":[1", ",1", "]}", 1 },
    { "json: fractions", "{\"a\":[1", ",1.5e300", "]}", 1 },
    { "json: lists", "{\"a\":[1", ",[1]", "]}", 3 },
    { "json: keys", "{\"a\":1", ",\"k%x\":1", "}", 1 },
    { "json: arguments", "{\"name\":\"a\",\"roles\":[{\"role\":\"a\",\"command\":[\"a\"",
      ",\"0123456789abcdef\"", "]}]}", 1 },
    { "json: env", "{\"name\":\"a\",\"env\":{\"A\":\"1\"", ",\"A%x\":\"0123456789\"", "}}", 1 },
    { "yaml: directives", "", "%%TAG !%x! a\n", "--- a\n", 0 },
    { "yaml: comments", "a: 1\n", "#\n", "", 0 },
    { "yaml: empty lines", "a: 1\n", "\n", "b: 1\n", 0 },
    { "yaml: block text", "a: |\n", " x\n", "", 0 },
    { "yaml: folded text", "a: >\n", " xxxxxxxxxxxxxxxx\n", "", 0 },
    { "yaml: quoted text", "a: \"", "\\x41", "\"\n", 0 },
    { "yaml: text on many lines", "a: x\n", " x\n", "", 0 },
    { "yaml: blanks", "a: x", " ", "\n", 0 },
    { "yaml: list", "a:\n", "- x\n", "", 1 },
    { "yaml: list on one line", "a: [x", ",x", "]\n", 1 },
    { "yaml: empty lists", "a: [x", ",[]", "]\n", 1 },
    { "yaml: keys", "a: 1\n", "a%x: 1\n", "", 1 },
    { "yaml: explicit keys", "a: 1\n", "? a%x\n: 1\n", "", 1 },
    { "yaml: keys on one line", "- {a: 1", ",a%x: 1", "}\n", 1 },
    { "yaml: anchors", "a:\n", "- &a%x x\n", "", 1 },
    { "yaml: tags", "a:\n", "- !!str x\n", "", 1 },
    { "yaml: texts of 64 KiB", "a:\n", NULL, "", 1 },
};

/* fill - the document of a kind; room: of the bounds' bytes and a NUL; returns its length */
static size_t fill(const struct kind *kind, char *room)
{
    const struct document_bounds *bounds = &job_document_bounds;
    size_t used = (size_t)(stpcpy(room, kind->begin) - room), values = 4;
    char piece[PIECE_MAX];

    for (unsigned i = 0; kind->piece != NULL; i++, values += kind->values) {
        size_t length = strchr(kind->piece, '%') != NULL
                            ? (size_t)snprintf(piece, sizeof piece, kind->piece, i)
                            : (size_t)(stpcpy(piece, kind->piece) - piece);

        if (used + length + strlen(kind->end) > bounds->bytes || values > bounds->values)
            break;
        (void)memcpy(room + used, piece, length);
        used += length;
    }
    while (kind->piece == NULL && used + bounds->text_bytes + 4 <= bounds->bytes) {
        used = (size_t)(stpcpy(room + used, "- ") - room);
        (void)memset(room + used, 'x', bounds->text_bytes);
        used += bounds->text_bytes;
        room[used++] = '\n';
    }
    return (size_t)(stpcpy(room + used, kind->end) - room);
}

/* read_once - microseconds; what came of it goes to error */
static uint64_t read_once(const char *text, size_t size, struct edl_error *error)
{
    uint64_t begun_us = clock_read_us(CLOCK_THREAD_CPUTIME_ID);
    json_t *document = NULL, *ignored = NULL;
    struct job_spec *spec = NULL;

    *error = (struct edl_error){ 0 };
    if (job_document_parse(text, size, &job_document_bounds, &document, error) == 0)
        (void)job_spec_from_document(document, &spec, &ignored, error);
    json_decref(document);
    json_decref(ignored);
    (void)job_spec_free(spec);
    return clock_read_us(CLOCK_THREAD_CPUTIME_ID) - begun_us;
}

int main(int argc, char **argv)
{
    _cleanup_free_ char *room = xcalloc(1, job_document_bounds.bytes + PIECE_MAX);
    bool as_json = argc == 2 && streq(argv[1], "--json");
    json_t *all = json_object();
    uint64_t worst_us = 0;

    if (argc > 1 && !as_json) {
        (void)fprintf(stderr, "usage: body_cost [--json]\n");
        return 2;
    }
    for (size_t i = 0; i < ELEMENTS(kinds); i++) {
        size_t size = fill(&kinds[i], room);
        uint64_t least_us = UINT64_MAX;
        struct edl_error error;

        for (unsigned t = 0; t < TRIES; t++)
            least_us = MIN_OF(least_us, read_once(room, size, &error));
        worst_us = MAX_OF(worst_us, least_us);
        if (!as_json)
            (void)printf("%-28s %7zu bytes %7llu us  %.60s\n", kinds[i].name, size,
                         (unsigned long long)least_us, error.text);
        (void)json_object_set_new(all, kinds[i].name, json_integer((json_int_t)least_us));
    }
    (void)json_object_set_new(all, "worst_us", json_integer((json_int_t)worst_us));
    if (as_json)
        (void)json_dumpf(all, stdout, JSON_INDENT(2));
    (void)printf("%s", as_json ? "\n" : "");
    json_decref(all);
    return 0;
}
