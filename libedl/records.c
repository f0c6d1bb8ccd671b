/* SPDX-License-Identifier: Apache-2.0 */
/* records.c - the records of a data set: in a job as they are dealt out, alone from the files
 *
 * A record counts as done when the next one is asked for, and a task when its last record does. The
 * next task is asked for while the last records of this one are being consumed: once, without a
 * wait, and the kernel reads its files meanwhile. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libedl/client.h"
#include "libedl/record_index.h"
#include "libedl/record_reader.h"
#include "libedl/tasks.h"
#include "shared/cleanup.h"
#include "shared/macro.h"
#include "shared/parse.h"

#define UNREADABLE_MOST 4 /* tasks one behind the other; then it is this machine and not a file */
#define READ_AHEAD_BYTES (8 << 20)
#define PASSES_MOST 1000000 /* the scheduler takes no more */
#define GOES_ON (-1)        /* of over: there may be more tasks */

/* A task of the job, or of the files when there is none. */
struct piece {
    struct edl_task *task; /* owned; NULL: alone */
    const struct edl_chunk *chunks;
    size_t n_chunks;
    uint64_t pass;
};

struct edl_records {
    struct edl_client *client; /* borrowed; NULL: alone */
    char *paths;
    enum edl_record_kind kind;
    uint64_t passes;           /* that the program makes; 0: it does not say */
    bool begun;                /* the data set is there */
    struct record_index index; /* alone */
    size_t n_taken;            /* alone: of its pieces, in this pass */
    uint64_t n_passes;         /* alone: that are over */
    struct piece now, ahead;
    bool has_now, has_ahead, asked_ahead;
    bool told_lost;  /* of now: the client knows what is lost, however often the end is tried */
    size_t at_chunk; /* of now: behind the one that is read */
    struct record_reader reader;
    uint64_t pass;
    bool in_pass;
    int over;  /* GOES_ON, or an enum edl_record_next */
    pid_t pid; /* that reads; 0: none has begun */
    unsigned n_unreadable;
    struct edl_error error;
    char text[CLIENT_TEXT_MAX];
};

/* ---- begin and end ---- */

int edl_records_open(struct edl_client *client, const char *paths, enum edl_record_kind kind,
                     uint64_t passes, struct edl_records **ret)
{
    const char *named = paths != NULL ? paths : getenv("EDL_DATASET");
    struct edl_records *records;

    if ((unsigned)kind > EDL_RECORD_FILES)
        return -EINVAL;
    records = xcalloc(1, sizeof *records);
    records->client = client;
    records->paths = xstrdup(named != NULL ? named : "");
    records->kind = kind;
    records->passes = MIN_OF(passes, (uint64_t)PASSES_MOST);
    records->over = GOES_ON;
    record_reader_init(&records->reader, kind);
    *ret = records;
    return 0;
}

static void give_back(struct edl_records *records, struct piece *piece, bool *io_has)
{
    if (*io_has && piece->task != NULL) {
        (void)edl_task_return(records->client, piece->task, "its reader was closed");
        (void)edl_task_free(piece->task);
    }
    *io_has = false;
}

static bool is_forked(const struct edl_records *records)
{
    return records->pid != 0 && records->pid != getpid();
}

struct edl_records *edl_records_close(struct edl_records *records)
{
    if (records == NULL)
        return NULL;
    if (!is_forked(records)) { /* else the tasks are the parent's */
        give_back(records, &records->now, &records->has_now);
        give_back(records, &records->ahead, &records->has_ahead);
    }
    record_reader_clear(&records->reader);
    record_index_clear(&records->index);
    free(records->paths);
    free(records);
    return NULL;
}

const char *edl_records_error(const struct edl_records *records)
{
    return records->text;
}

uint64_t edl_records_lost(const struct edl_records *records)
{
    return records->reader.lost;
}

uint64_t edl_records_pass(const struct edl_records *records)
{
    return records->pass;
}

/* failed - keeps the words of records->error */
static int failed(struct edl_records *records)
{
    const struct edl_error *error = &records->error;
    int code = error->code;

    (void)snprintf(records->text, sizeof records->text, "%s%s%s", error->text,
                   error->remedy[0] != '\0' ? ": " : "", error->remedy);
    records->error = (struct edl_error){ 0 };
    return code;
}

/* refuse_child - it would read on where its parent does: both have one offset in the file */
static int refuse_child(struct edl_records *records)
{
    (void)edl_error_set(&records->error, -EBUSY,
                        "these records are read by the process that this one was forked from");
    (void)edl_error_remedy(&records->error, "open them in the child, or read them in the parent "
                                            "and hand them on");
    return failed(records);
}

/* call_failed - keeps the words of the client */
static int call_failed(struct edl_records *records, int code)
{
    (void)snprintf(records->text, sizeof records->text, "%s", edl_last_error(records->client));
    return code;
}

/* ---- the data set ---- */

