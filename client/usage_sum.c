/* SPDX-License-Identifier: Apache-2.0 */
/* usage_sum.c - the usage of many jobs added up, by a name
 *
 * The API tells the usage of a job from its beginning. A job that ran before the window counts by
 * the part of its time that lies in it, as if it had used the same all the time. */
#include "client/usage_sum.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <uthash.h>

#include "shared/clock.h"
#include "shared/json_read.h"
#include "shared/macro.h"
#include "shared/parse.h"
#include "shared/rfc3339.h"

static const char *const words[] = {
    [USAGE_BY_USER] = "user",
    [USAGE_BY_GROUP] = "group",
    [USAGE_BY_JOB] = "job",
};
_Static_assert(ELEMENTS(words) == _USAGE_BY, "each has its word");

const char *usage_by_to_string(enum usage_by by)
{
    return words[by];
}

int usage_by_read(const char *word, enum usage_by *ret)
{
    for (size_t i = 0; i < ELEMENTS(words); i++) {
        if (streq(words[i], word)) {
            *ret = (enum usage_by)i;
            return 0;
        }
    }
    return -EINVAL;
}

/* day_read - "2026-11-01": that day's beginning, here */
static int day_read(const char *text, uint64_t *ret_us)
{
    struct tm day = { .tm_isdst = -1 };
    const char *end = strptime(text, "%Y-%m-%d", &day);
    time_t at = end != NULL && *end == '\0' ? mktime(&day) : -1;

    if (at < 0)
        return -EINVAL;
    *ret_us = (uint64_t)at * USEC_PER_SEC;
    return 0;
}

int usage_since_read(const char *text, uint64_t now_us, uint64_t *ret_us)
{
    bool has_unit = text[strspn(text, "0123456789")] != '\0'; /* a year is no seconds */
    uint64_t us;

    if (has_unit && parse_seconds(text, &us) == 0) {
        *ret_us = now_us - MIN_OF(us, now_us);
        return 0;
    }
    if (rfc3339_parse(text, &us) < 0 && day_read(text, &us) < 0)
        return -EINVAL;
    if (us > now_us)
        return -ERANGE;
    *ret_us = us;
    return 0;
}

double usage_part(const json_t *job, uint64_t since_us, uint64_t now_us)
{
    uint64_t started_us = json_u64(job, "started_us");
    uint64_t ended_us = json_u64(job, "ended_us");
    uint64_t from_us = started_us != 0 ? started_us : json_u64(job, "submitted_us");
    uint64_t to_us = ended_us != 0 ? ended_us : now_us;

    if (to_us < since_us)
        return 0;
    if (from_us >= since_us || from_us >= to_us)
        return 1;
    return (double)(to_us - since_us) / (double)(to_us - from_us);
}

static const char *const kinds[] = { "useful", "resize", "idle", "wasted" };
static const char *const amounts[] = { "cpu_core_seconds", "gpu_seconds", "memory_gib_seconds" };

struct entry {
    char *name; /* owned */
    uint64_t n_jobs;
    double of[ELEMENTS(kinds)][ELEMENTS(amounts)];
    json_t *facts; /* owned; NULL: none */
    UT_hash_handle hh;
};

struct usage_sum {
    struct entry *entries; /* uthash by name; owned */
};

struct usage_sum *usage_sum_new(void)
{
    return xcalloc(1, sizeof(struct usage_sum));
}

struct usage_sum *usage_sum_free(struct usage_sum *sum)
{
    struct entry *entry, *next;

    if (sum == NULL)
        return NULL;
    HASH_ITER(hh, sum->entries, entry, next)
    {
        HASH_DEL(sum->entries, entry);
        json_decref(entry->facts);
        free(entry->name);
        free(entry);
    }
    free(sum);
    return NULL;
}

static struct entry *entry_of(struct usage_sum *sum, const char *name, const json_t *facts)
{
    struct entry *entry;

    HASH_FIND_STR(sum->entries, name, entry);
    if (entry != NULL)
        return entry;
    entry = xcalloc(1, sizeof *entry);
    entry->name = xstrdup(name);
    entry->facts = facts != NULL ? json_deep_copy(facts) : NULL;
    HASH_ADD_KEYPTR(hh, sum->entries, entry->name, strlen(entry->name), entry);
    return entry;
}

void usage_sum_add(struct usage_sum *sum, const char *name, uint64_t n_jobs, const json_t *usage,
                   double part, const json_t *facts)
{
    struct entry *entry = entry_of(sum, name, facts);

    entry->n_jobs += n_jobs;
    for (size_t k = 0; k < ELEMENTS(kinds); k++) {
        const json_t *kind = json_object_get(usage, kinds[k]);

        for (size_t a = 0; a < ELEMENTS(amounts); a++)
            entry->of[k][a] += part * json_number_value(json_object_get(kind, amounts[a]));
    }
}

static int by_name_of(const struct entry *a, const struct entry *b)
{
    return strcmp(a->name, b->name);
}

static json_t *usage_of(const struct entry *entry)
{
    json_t *usage = json_object();

    for (size_t k = 0; k < ELEMENTS(kinds); k++) {
        json_t *kind = json_object();

        for (size_t a = 0; a < ELEMENTS(amounts); a++)
            (void)json_object_set_new(kind, amounts[a], json_real(entry->of[k][a]));
        (void)json_object_set_new(usage, kinds[k], kind);
    }
    return usage;
}

json_t *usage_sum_rows(struct usage_sum *sum, const char *key, bool by_name)
{
    json_t *rows = json_array();

    if (by_name)
        HASH_SORT(sum->entries, by_name_of);
    for (const struct entry *entry = sum->entries; entry != NULL; entry = entry->hh.next) {
        json_t *row = json_pack("{s:s,s:I,s:o}", key, entry->name, "jobs",
                                (json_int_t)entry->n_jobs, "usage", usage_of(entry));

        if (entry->facts != NULL)
            (void)json_object_update(row, entry->facts);
        (void)json_array_append_new(rows, row);
    }
    return rows;
}
