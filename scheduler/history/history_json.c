/* SPDX-License-Identifier: Apache-2.0 */
/* history_json.c - see history_json.h */
#include "scheduler/history/history_json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/core/model/resize_text.h"
#include "scheduler/history/bins.h"
#include "scheduler/history/reads.h"
#include "scheduler/history/series.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"

/* The owners that have a series of their own, and the bins of all. */
struct picture {
    const struct held_query *query;
    struct picture_owner {
        char *user; /* owned */
        uint64_t job_id;
    } owners[HISTORY_SERIES_MAX];
    uint32_t n, n_others; /* n_others: that share one series, the last */
    struct bins bins;
};

void history_question_done(struct history_question *question)
{
    json_decref(question->progress);
    question->progress = NULL;
}

static void add_owner(const struct held_owner *owner, void *userdata)
{
    struct picture *picture = userdata;

    if (picture->n == HISTORY_SERIES_MAX)
        picture->n_others++;
    else
        picture->owners[picture->n++] =
            (struct picture_owner){ .user = xstrdup(owner->user), .job_id = owner->job_id };
}

static uint32_t series_of(const struct picture *picture, const struct held_span *span)
{
    uint32_t i = 0;

    while (i < picture->n && (picture->query->by_job ? picture->owners[i].job_id != span->job_id
                                                     : !streq(picture->owners[i].user, span->user)))
        i++;
    return i;
}

static void add_span(const struct held_span *span, void *userdata)
{
    struct picture *picture = userdata;

    if (span->amount > 0)
        bins_add(&picture->bins, series_of(picture, span), span->since_us, span->until_us,
                 (double)span->amount);
}

/* whole: nobody sees less than one of these. Else a thousandth is enough. */
static json_t *values_of(const struct bins *bins, uint32_t series, bool whole)
{
    const double parts = whole ? 1 : 1000;
    double means[BINS_MAX];
    json_t *values = json_array();

    bins_means(bins, series, means);
    for (uint32_t i = 0; i < bins->n; i++) {
        double value = fmax(0, round(means[i] * parts) / parts);

        (void)json_array_append_new(values, value == floor(value) ? json_integer((json_int_t)value)
                                                                  : json_real(value));
    }
    return values;
}

static json_t *text_or(const char *text, const char *instead)
{
    json_t *json = json_string(text);

    return json != NULL ? json : json_string(instead); /* it may have been cut in a character */
}

static json_t *null_or_text(const char *text)
{
    return *text != '\0' ? text_or(text, "(not UTF-8)") : json_null();
}

/* --- resizes --- */

struct resize_list {
    json_t *list;
    uint64_t left; /* room */
    bool more;
};

/* They come the newest first, and are told the oldest first. */
static void add_resize(const struct held_resize *found, void *userdata)
{
    struct resize_list *resizes = userdata;
    struct resize resize;

    if (resizes->left == 0) {
        resizes->more = true;
        return;
    }
    if (resize_parse(found->event.text, &resize) < 0)
        return; /* of an earlier version, which wrote it in other words */
    resizes->left--;
    (void)json_array_insert_new(resizes->list, 0,
                                json_pack("{s:I,s:I,s:I,s:o,s:o,s:s,s:I,s:I,s:s,s:o}", "revision",
                                          (json_int_t)found->event.revision, "time_us",
                                          (json_int_t)found->event.time_us, "job_id",
                                          (json_int_t)found->event.job_id, "job",
                                          null_or_text(found->name), "user",
                                          null_or_text(found->user), "role", resize.role, "from",
                                          (json_int_t)resize.from, "to", (json_int_t)resize.to,
                                          "code", *resize.code != '\0' ? resize.code : "other",
                                          "reason", text_or(resize.reason, "(not UTF-8)")));
}

static int put_resizes(struct store_reader *reader, const struct held_query *query, json_t *answer,
                       struct edl_error *error)
{
    struct resize_list resizes = { .list = json_array(), .left = HISTORY_RESIZES_MAX };
    int r =
        store_reader_resizes(reader, query, HISTORY_RESIZES_MAX + 1, add_resize, &resizes, error);

    (void)json_object_set_new(answer, "resizes", resizes.list);
    (void)json_object_set_new(answer, "resizes_left_out", json_boolean(resizes.more));
    return r;
}

static json_t *new_answer(const struct history_question *question)
{
    const struct held_query *query = &question->query;

    return json_pack("{s:I,s:I,s:I}", "since_us", (json_int_t)query->since_us, "until_us",
                     (json_int_t)query->until_us, "bins", (json_int_t)question->bins);
}

/* --- who held what --- */

static int put_owner(struct store_reader *reader, const struct picture *picture, uint32_t i,
                     json_t *series, struct edl_error *error)
{
    const struct picture_owner *owner = &picture->owners[i];
    _cleanup_free_ char *name = NULL, *user = NULL;

    if (picture->query->by_job && store_reader_job(reader, owner->job_id, &name, &user, error) < 0)
        return error->code;
    (void)json_array_append_new(
        series,
        json_pack("{s:o,s:o,s:o,s:o}", "user", text_or(owner->user, "(not UTF-8)"), "job_id",
                  picture->query->by_job ? json_integer((json_int_t)owner->job_id) : json_null(),
                  "job", name != NULL ? null_or_text(name) : json_null(), "values",
                  values_of(&picture->bins, i, !picture->query->gpus)));
    return 0;
}