/* tell_of_passes - that the job makes others than this program, which goes with the job's */
static void tell_of_passes(const struct edl_records *records, uint64_t of_job)
{
    if (records->passes == 0 || of_job == 0 || records->passes == of_job)
        return;
    (void)fprintf(stderr,
                  "edl: the job makes %" PRIu64 " pass%s over its data, and this program asks for "
                  "%" PRIu64 ": submit with --passes %" PRIu64 "\n",
                  of_job, of_job == 1 ? "" : "es", records->passes, records->passes);
}

/* make_index - with tasks as large as the job says */
static int make_index(struct edl_records *records, struct record_index *ret)
{
    const char *said = getenv("EDL_TASK_RECORDS");
    uint64_t task_records = 0;

    if (said != NULL && *said != '\0' &&
        (parse_u64(said, &task_records) < 0 || task_records == 0 || task_records > UINT32_MAX))
        return edl_error_set(&records->error, -EINVAL,
                             "EDL_TASK_RECORDS is \"%.40s\", not a number of records", said);
    return record_index_make(records->paths, records->kind, (uint32_t)task_records, ret,
                             &records->error);
}

static int put_dataset(struct edl_records *records)
{
    struct record_index index = { 0 };
    uint64_t of_job = 0;
    int r = dataset_known(records->client, &of_job);

    if (r < 0)
        return call_failed(records, r);
    if (r == 1) { /* another process has looked at the files */
        tell_of_passes(records, of_job);
        return 0;
    }
    if (make_index(records, &index) < 0)
        return failed(records);
    r = edl_dataset_put_passes(records->client, index.digest, index.pieces, index.n_pieces,
                               records->passes, &of_job);
    record_index_clear(&index);
    if (r == -ESTALE) {
        (void)fprintf(stderr, "edl: another process of the job has given another data set, which "
                              "is in force\n");
        r = dataset_known(records->client, &of_job);
    }
    if (r < 0)
        return call_failed(records, r);
    tell_of_passes(records, of_job);
    return 0;
}

static int begin(struct edl_records *records)
{
    int r;

    if (records->begun)
        return 0;
    if (records->client != NULL)
        r = put_dataset(records);
    else if (make_index(records, &records->index) < 0)
        r = failed(records);
    else
        r = 0;
    records->begun = r == 0;
    return r;
}

/* ---- tasks ---- */

static void got_task(struct edl_records *records, struct edl_task *task)
{
    records->ahead = (struct piece){ task, task->chunks, task->n_chunks, task->pass };
    records->has_ahead = true;
}

static int over_of(int next)
{
    return next == EDL_NEXT_SAVE_MODEL ? EDL_RECORD_SAVE_MODEL : EDL_RECORD_END;
}

/* take_alone - the next piece of the files; behind the last pass this process is to save */
static void take_alone(struct edl_records *records)
{
    if (records->n_taken == records->index.n_pieces) {
        records->n_taken = 0;
        records->n_passes++;
    }
    if (records->n_passes >= MAX_OF(records->passes, UINT64_C(1))) {
        records->over = EDL_RECORD_SAVE_MODEL;
        return;
    }
    records->ahead = (struct piece){ .chunks = records->index.pieces[records->n_taken].chunks,
                                     .n_chunks = records->index.pieces[records->n_taken].n_chunks,
                                     .pass = records->n_passes };
    records->n_taken++;
    records->has_ahead = true;
}

/* take - the task that comes next, or over */
static int take(struct edl_records *records)
{
    struct edl_task *task = NULL;
    int r;

    if (records->has_ahead || records->over != GOES_ON)
        return 0;
    if (records->client == NULL) {
        take_alone(records);
        return 0;
    }
    if (one_reader_claim(&records->client->reader, &records->error) < 0)
        return failed(records);
    r = edl_task_next(records->client, EDL_FOREVER, &task);
    if (r < 0)
        return call_failed(records, r);
    if (r == EDL_NEXT_TASK)
        got_task(records, task);
    else
        records->over = over_of(r);
    return 0;
}

/* read_ahead - the kernel reads what will be asked for; errors show when it is */
static void read_ahead(const struct piece *piece)
{
    const struct edl_chunk *first = &piece->chunks[0];
    _cleanup_close_ int fd = -1;

    if (piece->n_chunks == 0)
        return;
    fd = open(first->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0)
        (void)posix_fadvise(fd, (off_t)first->offset_bytes, READ_AHEAD_BYTES, POSIX_FADV_WILLNEED);
}

static bool is_time_to_ask(const struct edl_records *records)
{
    const struct record_reader *reader = &records->reader;

    return records->client != NULL && records->client->reader.pid == getpid() &&
           !records->asked_ahead && !records->has_ahead && records->over == GOES_ON &&
           records->kind != EDL_RECORD_FILES && records->at_chunk == records->now.n_chunks &&
           reader->n_given >= reader->at->n_records - reader->at->n_records / 2;
}

/* ask_ahead - once in each task, when half of its last chunk is given; without patience, as this
 * task goes on without the next one. Where each file is a task nothing is gained, and another
 * process could begin with it. */
