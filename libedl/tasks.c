/* SPDX-License-Identifier: Apache-2.0 */
/* tasks.c - the job's data: put, taken piece by piece, counted
 *
 * Each question for a task names those that are held. So one whose answer was lost on the way is
 * given again, and none twice. */
#include "libedl/tasks.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <utlist.h>

#include "libedl/client.h"
#include "shared/macro.h"

#define CHUNKS_MAX 65536 /* in one task */
#define HELD_MAX 4096    /* the scheduler takes so many names */
#define REASON_BYTES_MAX 400

struct held_task {
    struct edl_task task; /* first: this is what the caller has */
    struct edl_client *client;
    bool over;             /* done or given back: another holder may have it */
    uint64_t lost_records; /* told when it is done */
    uint32_t lost_chunks;
    struct edl_chunk *chunks; /* owned, and their paths */
    struct held_task *prev, *next;
};

static struct held_task *held_of(const struct edl_task *task)
{
    return (struct held_task *)(uintptr_t)task; /* why: first member; const for the caller only */
}

struct edl_task *edl_task_free(struct edl_task *task)
{
    struct held_task *held = held_of(task);

    if (held == NULL)
        return NULL;
    DL_DELETE(held->client->tasks, held);
    held->client->n_tasks--;
    for (size_t i = 0; i < held->task.n_chunks; i++)
        free((char *)(uintptr_t)held->chunks[i].path); /* why: const for the caller only */
    free(held->chunks);
    free(held);
    return NULL;
}

void tasks_free_all(struct edl_client *client)
{
    while (client->tasks != NULL)
        (void)edl_task_free(&client->tasks->task);
}

/* ---- the data set ---- */

/* passes_of - as many as the job makes; 0: an older scheduler does not say */
static uint64_t passes_of(json_t *answer)
{
    json_int_t passes = 0;

    return json_unpack(answer, "{s:I}", "passes", &passes) == 0 && passes > 0 ? (uint64_t)passes
                                                                              : 0;
}

int dataset_known(struct edl_client *client, uint64_t *ret_passes)
{
    json_t *answer = NULL;
    int r = client_ask(client, "GET", "/jobs/self/dataset", NULL, &answer);

    if (r == 0)
        *ret_passes = passes_of(answer);
    json_decref(answer);
    if (r == -ENOENT) {
        client->error = (struct edl_error){ 0 };
        return 0;
    }
    return r < 0 ? client_result(client, r) : 1;
}

int edl_dataset_exists(struct edl_client *client)
{
    uint64_t passes;

    return dataset_known(client, &passes);
}

/* chunk_to_json - NULL: it cannot be told */
static json_t *chunk_to_json(const struct edl_chunk *chunk)
{
    json_t *json;

    if (chunk->offset_bytes > INT64_MAX || chunk->file_bytes > INT64_MAX ||
        chunk->mtime_us > INT64_MAX || chunk->path == NULL)
        return NULL;
    json = json_pack("{s:s, s:I, s:I}", "path", chunk->path, "offset",
                     (json_int_t)chunk->offset_bytes, "records", (json_int_t)chunk->n_records);
    if (json == NULL || chunk->mtime_us == 0)
        return json;
    (void)json_object_set_new(json, "size", json_integer((json_int_t)chunk->file_bytes));
    (void)json_object_set_new(json, "mtime_us", json_integer((json_int_t)chunk->mtime_us));
    return json;
}

static json_t *chunks_to_json(const struct edl_piece *piece)
{
    json_t *chunks = json_array();

    for (size_t i = 0; i < piece->n_chunks; i++)
        (void)json_array_append_new(chunks, chunk_to_json(&piece->chunks[i]));
    if (json_array_size(chunks) == piece->n_chunks)
        return json_pack("{s:o}", "chunks", chunks);
    json_decref(chunks);
    return NULL;
}

int edl_dataset_put(struct edl_client *client, const char *digest, const struct edl_piece *pieces,
                    size_t n_pieces)
{
    return edl_dataset_put_passes(client, digest, pieces, n_pieces, 0, NULL);
}

