/* SPDX-License-Identifier: Apache-2.0 */
/* log_hub.c - what processes write, on its way from agents to readers
 *
 * A stream is one process' ring of entries. It exists from the first push until nobody reads it any
 * more, or for a minute after its end, so that who follows sees the end; after that the stored tail
 * speaks for it.
 *
 * An agent may push what is known already (the unasked end overlaps with live output); offsets
 * tell, and the known part is cut off. Offsets count bytes of the file, and the text may be longer
 * where invalid bytes were replaced. */
#include "scheduler/log_hub.h"

#include <inttypes.h>
#include <stdio.h>
#include <uthash.h>
#include <utlist.h>

#include "scheduler/core/cluster.h"
#include "scheduler/store/store.h"
#include "shared/macro.h"

#define ENDED_LINGER_US (60 * USEC_PER_SEC)
#define FRESH_WAIT_US (2 * USEC_PER_SEC)
#define END_GRACE_US                                                                               \
    (3 * USEC_PER_SEC) /* an agent that died with its logs must not hold up a reader */
#define KEY_MAX 96

struct entry {
    uint64_t sequence;
    bool gap; /* something is missing before it */
    size_t size;
    struct entry *next, *prev;
    char text[];
};

struct stream {
    char key[KEY_MAX]; /* job.role.index.incarnation */
    uint64_t job_id, incarnation;
    char role[ROLE_NAME_MAX + 1];
    uint32_t index;
    struct entry *entries; /* owned list, oldest first */
    size_t bytes;
    uint64_t next_offset;
    uint64_t dropped; /* sequence of the newest entry that the ring lost */
    uint64_t pushed_us, ended_us;
    bool ended;
    UT_hash_handle hh;
};

struct interest {
    uint64_t job_id;
    char role[ROLE_NAME_MAX + 1]; /* "": all */
    uint32_t index;
    uint64_t since_us, until_us;
    struct interest *next, *prev;
};

struct log_hub {
    struct store *store;        /* borrowed */
    struct stream *streams;     /* k: key, owned */
    struct interest *interests; /* owned list; as many as jobs being read */
    struct log_tail *pending;   /* owned array, owned texts */
    size_t n_pending, cap_pending, pending_bytes;
    uint64_t committed_us; /* when what is pending was last written */
    uint64_t sequence;     /* of the newest entry */
};

static void make_key(char key[KEY_MAX], uint64_t job_id, const char *role, uint32_t index,
                     uint64_t incarnation)
{
    (void)snprintf(key, KEY_MAX, "%" PRIu64 ".%s.%" PRIu32 ".%" PRIu64, job_id, role, index,
                   incarnation);
}

static const char *role_name(const struct process *process)
{
    return process->job->spec->roles[process->role].name;
}

static struct stream *find_stream(const struct log_hub *hub, const struct process *process)
{
    char key[KEY_MAX];
    struct stream *stream;

    make_key(key, process->job->id, role_name(process), process->index, process->incarnation);
    HASH_FIND_STR(hub->streams, key, stream);
    return stream;
}

int log_hub_new(struct store *store, uint64_t wall_us, struct log_hub **ret,
                struct edl_error *error)
{
    struct log_hub *hub = xcalloc(1, sizeof *hub);
    uint64_t stored;
    int r;

    hub->store = store;
    r = store_log_sequence(store, &stored, error);
    if (r < 0) {
        (void)log_hub_free(hub);
        return r;
    }
    hub->sequence = MAX_OF(wall_us, stored);
    *ret = hub;
    return 0;
}

static void drop_oldest(struct stream *stream)
{
    struct entry *entry = stream->entries;

    stream->dropped = entry->sequence;
    stream->bytes -= entry->size;
    DL_DELETE(stream->entries, entry);
    free(entry);
}

static void stream_free(struct log_hub *hub, struct stream *stream)
{
    while (stream->entries != NULL)
        drop_oldest(stream);
    HASH_DEL(hub->streams, stream);
    free(stream);
}

void log_hub_pending_clear(struct log_hub *hub)
{
    for (size_t i = 0; i < hub->n_pending; i++)
        free(hub->pending[i].text);
    hub->n_pending = 0;
    hub->pending_bytes = 0;
}