static void ask_ahead(struct edl_records *records)
{
    struct edl_client *client = records->client;
    struct edl_task *task = NULL;
    uint64_t patience_us;
    int r;

    if (!is_time_to_ask(records))
        return;
    records->asked_ahead = true;
    patience_us = client->patience_us;
    client->patience_us = 0;
    r = edl_task_next(client, 0, &task);
    client->patience_us = patience_us;
    if (r == EDL_NEXT_TASK) {
        got_task(records, task);
        read_ahead(&records->ahead);
    } else if (r >= 0) { /* this task is another process's by now */
        records->over = over_of(r);
    }
}

/* drop - now is over, whatever became of it */
static void drop(struct edl_records *records)
{
    (void)edl_task_free(records->now.task);
    records->now = (struct piece){ 0 };
    records->has_now = false;
}

/* fail_task - its data cannot be read here: it is tried elsewhere */
static int fail_task(struct edl_records *records)
{
    int code = failed(records), r;

    if (records->client == NULL) {
        drop(records);
        return code;
    }
    (void)fprintf(stderr, "edl: a task cannot be read here and is tried elsewhere: %s\n",
                  records->text);
    r = edl_task_failed(records->client, records->now.task, records->text);
    if (r < 0 && r != -ESTALE)
        return call_failed(records, r);
    drop(records);
    if (++records->n_unreadable < UNREADABLE_MOST)
        return 0;
    records->n_unreadable = 0;
    return code;
}

/* count_task - it is done, but for what could not be read of it */
static int count_task(struct edl_records *records)
{
    const struct record_reader *reader = &records->reader;
    int r = 0;

    if (records->client == NULL)
        return 0;
    if (!records->told_lost && reader->lost_chunks > 0)
        r = edl_task_lost(records->client, records->now.task, reader->lost_in_task,
                          reader->lost_chunks);
    records->told_lost = r == 0;
    return r == 0 ? edl_task_done(records->client, records->now.task) : r;
}

int edl_records_fail(struct edl_records *records, const char *reason)
{
    int r = 0;

    if (is_forked(records))
        return refuse_child(records);
    if (!records->has_now) {
        (void)edl_error_set(&records->error, -EINVAL, "there is no record that could fail");
        return failed(records);
    }
    if (records->client != NULL)
        r = edl_task_failed(records->client, records->now.task, reason);
    if (r < 0 && r != -ESTALE)
        return call_failed(records, r);
    record_reader_end(&records->reader);
    drop(records);
    return 0;
}

static int finish_task(struct edl_records *records)
{
    int r = count_task(records);

    if (r == -ESTALE)
        (void)fprintf(stderr,
                      "edl: a task of pass %" PRIu64 " is another process's by now, which "
                      "counts its records\n",
                      records->now.pass);
    else if (r < 0)
        return call_failed(records, r);
    else
        records->n_unreadable = 0;
    drop(records);
    return 0;
}

/* begin_task - that which is ahead; its first chunk is begun by go_on */
static void begin_task(struct edl_records *records)
{
    records->now = records->ahead;
    records->has_now = true;
    records->has_ahead = records->asked_ahead = records->told_lost = false;
    records->at_chunk = 0;
    records->pass = records->now.pass;
    records->in_pass = true;
    record_reader_begin_task(&records->reader);
}

/* go_on - 1: a record of now; 0: now is over */
static int go_on(struct edl_records *records, const void **ret_data, size_t *ret_size)
{
    for (;;) {
        int r = record_reader_next(&records->reader, ret_data, ret_size, &records->error);

        if (r == 0 && records->at_chunk == records->now.n_chunks)
            return finish_task(records);
        if (r == 0)
            r = record_reader_begin(&records->reader, &records->now.chunks[records->at_chunk++],
                                    &records->error);
        if (r < 0)
            return fail_task(records);
        if (r == 1)
            return 1;
    }
}

/* end_of - what comes behind the last record; it is said once that this process is to save */
static int end_of(struct edl_records *records)
{
    int over = records->over;

    records->over = EDL_RECORD_END;
    return over;
}

int edl_records_next(struct edl_records *records, const void **ret_data, size_t *ret_size)
{
    int r;

    *ret_data = NULL;
    *ret_size = 0;
    if (is_forked(records))
        return refuse_child(records);
    records->pid = getpid();
    r = begin(records);
    while (r == 0) {
        if (records->has_now) {
            r = go_on(records, ret_data, ret_size);
            if (r == EDL_RECORD)
                ask_ahead(records);
            if (r != 0)
                return r;
            continue;
        }
        r = take(records);
        if (r < 0)
            return r;
        if (records->in_pass && (!records->has_ahead || records->ahead.pass != records->pass)) {
            records->in_pass = false;
            return EDL_RECORD_PASS_END;
        }
        if (!records->has_ahead)
            return end_of(records);
        begin_task(records);
    }
    return r;
}