int edl_dataset_put_passes(struct edl_client *client, const char *digest,
                           const struct edl_piece *pieces, size_t n_pieces, uint64_t passes,
                           uint64_t *ret_passes)
{
    json_t *tasks = json_array(), *answer = NULL;
    json_t *body = json_pack("{s:s, s:o}", "digest", digest, "tasks", tasks);
    int r;

    if (body != NULL && passes > 0)
        (void)json_object_set_new(body, "passes",
                                  json_integer((json_int_t)MIN_OF(passes, (uint64_t)INT64_MAX)));

    for (size_t i = 0; body != NULL && i < n_pieces; i++)
        (void)json_array_append_new(tasks, chunks_to_json(&pieces[i]));
    if (body == NULL || json_array_size(tasks) != n_pieces) {
        json_decref(body);
        return client_refuse(client, -EINVAL,
                             "the data set's digest or a path is no UTF-8, or an offset too large");
    }
    r = client_ask(client, "PUT", "/jobs/self/dataset", body, &answer);
    json_decref(body);
    if (r == 0 && ret_passes != NULL)
        *ret_passes = passes_of(answer);
    json_decref(answer);
    return client_result(client, r);
}

/* ---- a task ---- */

static int read_chunks(const json_t *list, struct held_task *held)
{
    json_t *chunk;
    size_t i;

    if (!json_is_array(list) || json_array_size(list) > CHUNKS_MAX)
        return -EINVAL;
    held->chunks = xcalloc(json_array_size(list), sizeof *held->chunks);
    held->task.chunks = held->chunks;
    json_array_foreach(list, i, chunk)
    {
        json_int_t offset = -1, records = -1, size = 0, mtime_us = 0;
        const char *path = NULL;

        if (json_unpack(chunk, "{s:s, s:I, s:I, s?I, s?I}", "path", &path, "offset", &offset,
                        "records", &records, "size", &size, "mtime_us", &mtime_us) < 0 ||
            offset < 0 || records < 0 || records > UINT32_MAX || size < 0 || mtime_us < 0)
            return -EINVAL;
        held->chunks[held->task.n_chunks++] = (struct edl_chunk){ .path = xstrdup(path),
                                                                  .offset_bytes = (uint64_t)offset,
                                                                  .n_records = (uint32_t)records,
                                                                  .file_bytes = (uint64_t)size,
                                                                  .mtime_us = (uint64_t)mtime_us };
    }
    return 0;
}

static int read_task(json_t *json, struct edl_client *client, struct edl_task **ret)
{
    struct held_task *held = xcalloc(1, sizeof *held);
    json_int_t id = -1, pass = -1, lease = -1;
    json_t *chunks = NULL;

    held->client = client;
    DL_APPEND(client->tasks, held);
    client->n_tasks++;
    if (json_unpack(json, "{s:I, s:I, s:I, s:o}", "id", &id, "pass", &pass, "lease", &lease,
                    "chunks", &chunks) < 0 ||
        id < 0 || pass < 0 || lease < 0 || read_chunks(chunks, held) < 0) {
        (void)edl_task_free(&held->task);
        return -EINVAL;
    }
    held->task.id = (uint64_t)id;
    held->task.pass = (uint64_t)pass;
    held->task.lease = (uint64_t)lease;
    *ret = &held->task;
    return 0;
}

/* What a question for tasks brings. */
struct next {
    struct edl_client *client;
    struct edl_task **tasks; /* the caller's, with room for: */
    size_t room, n;
};

static void forget(struct next *next)
{
    while (next->n > 0)
        (void)edl_task_free(next->tasks[--next->n]);
}

static int read_tasks(json_t *list, struct next *next)
{
    json_t *task;
    size_t i;

    if (json_array_size(list) == 0 || json_array_size(list) > next->room)
        return -EINVAL;
    json_array_foreach(list, i, task)
    {
        if (read_task(task, next->client, &next->tasks[next->n]) < 0) {
            forget(next);
            return -EINVAL;
        }
        next->n++;
    }
    return 0;
}