struct log_hub *log_hub_free(struct log_hub *hub)
{
    struct stream *stream, *next_stream;
    struct interest *interest, *next_interest;

    if (hub == NULL)
        return NULL;
    HASH_ITER(hh, hub->streams, stream, next_stream)
    stream_free(hub, stream);
    DL_FOREACH_SAFE(hub->interests, interest, next_interest)
    {
        DL_DELETE(hub->interests, interest);
        free(interest);
    }
    log_hub_pending_clear(hub);
    free(hub->pending);
    free(hub);
    return NULL;
}

void log_hub_set_store(struct log_hub *hub, struct store *store)
{
    hub->store = store;
}

/* Start of the last n_source bytes of the file within text. Each character stands for its own
 * bytes, but a replacement character for the one invalid byte it came from. */
static const char *last_part(const char *text, size_t size, uint64_t n_source)
{
    const char *at = text + size;

    while (at > text && n_source > 0) {
        const char *start = at - 1;
        uint64_t width;

        while (start > text && ((unsigned char)*start & 0xc0) == 0x80)
            start--;
        width = (uint64_t)(at - start);
        if (width == 3 && memcmp(start, "\xef\xbf\xbd", 3) == 0)
            width = 1;
        if (width > n_source)
            break;
        n_source -= width;
        at = start;
    }
    return at;
}

static void append_entry(struct log_hub *hub, struct stream *stream, const char *text, bool gap)
{
    size_t size = strlen(text);
    struct entry *entry;

    if (size > LOG_RING_BYTES) {
        text = last_part(text, size, LOG_RING_BYTES);
        size = strlen(text);
        gap = true;
    }
    while (stream->entries != NULL && stream->bytes + size > LOG_RING_BYTES)
        drop_oldest(stream);
    entry = xcalloc(1, sizeof *entry + size + 1);
    entry->sequence = ++hub->sequence;
    entry->gap = gap;
    entry->size = size;
    memcpy(entry->text, text, size + 1);
    stream->bytes += size;
    DL_APPEND(stream->entries, entry);
}

static void add_pending(struct log_hub *hub, const struct log_tail *tail, const char *role)
{
    struct log_tail *added;

    if (hub->n_pending == hub->cap_pending) {
        hub->cap_pending = hub->cap_pending != 0 ? hub->cap_pending * 2 : 8;
        hub->pending = xreallocarray(hub->pending, hub->cap_pending, sizeof *hub->pending);
    }
    added = &hub->pending[hub->n_pending++];
    *added = *tail;
    added->text = xstrdup(tail->text);
    (void)snprintf(added->role, sizeof added->role, "%s", role);
    hub->pending_bytes += sizeof *added + strlen(tail->text);
}

/* Queues the ring's end for the database. */
static void keep_tail(struct log_hub *hub, const struct stream *stream)
{
    size_t size = MIN_OF(stream->bytes, (size_t)LOG_TAIL_BYTES);
    char *all = xcalloc(1, stream->bytes + 1);
    struct log_tail tail = { .job_id = stream->job_id,
                             .index = stream->index,
                             .incarnation = stream->incarnation,
                             .sequence = hub->sequence };
    const struct entry *entry;
    size_t used = 0;

    DL_FOREACH(stream->entries, entry)
    {
        memcpy(all + used, entry->text, entry->size);
        used += entry->size;
    }
    tail.text = (char *)last_part(all, used, size); /* borrowed: it is copied */
    if (stream->entries != NULL)
        tail.sequence = stream->entries->prev->sequence;
    add_pending(hub, &tail, stream->role);
    free(all);
}

static struct stream *get_stream(struct log_hub *hub, const struct process *process)
{
    struct stream *stream = find_stream(hub, process);

    if (stream != NULL)
        return stream;
    stream = xcalloc(1, sizeof *stream);
    stream->job_id = process->job->id;
    stream->index = process->index;
    stream->incarnation = process->incarnation;
    (void)snprintf(stream->role, sizeof stream->role, "%s", role_name(process));
    make_key(stream->key, stream->job_id, stream->role, stream->index, stream->incarnation);
    HASH_ADD_STR(hub->streams, key, stream);
    return stream;
}