static int put_series(struct store_reader *reader, const struct picture *picture, json_t *answer,
                      struct edl_error *error)
{
    json_t *series = json_array();
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < picture->n; i++)
        r = put_owner(reader, picture, i, series, error);
    (void)json_object_set_new(answer, "series", series);
    (void)json_object_set_new(
        answer, "others",
        picture->n_others > 0
            ? json_pack("{s:I,s:o}", "n", (json_int_t)picture->n_others, "values",
                        values_of(&picture->bins, picture->n, !picture->query->gpus))
            : json_null());
    return r;
}

static int allocation(struct store_reader *reader, const struct history_question *question,
                      json_t *answer, struct edl_error *error)
{
    const struct held_query *query = &question->query;
    struct picture picture = { .query = query };
    uint64_t known_us = 0;
    int r = store_reader_known(reader, &known_us, error);

    if (r == 0)
        r = store_reader_owners(reader, query, add_owner, &picture, error);
    bins_init(&picture.bins, query->since_us, query->until_us, question->bins, picture.n + 1);
    if (r == 0)
        r = store_reader_spans(reader, query, add_span, &picture, error);
    if (r == 0)
        r = put_series(reader, &picture, answer, error);
    if (r == 0)
        r = put_resizes(reader, query, answer, error);
    (void)json_object_set_new(answer, "known_since_us", json_integer((json_int_t)known_us));
    (void)json_object_set_new(answer, "by", json_string(query->by_job ? "job" : "user"));
    (void)json_object_set_new(answer, "resource",
                              json_string(query->gpus ? "gpus" : "cpu_millicores"));
    bins_done(&picture.bins);
    for (uint32_t i = 0; i < picture.n; i++)
        free(picture.owners[i].user);
    return r;
}

/* --- one job --- */

struct role_bins {
    uint32_t n;
    struct bins bins;
};

static void add_role_span(const struct held_span *span, void *userdata)
{
    struct role_bins *roles = userdata;

    if (span->role < roles->n)
        bins_add(&roles->bins, span->role, span->since_us, span->until_us, (double)span->processes);
}

static void take_series(const struct stored_series *stored, void *userdata)
{
    struct history_question *question = userdata;
    struct series series = { .n = 0 };

    (void)snprintf(series.rate_of, sizeof series.rate_of, "%s", stored->rate_of);
    (void)snprintf(series.cost_name, sizeof series.cost_name, "%s", stored->cost_name);
    (void)series_from_text(stored->points, &series);
    question->progress = series_to_json(&series);
    series_done(&series);
}

static json_t *roles_to_json(const struct history_question *question, const struct role_bins *roles)
{
    json_t *array = json_array();

    for (uint32_t i = 0; i < roles->n; i++)
        (void)json_array_append_new(array,
                                    json_pack("{s:s,s:o}", "role", question->roles[i], "processes",
                                              values_of(&roles->bins, i, false)));
    return array;
}

static int one_job(struct store_reader *reader, struct history_question *question, json_t *answer,
                   struct edl_error *error)
{
    const struct held_query *query = &question->query;
    struct role_bins roles = { .n = MIN_OF(question->n_roles, (uint32_t)BINS_SERIES_MAX) };
    int r;

    bins_init(&roles.bins, query->since_us, query->until_us, question->bins, roles.n);
    r = store_reader_spans(reader, query, add_role_span, &roles, error);
    if (r == 0)
        r = put_resizes(reader, query, answer, error);
    if (r == 0 && question->progress == NULL)
        r = store_reader_series(reader, query->job_id, take_series, question, error);
    (void)json_object_set_new(answer, "job_id", json_integer((json_int_t)query->job_id));
    (void)json_object_set_new(answer, "roles", roles_to_json(question, &roles));
    (void)json_object_set(answer, "progress",
                          question->progress != NULL ? question->progress : json_null());
    bins_done(&roles.bins);
    return MIN_OF(r, 0);
}

json_t *history_answer(struct store_reader *reader, struct history_question *question,
                       struct edl_error *error)
{
    json_t *answer = new_answer(question);
    int r = question->query.job_id != 0 ? one_job(reader, question, answer, error)
                                        : allocation(reader, question, answer, error);

    if (r == 0)
        return answer;
    json_decref(answer);
    return NULL;
}

/* --- as people read it --- */

static void show_time(json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);

    if (json_is_integer(value))
        (void)json_integer_set(value,
                               (json_int_t)clock_shown_us((uint64_t)json_integer_value(value)));
}

void history_show_times(json_t *answer)
{
    static const char *const keys[] = { "since_us", "until_us", "known_since_us" };
    size_t i;
    json_t *value;

    for (i = 0; i < ELEMENTS(keys); i++)
        show_time(answer, keys[i]);
    json_array_foreach(json_object_get(answer, "resizes"), i, value)
    {
        show_time(value, "time_us");
    }
    json_array_foreach(json_object_get(json_object_get(answer, "progress"), "time_us"), i, value)
    {
        (void)json_integer_set(value,
                               (json_int_t)clock_shown_us((uint64_t)json_integer_value(value)));
    }
}