static int read_next(const json_t *answer, void *userdata, struct edl_error *error)
{
    struct next *next = userdata;
    json_t *list = json_object_get(answer, "tasks");
    json_t *task = json_object_get(answer, "task");
    int r;

    if (list != NULL || task != NULL) {
        r = list != NULL ? read_tasks(list, next) : read_task(task, next->client, &next->tasks[0]);
        if (r < 0)
            return client_answer_bad("the next task", error);
        next->n = MAX_OF(next->n, (size_t)1);
        return EDL_NEXT_TASK;
    }
    if (json_is_true(json_object_get(answer, "finished")))
        return json_is_true(json_object_get(answer, "save_model")) ? EDL_NEXT_SAVE_MODEL
                                                                   : EDL_NEXT_FINISHED;
    if (json_is_true(json_object_get(answer, "wait")))
        return CLIENT_NO_NEWS;
    return client_answer_bad("the next task", error);
}

/* ask_next - take_body: the members of the question beside the known tasks */
static int ask_next(struct next *next, uint64_t timeout_us, json_t *take_body)
{
    struct client_wait wait = { .method = "POST",
                                .path = "/jobs/self/tasks/lease",
                                .body = take_body,
                                .timeout_us = timeout_us,
                                .read = read_next,
                                .userdata = next };
    json_t *known = json_array();
    const struct held_task *held;
    int r;

    DL_FOREACH(next->client->tasks, held)
    if (!held->over)
        (void)json_array_append_new(known, json_integer((json_int_t)held->task.id));
    (void)json_object_set_new(take_body, "known", known);
    if (json_array_size(known) < HELD_MAX)
        r = client_await(next->client, &wait);
    else
        r = edl_error_set(&next->client->error, -EINVAL,
                          "4096 tasks are held: say of some that they are done");
    json_decref(take_body);
    if (r == EDL_NEXT_SAVE_MODEL && next->client->told_to_save)
        r = EDL_NEXT_FINISHED; /* a loop until there is nothing more to do ends */
    next->client->told_to_save |= r == EDL_NEXT_SAVE_MODEL;
    return client_result(next->client, r);
}

int edl_task_next(struct edl_client *client, uint64_t timeout_us, struct edl_task **ret_task)
{
    struct edl_task *task = NULL;
    struct next next = { .client = client, .tasks = &task, .room = 1 };
    int r = ask_next(&next, timeout_us, json_object());

    if (r == EDL_NEXT_TASK)
        *ret_task = task;
    return r;
}

int edl_tasks_next(struct edl_client *client, uint64_t pass, size_t n, uint64_t timeout_us,
                   struct edl_task **ret, size_t *ret_n)
{
    struct edl_task *tasks[EDL_TASKS_MAX] = { NULL };
    struct next next = { .client = client, .tasks = tasks, .room = n };
    json_t *body;
    int r;

    if (n == 0 || n > EDL_TASKS_MAX)
        return client_refuse(client, -EINVAL, "1 to 256 tasks can be asked for in one call");
    if (pass != EDL_ANY_PASS && pass > UINT32_MAX)
        return client_refuse(client, -EINVAL, "a pass is a number below 2^32, or EDL_ANY_PASS");
    body = json_pack("{s:I}", "n", (json_int_t)n);
    if (pass != EDL_ANY_PASS)
        (void)json_object_set_new(body, "pass", json_integer((json_int_t)pass));
    r = ask_next(&next, timeout_us, body);
    if (r != EDL_NEXT_TASK)
        return r;
    memcpy(ret, tasks, next.n * sizeof *ret);
    *ret_n = next.n;
    return r;
}

/* ---- what became of it ---- */

static json_t *task_to_json(const struct edl_task *task)
{
    return json_pack("{s:I, s:I, s:I}", "task", (json_int_t)task->id, "pass",
                     (json_int_t)task->pass, "lease", (json_int_t)task->lease);
}

/* Whoever holds it now: this client does not. */
static int tell(struct edl_client *client, const struct edl_task *task, const char *path,
                json_t *take_body)
{
    int r = client_ask(client, "POST", path, take_body, NULL);

    json_decref(take_body);
    if (r == 0 || r == -EEXIST || r == EDL_ESTALE)
        held_of(task)->over = true;
    return client_result(client, r);
}