void log_hub_push(struct log_hub *hub, const struct log_push *push, uint64_t now_us)
{
    struct stream *stream = get_stream(hub, push->process);
    bool first = stream->pushed_us == 0;
    const char *text = push->text;

    stream->pushed_us = now_us;
    if (!first && push->offset < stream->next_offset)
        text = push->next_offset <= stream->next_offset
                   ? ""
                   : last_part(text, strlen(text), push->next_offset - stream->next_offset);
    if (text[0] != '\0')
        append_entry(hub, stream, text, push->offset > stream->next_offset);
    stream->next_offset = MAX_OF(stream->next_offset, push->next_offset);
    if (push->end) {
        stream->ended = true;
        stream->ended_us = now_us;
        keep_tail(hub, stream);
    }
}

void log_hub_push_silence(struct log_hub *hub, const struct process *process, uint64_t now_us)
{
    const struct stream *stream = find_stream(hub, process);

    if (stream == NULL || !stream->ended)
        log_hub_push(hub, &(struct log_push){ .process = process, .text = "", .end = true },
                     now_us);
}

bool log_hub_keep(struct log_hub *hub, const struct log_push *push, uint64_t now_us)
{
    const struct process *process = push->process;
    struct stream *stream = find_stream(hub, process);
    struct log_tail tail = { .job_id = process->job->id,
                             .index = process->index,
                             .incarnation = process->incarnation,
                             .text = (char *)push->text }; /* borrowed: it is copied */

    if (process_state_is_final(process->state) || (stream != NULL && stream->ended))
        return false; /* overtaken by its end, which is longer */
    if (stream != NULL) {
        log_hub_push(hub, push, now_us); /* else the ring would be older than what is stored */
        tail.sequence = hub->sequence;
    } else {
        tail.sequence = ++hub->sequence;
    }
    add_pending(hub, &tail, role_name(process));
    if (hub->pending_bytes < LOG_PENDING_BYTES && now_us < hub->committed_us + LOG_PENDING_US)
        return false;
    hub->committed_us = now_us;
    return true;
}

/* Rows of a job that is gone cannot be stored. */
static void drop_pending(struct log_hub *hub, uint64_t job_id)
{
    size_t kept = 0;

    for (size_t i = 0; i < hub->n_pending; i++) {
        if (hub->pending[i].job_id == job_id)
            free(hub->pending[i].text);
        else
            hub->pending[kept++] = hub->pending[i];
    }
    hub->n_pending = kept;
}

void log_hub_note_effects(struct log_hub *hub, const struct effect *effects, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct stream *stream;

        if (effects[i].kind == EFFECT_FORGET_JOB)
            drop_pending(hub, effects[i].id);
        if (effects[i].kind != EFFECT_SAVE_PROCESS || effects[i].process->state != PROCESS_LOST)
            continue;
        stream = find_stream(hub, effects[i].process);
        if (stream == NULL || stream->ended)
            continue;
        stream->ended = true;
        stream->ended_us = stream->pushed_us;
        keep_tail(hub, stream);
    }
}

const struct log_tail *log_hub_pending(const struct log_hub *hub, size_t *ret_n)
{
    *ret_n = hub->n_pending;
    return hub->pending;
}

/* --- readers --- */

static bool filter_takes(const struct log_filter *filter, const char *role, uint32_t index)
{
    return (filter->role == NULL || streq(filter->role, role)) &&
           (filter->index == UINT32_MAX || filter->index == index);
}

static struct log_filter interest_filter(const struct interest *interest)
{
    return (struct log_filter){
        .job_id = interest->job_id,
        .role = interest->role[0] != '\0' ? interest->role : NULL,
        .index = interest->index,
    };
}

static struct interest *find_interest(const struct log_hub *hub, const struct log_filter *filter)
{
    const char *role = filter->role != NULL ? filter->role : "";
    struct interest *interest;

    DL_FOREACH(hub->interests, interest)
    if (interest->job_id == filter->job_id && interest->index == filter->index &&
        streq(interest->role, role))
        return interest;
    return NULL;
}

