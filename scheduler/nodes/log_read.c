/* SPDX-License-Identifier: Apache-2.0 */
/* log_read.c - an answer to a reader: rings and stored tails, merged
 *
 * The pieces of an answer are chosen in the order of arrival, which a cursor counts. Within it,
 * pieces stand in the order of their times. A piece has the time by which its agent saw it written
 * (a heartbeat at most after it was), or when it arrived. Pieces of one process stay in their order
 * whatever its node's clock does. */
#include <utlist.h>

#include "scheduler/core/core.h"
#include "scheduler/nodes/log_hub_internal.h"
#include "scheduler/store/store.h"
#include "shared/macro.h"

/* an agent that died with its logs must not hold up a reader */
#define END_GRACE_US (3 * USEC_PER_SEC)

struct found {
    uint64_t sequence, time_us;
    size_t ordinal; /* of two pieces of one tail the first has the lower one */
    json_t *entry;  /* owned */
    size_t size;
};

struct reader {
    struct log_hub *hub;
    struct log_read *read;
    struct found *found; /* owned */
    size_t n, cap;
    size_t tail_bytes;
};

static struct found *add_found(struct reader *reader, const struct log_tail *tail, const char *text,
                               size_t size, uint64_t time_us)
{
    json_t *entry = json_pack("{s:s,s:I,s:I,s:s%,s:I}", "role", tail->role, "index",
                              (json_int_t)tail->index, "incarnation", (json_int_t)tail->incarnation,
                              "text", text, size, "time_us", (json_int_t)time_us);

    if (entry == NULL)
        return NULL; /* why: only UTF-8 is ever pushed; a damaged row must not stop the others */
    if (tail->next_offset > 0)
        (void)json_object_set_new(entry, "next_offset",
                                  json_integer((json_int_t)tail->next_offset));
    if (reader->n == reader->cap) {
        reader->cap = reader->cap != 0 ? reader->cap * 2 : 64;
        reader->found = xreallocarray(reader->found, reader->cap, sizeof *reader->found);
    }
    reader->found[reader->n] = (struct found){ tail->sequence, time_us, reader->n, entry, size };
    return &reader->found[reader->n++];
}

/* mark - what a reader who has seen some of the output needs to tell what it misses */
static void mark(const struct found *found, const struct stream *stream, uint64_t offset,
                 bool notice)
{
    if (found == NULL)
        return;
    if (notice)
        (void)json_object_set_new(found->entry, "notice", json_true());
    else
        (void)json_object_set_new(found->entry, "offset", json_integer((json_int_t)offset));
    if (stream->dropped_bytes > 0)
        (void)json_object_set_new(found->entry, "dropped_bytes",
                                  json_integer((json_int_t)stream->dropped_bytes));
}

/* A stored tail, piece by piece; the rest beside its times comes as one. */
static void add_pieces(struct reader *reader, const struct log_tail *tail)
{
    json_t *times = tail->times != NULL ? json_loads(tail->times, 0, NULL) : NULL;
    const char *text = tail->text;
    size_t left = strlen(text);
    uint64_t time_us = 0;
    json_t *piece;
    size_t i;

    json_array_foreach(times, i, piece)
    {
        json_int_t bytes = json_integer_value(json_array_get(piece, 0));
        json_int_t time = json_integer_value(json_array_get(piece, 1));

        if (bytes <= 0 || (uint64_t)bytes > left || time < 0)
            break;
        time_us = MAX_OF(time_us, (uint64_t)time);
        (void)add_found(reader, tail, text, (size_t)bytes, time_us);
        text += bytes;
        left -= (size_t)bytes;
    }
    if (left > 0)
        (void)add_found(reader, tail, text, left, time_us);
    json_decref(times);
}

/* The end that was kept of a live process while its agent is asked for more: that will begin before
 * it. */
static bool is_coming(const struct reader *reader, const struct log_tail *tail)
{
    const struct log_read *read = reader->read;
    const struct interest *interest = log_find_interest(reader->hub, &read->filter);
    const struct process *process = NULL;

    if (read->job != NULL)
        process = job_find_process(read->job, (uint32_t)job_spec_role(read->job->spec, tail->role),
                                   tail->index, tail->incarnation);
    return process != NULL && !process_state_is_final(process->state) && interest != NULL &&
           interest->since_us + FRESH_WAIT_US > read->now_us;
}

static bool on_tail(const struct log_tail *tail, void *userdata)
{
    struct reader *reader = userdata;
    struct stream *stream;
    char key[KEY_MAX];

    if (reader->tail_bytes > reader->read->max_bytes)
        return false; /* tails come in order: those left out are behind what fits */
    if (!log_filter_takes(&reader->read->filter, tail->role, tail->index) || tail->text[0] == '\0')
        return true;
    log_key(key, tail->job_id, tail->role, tail->index, tail->incarnation);
    HASH_FIND_STR(reader->hub->streams, key, stream);
    if (stream != NULL || is_coming(reader, tail))
        return true; /* the ring has it, and knows what the reader has seen; or will have */
    reader->tail_bytes += strlen(tail->text);
    add_pieces(reader, tail);
    return true;
}

/* Bytes of the file before those that the ring still has. */
static uint64_t bytes_before(const struct stream *stream)
{
    uint64_t held = stream->dropped_bytes;
    const struct entry *entry;

    DL_FOREACH(stream->entries, entry)
    if (!entry->notice)
        held += log_source_bytes(entry->text, entry->size);
    return stream->next_offset - MIN_OF(stream->next_offset, held);
}

/* In the place of bytes that the ring lost, which this reader has not seen; skipped: of its first
 * line */