/* end_to_json - with what it has lost, if it has */
static json_t *end_to_json(const struct edl_task *task)
{
    const struct held_task *held = held_of(task);
    json_t *end = task_to_json(task);

    if (held->lost_records == 0)
        return end;
    (void)json_object_set_new(end, "lost", json_integer((json_int_t)held->lost_records));
    (void)json_object_set_new(end, "lost_chunks", json_integer((json_int_t)held->lost_chunks));
    return end;
}

int edl_task_lost(struct edl_client *client, struct edl_task *task, uint64_t n_records,
                  uint32_t n_chunks)
{
    struct held_task *held = held_of(task);
    uint64_t left_records = 0;

    for (size_t i = 0; i < task->n_chunks; i++)
        left_records += task->chunks[i].n_records;
    left_records -= held->lost_records;
    if (n_records > left_records || n_chunks > task->n_chunks - held->lost_chunks ||
        (n_records == 0) != (n_chunks == 0))
        return client_refuse(
            client, -EINVAL,
            "more records or chunks are said to be lost than the task has left, or "
            "one without the other");
    held->lost_records += n_records;
    held->lost_chunks += n_chunks;
    return 0;
}

int edl_task_done(struct edl_client *client, const struct edl_task *task)
{
    return tell(client, task, "/jobs/self/tasks/finish", end_to_json(task));
}

/* read_counted - how many of n are counted, or -EPROTO */
static int read_counted(const json_t *results, size_t n, int *ret_counted)
{
    int counted = 0;

    if (json_array_size(results) != n)
        return EDL_ECORRUPT;
    for (size_t i = 0; i < n; i++)
        if (!json_is_boolean(json_object_get(json_array_get(results, i), "counted")))
            return EDL_ECORRUPT;
    for (size_t i = 0; i < n; i++) {
        bool is = json_is_true(json_object_get(json_array_get(results, i), "counted"));

        counted += is;
        if (ret_counted != NULL)
            ret_counted[i] = is;
    }
    return counted;
}

int edl_tasks_done(struct edl_client *client, struct edl_task *const *tasks, size_t n,
                   int *ret_counted)
{
    json_t *answer = NULL;
    json_t *list, *body;
    int r;

    if (n == 0 || n > EDL_TASKS_MAX)
        return client_refuse(client, -EINVAL, "1 to 256 tasks can be done in one call");
    list = json_array();
    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(list, end_to_json(tasks[i]));
    body = json_pack("{s:o}", "tasks", list);
    r = client_ask(client, "POST", "/jobs/self/tasks/finish", body, &answer);
    json_decref(body);
    if (r == 0)
        r = read_counted(json_object_get(answer, "results"), n, ret_counted);
    json_decref(answer);
    if (r == EDL_ECORRUPT)
        (void)client_answer_bad("what became of tasks", &client->error);
    for (size_t i = 0; i < n && (r >= 0 || r == -EEXIST || r == EDL_ESTALE); i++)
        held_of(tasks[i])->over = true;
    return client_result(client, r);
}

static int give_back(struct edl_client *client, const struct edl_task *task, bool returned,
                     const char *reason)
{
    json_t *body = task_to_json(task);
    json_t *text = reason != NULL ? json_stringn(reason, strnlen(reason, REASON_BYTES_MAX)) : NULL;

    (void)json_object_set_new(body, "returned", json_boolean(returned));
    if (text != NULL) /* not UTF-8, or cut within a letter: what counts is that it failed */
        (void)json_object_set_new(body, "reason", text);
    return tell(client, task, "/jobs/self/tasks/fail", body);
}

int edl_task_failed(struct edl_client *client, const struct edl_task *task, const char *reason)
{
    return give_back(client, task, false, reason);
}

int edl_task_return(struct edl_client *client, const struct edl_task *task, const char *reason)
{
    return give_back(client, task, true, reason);
}

int edl_model_saved(struct edl_client *client, const char *path)
{
    json_t *body;
    int r;

    if (client == NULL)
        return 0;
    body = json_pack("{s:b, s:s}", "saved", 1, "path", path);
    if (body == NULL)
        return client_refuse(client, -EINVAL, "the model's path is no UTF-8");
    r = client_ask(client, "POST", "/jobs/self/save-model", body, NULL);
    json_decref(body);
    return client_result(client, r);
}