bool log_hub_want(struct log_hub *hub, const struct log_filter *filter, uint64_t now_us,
                  uint64_t until_us)
{
    struct interest *interest = find_interest(hub, filter);
    bool is_new = interest == NULL;

    if (is_new) {
        interest = xcalloc(1, sizeof *interest);
        interest->job_id = filter->job_id;
        interest->index = filter->index;
        interest->since_us = now_us;
        (void)snprintf(interest->role, sizeof interest->role, "%s",
                       filter->role != NULL ? filter->role : "");
        DL_APPEND(hub->interests, interest);
    }
    interest->until_us = MAX_OF(interest->until_us, until_us);
    return is_new;
}

static bool is_wanted(const struct log_hub *hub, uint64_t job_id, const char *role, uint32_t index)
{
    const struct interest *interest;

    DL_FOREACH(hub->interests, interest)
    {
        struct log_filter filter = interest_filter(interest);

        if (filter.job_id == job_id && filter_takes(&filter, role, index))
            return true;
    }
    return false;
}

uint64_t log_hub_expire(struct log_hub *hub, uint64_t now_us,
                        void (*fn)(uint64_t job_id, void *userdata), void *userdata)
{
    struct interest *interest, *next_interest;
    struct stream *stream, *next_stream;
    uint64_t next_us = NEVER_US;

    DL_FOREACH_SAFE(hub->interests, interest, next_interest)
    {
        if (interest->until_us > now_us) {
            next_us = MIN_OF(next_us, interest->until_us);
            continue;
        }
        DL_DELETE(hub->interests, interest);
        fn(interest->job_id, userdata);
        free(interest);
    }
    HASH_ITER(hh, hub->streams, stream, next_stream)
    {
        uint64_t until_us = stream->ended_us + ENDED_LINGER_US;

        if (!stream->ended && is_wanted(hub, stream->job_id, stream->role, stream->index))
            continue; /* its reader's end comes first */
        if (!stream->ended)
            until_us = stream->pushed_us + LOG_INTEREST_US;
        if (until_us <= now_us)
            stream_free(hub, stream);
        else
            next_us = MIN_OF(next_us, until_us);
    }
    return next_us;
}

json_t *log_hub_orders(const struct log_hub *hub, const struct node *node)
{
    json_t *array = json_array();
    const struct process *process;

    if (hub->interests == NULL)
        return array;
    DL_FOREACH2(node->processes, process, node_next)
    {
        const char *role = role_name(process);
        const struct stream *stream;
        json_t *item;

        if (!is_wanted(hub, process->job->id, role, process->index))
            continue;
        stream = find_stream(hub, process);
        item = json_pack("{s:I,s:s,s:I,s:I,s:I}", "job_id", (json_int_t)process->job->id, "role",
                         role, "index", (json_int_t)process->index, "incarnation",
                         (json_int_t)process->incarnation, "after",
                         (json_int_t)(stream != NULL ? stream->next_offset : 0));
        if (stream == NULL) /* a first reader is not sent a log of gigabytes through the ring */
            (void)json_object_set_new(item, "tail_bytes", json_integer(LOG_TAIL_BYTES));
        (void)json_array_append_new(array, item);
    }
    return array;
}

bool log_hub_is_fresh(const struct log_hub *hub, const struct job *job,
                      const struct log_filter *filter, uint64_t now_us)
{
    const struct interest *interest = find_interest(hub, filter);
    const struct process *process;

    if (interest == NULL || interest->since_us + FRESH_WAIT_US <= now_us)
        return true;
    DL_FOREACH2(job->processes, process, job_next)
    {
        const struct stream *stream;

        if (process_state_is_final(process->state) || process->state == PROCESS_ASSIGNED ||
            !filter_takes(filter, role_name(process), process->index))
            continue;
        stream = find_stream(hub, process);
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
        stream = find_stream(hub, process); /* it stays for longer than the grace */
        if (stream == NULL || !stream->ended)
            return false; /* what is stored may be the end of before */
    }
    return true;
}

/* --- reading --- */

struct found {
    uint64_t sequence;
    json_t *entry; /* owned */
    size_t size;
};

struct reader {
    struct log_hub *hub;
    struct log_read *read;
    struct found *found; /* owned */
    size_t n, cap;
    size_t tail_bytes;
};