static void add_lost(struct reader *reader, const struct stream *stream, uint64_t skipped)
{
    char notice[LOG_BEFORE_BYTES] = "";
    struct log_tail tail = { .index = stream->index,
                             .incarnation = stream->incarnation,
                             .sequence = stream->dropped };

    if (reader->read->cursor == 0) /* a reader that has seen some of it misses less than that */
        (void)log_say_before(stream->node, stream->file, bytes_before(stream) + skipped, notice);
    if (notice[0] == '\0')
        (void)snprintf(notice, sizeof notice,
                       "[edl: output is missing here: the newest is kept]\n");
    (void)snprintf(tail.role, sizeof tail.role, "%s", stream->role);
    mark(add_found(reader, &tail, notice, strlen(notice),
                   stream->entries != NULL ? stream->entries->time_us : 0),
         stream, 0, true);
}

static void read_stream(struct reader *reader, const struct stream *stream)
{
    struct log_read *read = reader->read;
    bool lost = stream->dropped > read->cursor;
    const struct entry *entry;
    const char *text;

    if (lost) {
        const char *first = stream->entries != NULL ? stream->entries->text : "";

        read->truncated = true;
        add_lost(reader, stream, log_source_bytes(first, (size_t)(log_next_line(first) - first)));
    }
    DL_FOREACH(stream->entries, entry)
    {
        struct log_tail tail = { .index = stream->index,
                                 .incarnation = stream->incarnation,
                                 .next_offset = entry->next_offset };

        if (entry->sequence <= read->cursor)
            continue;
        read->truncated |= entry->gap;
        tail.sequence = entry->sequence;
        (void)snprintf(tail.role, sizeof tail.role, "%s", stream->role);
        text = entry == stream->entries && lost ? log_next_line(entry->text) : entry->text;
        mark(add_found(reader, &tail, text, entry->size - (size_t)(text - entry->text),
                       entry->time_us),
             stream, entry->offset + log_source_bytes(entry->text, (size_t)(text - entry->text)),
             entry->notice);
    }
}

static int compare_arrival(const void *a, const void *b)
{
    const struct found *x = a;
    const struct found *y = b;

    if (x->sequence != y->sequence)
        return x->sequence < y->sequence ? -1 : 1;
    return (x->ordinal > y->ordinal) - (x->ordinal < y->ordinal);
}

static int compare_time(const void *a, const void *b)
{
    const struct found *x = a;
    const struct found *y = b;

    if (x->time_us != y->time_us)
        return x->time_us < y->time_us ? -1 : 1;
    return compare_arrival(a, b);
}

/* How many of those in the order of their arrival fit an answer; a tail comes whole, because the
 * cursor is behind all of it. */
static size_t count_fitting(const struct reader *reader, size_t max_bytes)
{
    const struct found *found = reader->found;
    size_t used = 0;
    size_t n = 0;

    while (n < reader->n) {
        size_t end = n;
        size_t size = 0;

        for (; end < reader->n && found[end].sequence == found[n].sequence; end++)
            size += found[end].size;
        if (used > 0 && used + size > max_bytes)
            break;
        used += size;
        n = end;
    }
    return n;
}

int log_hub_read(struct log_hub *hub, struct log_read *read, json_t **ret_entries,
                 struct edl_error *error)
{
    struct reader reader = { .hub = hub, .read = read };
    const struct stream *stream;
    json_t *array;
    size_t n;
    int r;

    read->truncated = read->more = false;
    r = store_log_tails(hub->store, read->filter.job_id, read->cursor, on_tail, &reader, error);
    for (stream = hub->streams; stream != NULL; stream = stream->hh.next)
        if (stream->job_id == read->filter.job_id &&
            log_filter_takes(&read->filter, stream->role, stream->index))
            read_stream(&reader, stream);
    if (reader.n > 1)
        qsort(reader.found, reader.n, sizeof *reader.found, compare_arrival);
    n = r < 0 ? 0 : count_fitting(&reader, read->max_bytes);
    read->more = n < reader.n;
    if (n > 0)
        read->cursor = reader.found[n - 1].sequence;
    if (n > 1)
        qsort(reader.found, n, sizeof *reader.found, compare_time);
    array = json_array();
    for (size_t i = 0; i < reader.n; i++)
        if (i < n)
            (void)json_array_append_new(array, reader.found[i].entry);
        else
            json_decref(reader.found[i].entry);
    free(reader.found);
    if (r < 0)
        json_decref(array);
    else
        *ret_entries = array;
    return r;
}

bool log_hub_is_fresh(const struct log_hub *hub, const struct job *job,
                      const struct log_filter *filter, uint64_t now_us)
{
    const struct interest *interest = log_find_interest(hub, filter);
    const struct process *process;

    if (interest == NULL || interest->since_us + FRESH_WAIT_US <= now_us)
        return true;
    DL_FOREACH2(job->processes, process, job_next)
    {
        const struct stream *stream;

        if (process_state_is_final(process->state) || process->state == PROCESS_ASSIGNED ||
            !log_filter_takes(filter, process->job->spec->roles[process->role].name,
                              process->index))
            continue;
        stream = log_find_stream(hub, process);
        if (stream == NULL || stream->pushed_us < interest->since_us)
            return false;
    }
    return true;
}

bool log_hub_is_ended(const struct log_hub *hub, const struct job *job, uint64_t wall_us)
{
    const struct process *process;

    if (!job_state_is_final(job->state))
        return false;
    if (job->ended_wall_us + END_GRACE_US < wall_us)
        return true;
    DL_FOREACH2(job->processes, process, job_next)
    {
        const struct stream *stream;

        if (process->state != PROCESS_EXITED || process->started_wall_us == 0)
            continue;
        stream = log_find_stream(hub, process); /* it stays for longer than the grace */
        if (stream == NULL || !stream->ended)
            return false; /* the stored end may be that of before */
    }
    return true;
}
