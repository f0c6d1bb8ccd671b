/* SPDX-License-Identifier: Apache-2.0 */
/* batch_history.c - from which step on a training had how many micro-batches */
#include "shared/batch_history.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/error.h"
#include "shared/macro.h"

#define LINE_MAX_BYTES 48 /* two numbers of 64 bits */

static uint64_t kept(const struct batch_history *h)
{
    return MIN_OF(h->n, (uint64_t)BATCH_CHANGES_MAX);
}

void batch_history_note(struct batch_history *h, uint64_t step, uint64_t micro_batches)
{
    const uint64_t n = kept(h);

    if (n > 0 && n == h->n && h->changes[n - 1].micro_batches == micro_batches)
        return;
    if (h->n < BATCH_CHANGES_MAX)
        h->changes[h->n] = (struct batch_change){ step, micro_batches };
    h->n++;
}

uint64_t batch_history_at(const struct batch_history *h, uint64_t step)
{
    uint64_t micro_batches = 0;

    for (uint64_t i = 0; i < kept(h) && h->changes[i].step <= step; i++)
        micro_batches = h->changes[i].micro_batches;
    return micro_batches;
}

char *batch_history_to_text(const struct batch_history *h)
{
    char *text, *at;

    if (h->n > BATCH_CHANGES_MAX)
        return NULL;
    text = at = xcalloc(h->n + 1, LINE_MAX_BYTES);
    for (uint64_t i = 0; i < h->n; i++)
        at += snprintf(at, LINE_MAX_BYTES, "%" PRIu64 " %" PRIu64 "\n", h->changes[i].step,
                       h->changes[i].micro_batches);
    return text;
}

/* number - digits alone; *text: behind it. 0: there is none */
static uint64_t number(const char **text)
{
    char *end;
    uint64_t value;

    if (**text < '0' || **text > '9')
        return 0;
    errno = 0;
    value = strtoull(*text, &end, 10);
    *text = end;
    return errno == 0 ? value : 0;
}

/* read_line - false: it is none */
static bool read_line(const char **text, struct batch_change *ret)
{
    ret->step = number(text);
    if (ret->step == 0 || *(*text)++ != ' ')
        return false;
    ret->micro_batches = number(text);
    return ret->micro_batches > 0 && *(*text)++ == '\n';
}

int batch_history_of_text(const char *text, uint64_t most, struct batch_history *ret,
                          struct edl_error *error)
{
    struct batch_history h = { 0 };

    while (*text != '\0') {
        struct batch_change *change = &h.changes[h.n];
        const uint64_t least = h.n > 0 ? h.changes[h.n - 1].step + 1 : 1;

        if (h.n == BATCH_CHANGES_MAX)
            return edl_error_set(error, -EINVAL, "more than %d lines", BATCH_CHANGES_MAX);
        if (!read_line(&text, change) || change->step < least || (h.n == 0 && change->step != 1) ||
            change->micro_batches > most) {
            (void)edl_error_set(error, -EINVAL, "line %" PRIu64 " is no change of the batch",
                                h.n + 1);
            return edl_error_remedy(error,
                                    "write a step, which rises from 1, a space and 1 to %" PRIu64
                                    " micro-batches",
                                    most);
        }
        h.n++;
    }
    if (h.n == 0)
        return edl_error_set(error, -EINVAL, "it has no line");
    *ret = h;
    return 0;
}