static void add_found(struct reader *reader, const struct log_tail *tail)
{
    json_t *entry =
        json_pack("{s:s,s:I,s:I,s:s}", "role", tail->role, "index", (json_int_t)tail->index,
                  "incarnation", (json_int_t)tail->incarnation, "text", tail->text);

    if (entry == NULL)
        return; /* why: only UTF-8 is ever pushed; a damaged row must not stop the others */
    if (reader->n == reader->cap) {
        reader->cap = reader->cap != 0 ? reader->cap * 2 : 64;
        reader->found = xreallocarray(reader->found, reader->cap, sizeof *reader->found);
    }
    reader->found[reader->n++] = (struct found){ tail->sequence, entry, strlen(tail->text) };
}

/* The end that was kept of a live process while its agent is asked for more: that will begin before
 * it. */
static bool is_coming(const struct reader *reader, const struct log_tail *tail)
{
    const struct log_read *read = reader->read;
    const struct interest *interest = find_interest(reader->hub, &read->filter);
    const struct process *process = NULL;

    if (read->job != NULL)
        process = job_find_process(read->job, (uint32_t)job_spec_role(read->job->spec, tail->role),
                                   tail->index, tail->incarnation);
    return process != NULL && !process_state_is_final(process->state) && interest != NULL &&
           interest->since_us + FRESH_WAIT_US > read->now_us;
}

static void on_tail(const struct log_tail *tail, void *userdata)
{
    struct reader *reader = userdata;
    struct stream *stream;
    char key[KEY_MAX];

    if (!filter_takes(&reader->read->filter, tail->role, tail->index) ||
        reader->tail_bytes > reader->read->max_bytes || tail->text[0] == '\0')
        return; /* tails come in order: those left out are behind what fits */
    make_key(key, tail->job_id, tail->role, tail->index, tail->incarnation);
    HASH_FIND_STR(reader->hub->streams, key, stream);
    if (stream != NULL || is_coming(reader, tail))
        return; /* the ring has it, and knows what the reader has seen; or will have */
    reader->tail_bytes += strlen(tail->text);
    add_found(reader, tail);
}

static void read_stream(struct reader *reader, const struct stream *stream)
{
    struct log_read *read = reader->read;
    const struct entry *entry;

    if (stream->dropped > read->cursor)
        read->truncated = true;
    DL_FOREACH(stream->entries, entry)
    {
        struct log_tail tail = { .index = stream->index, .incarnation = stream->incarnation };

        if (entry->sequence <= read->cursor)
            continue;
        read->truncated |= entry->gap;
        tail.sequence = entry->sequence;
        tail.text = (char *)entry->text; /* borrowed: add_found copies */
        (void)snprintf(tail.role, sizeof tail.role, "%s", stream->role);
        add_found(reader, &tail);
    }
}

static int compare_found(const void *a, const void *b)
{
    uint64_t x = ((const struct found *)a)->sequence, y = ((const struct found *)b)->sequence;

    return (x > y) - (x < y);
}

int log_hub_read(struct log_hub *hub, struct log_read *read, json_t **ret_entries,
                 struct edl_error *error)
{
    struct reader reader = { .hub = hub, .read = read };
    const struct stream *stream;
    json_t *array;
    size_t used = 0;
    int r;

    read->truncated = read->more = false;
    r = store_log_tails(hub->store, read->filter.job_id, read->cursor, on_tail, &reader, error);
    for (stream = hub->streams; stream != NULL; stream = stream->hh.next)
        if (stream->job_id == read->filter.job_id &&
            filter_takes(&read->filter, stream->role, stream->index))
            read_stream(&reader, stream);
    if (reader.n > 1)
        qsort(reader.found, reader.n, sizeof *reader.found, compare_found);
    array = json_array();
    for (size_t i = 0; i < reader.n; i++) {
        struct found *found = &reader.found[i];

        if (r < 0 || read->more || (used > 0 && used + found->size > read->max_bytes)) {
            read->more = true;
            json_decref(found->entry);
            continue;
        }
        used += found->size;
        read->cursor = found->sequence;
        (void)json_array_append_new(array, found->entry);
    }
    free(reader.found);
    if (r < 0)
        json_decref(array);
    else
        *ret_entries = array;
    return r;
}
