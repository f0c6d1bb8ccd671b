/* SPDX-License-Identifier: Apache-2.0 */
/* log_hub.c - what processes write, on its way from agents to readers
 *
 * A stream is one process' ring of entries. It exists from the first push until nobody reads it any
 * more, or for a minute after its end, so that a follower sees the end. After that the stored tail
 * speaks for it.
 *
 * An agent may push what is known already (the unasked end overlaps with live output); offsets
 * tell, and the known part is cut off. Offsets count bytes of the file, and the text may be longer
 * where invalid bytes were replaced. */
#include <inttypes.h>
#include <stdio.h>
#include <uthash.h>
#include <utlist.h>

#include "scheduler/core/core.h"
#include "scheduler/nodes/log_hub_internal.h"
#include "scheduler/store/store.h"
#include "shared/cleanup.h"
#include "shared/json_text.h"
#include "shared/macro.h"
#include "shared/printable.h"

#define ENDED_LINGER_US (60 * USEC_PER_SEC)
#define PIECE_BYTES 1024 /* of a stored tail; what is smaller has the time of the next */
#define PAUSE_US (100 * USEC_PER_MSEC) /* behind it the next is a piece of its own */
#define PAUSES_MAX 256

void log_key(char key[KEY_MAX], uint64_t job_id, const char *role, uint32_t index,
             uint64_t incarnation)
{
    (void)snprintf(key, KEY_MAX, "%" PRIu64 ".%s.%" PRIu32 ".%" PRIu64, job_id, role, index,
                   incarnation);
}

static const char *role_name(const struct process *process)
{
    return process->job->spec->roles[process->role].name;
}

struct stream *log_find_stream(const struct log_hub *hub, const struct process *process)
{
    char key[KEY_MAX];
    struct stream *stream;

    log_key(key, process->job->id, role_name(process), process->index, process->incarnation);
    HASH_FIND_STR(hub->streams, key, stream);
    return stream;
}

int log_hub_new(struct store *store, uint64_t wall_us, struct log_hub **ret,
                struct edl_error *error)
{
    struct log_hub *hub = xcalloc(1, sizeof *hub);
    uint64_t stored = 0;
    int r;

    hub->store = store;
    r = store != NULL ? store_log_sequence(store, &stored, error) : 0;
    if (r < 0) {
        (void)log_hub_free(hub);
        return r;
    }
    hub->sequence = MAX_OF(wall_us, stored);
    *ret = hub;
    return 0;
}

static size_t cost_of(size_t text_bytes)
{
    return sizeof(struct entry) + text_bytes;
}

static void drop_oldest(struct log_hub *hub, struct stream *stream)
{
    struct entry *entry = stream->entries;

    stream->dropped = entry->sequence;
    stream->bytes -= entry->size;
    hub->ring_bytes -= cost_of(entry->size);
    DL_DELETE(stream->entries, entry);
    free(entry);
}

/* At the end of the list that it belongs to now; with nothing to give it is in none. */
static void list_stream(struct log_hub *hub, struct stream *stream)
{
    struct stream **list = stream->ended ? &hub->over : stream->entries != NULL ? &hub->live : NULL;

    if (stream->ages != NULL)
        DL_DELETE2(*stream->ages, stream, age_prev, age_next);
    if (list != NULL)
        DL_APPEND2(*list, stream, age_prev, age_next);
    stream->ages = list;
}

static void stream_free(struct log_hub *hub, struct stream *stream)
{
    while (stream->entries != NULL)
        drop_oldest(hub, stream);
    if (stream->ages != NULL)
        DL_DELETE2(*stream->ages, stream, age_prev, age_next);
    HASH_DEL(hub->streams, stream);
    free(stream->file);
    free(stream);
}

/* For so many bytes more of one of the streams. */
static void make_room(struct log_hub *hub, const struct stream *writer, size_t bytes)
{
    while (hub->ring_bytes + bytes > LOG_RINGS_BYTES) {
        struct stream *over = hub->over == writer ? writer->age_next : hub->over;
        struct stream *live = hub->live;

        if (over != NULL) {
            stream_free(hub, over);
        } else if (live != NULL) {
            drop_oldest(hub, live);
            if (live->entries == NULL)
                list_stream(hub, live);
        } else {
            return;
        }
    }
}

size_t log_hub_bytes(const struct log_hub *hub)
{
    return hub->ring_bytes;
}

void log_hub_pending_clear(struct log_hub *hub)
{
    for (size_t i = 0; i < hub->n_pending; i++) {
        free(hub->pending[i].text);
        free(hub->pending[i].times);
    }
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

uint64_t log_source_bytes(const char *text, size_t size)
{
    uint64_t n = size;

    for (const char *at = text;
         (at = memmem(at, size - (size_t)(at - text), "\xef\xbf\xbd", 3)) != NULL; at += 3)
        n -= 2;
    return n;
}

/* Start of the last n_source bytes of the file within text. */
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

/* append_entry - of what: offset, next_offset, time_us, gap, notice */
static void append_entry(struct log_hub *hub, struct stream *stream, const char *text, size_t size,
                         struct entry what)
{
    struct entry *entry;

    if (size > LOG_RING_BYTES) {
        const char *end = text + size;

        text = last_part(text, size, LOG_RING_BYTES);
        size = (size_t)(end - text);
        what.offset = what.next_offset - log_source_bytes(text, size);
        what.gap = true;
    }
    while (stream->entries != NULL && stream->bytes + size > LOG_RING_BYTES)
        drop_oldest(hub, stream);
    make_room(hub, stream, cost_of(size));
    entry = xcalloc(1, sizeof *entry + size + 1);
    *entry = what;
    entry->sequence = ++hub->sequence;
    if (stream->entries != NULL)
        entry->time_us = MAX_OF(what.time_us, stream->entries->prev->time_us);
    entry->size = size;
    memcpy(entry->text, text, size);
    stream->bytes += size;
    hub->ring_bytes += cost_of(size);
    DL_APPEND(stream->entries, entry);
}

static void append_notice(struct log_hub *hub, struct stream *stream, const struct log_push *push,
                          const char *text)
{
    append_entry(hub, stream, text, strlen(text),
                 (struct entry){ .time_us =
                                     push->n_marks > 0 ? push->marks[0].wall_us : push->wall_us,
                                 .gap = true,
                                 .notice = true });
}

/* One entry for each piece whose time is known; from: where the text is in the file. */
static void append_text(struct log_hub *hub, struct stream *stream, const struct log_push *push,
                        const char *text, uint64_t from)
{
    struct entry what = { .offset = from, .gap = push->offset > stream->next_offset };
    size_t size = strlen(text);

    for (size_t i = 0; i < push->n_marks && size > 0; i++) {
        const struct log_mark *mark = &push->marks[i];
        const char *at = text + size;
        size_t piece;

        if (mark->offset < push->next_offset)
            at = last_part(text, size, push->next_offset - mark->offset);
        piece = (size_t)(at - text);
        if (piece == 0)
            continue; /* it is of the earlier output */
        what.time_us = mark->wall_us;
        what.next_offset = MIN_OF(mark->offset, push->next_offset);
        append_entry(hub, stream, text, piece, what);
        what.offset = what.next_offset;
        what.gap = false;
        size -= piece;
        text = at;
    }
    what.time_us = push->wall_us;
    what.next_offset = push->next_offset;
    if (size > 0)
        append_entry(hub, stream, text, size, what);
}

/* say_dropped - a line for a reader; "" when nothing is missing between have and dropped */
static const char *say_dropped(uint64_t have, uint64_t dropped, char text[LOG_NOTICE_BYTES])
{
    text[0] = '\0';
    if (dropped > have)
        (void)snprintf(text, LOG_NOTICE_BYTES,
                       "[edl: %" PRIu64 " byte%s of output %s missing here: the node keeps the "
                       "newest, see log-max]\n",
                       dropped - have, PLURAL(dropped - have), dropped - have == 1 ? "is" : "are");
    return text;
}

const char *log_next_line(const char *text)
{
    const char *end = strchr(text, '\n');

    return end != NULL && end[1] != '\0' ? end + 1 : text;
}

const char *log_say_before(const char *node, const char *file, uint64_t bytes,
                           char text[LOG_BEFORE_BYTES])
{
    text[0] = '\0';
    if (bytes > 0 && file != NULL)
        (void)snprintf(text, LOG_BEFORE_BYTES,
                       "[edl: %" PRIu64 " byte%s of output before this line %s not shown: node %s "
                       "has %s in %.*s]\n",
                       bytes, PLURAL(bytes), bytes == 1 ? "is" : "are", node,
                       bytes == 1 ? "it" : "them", printable_prefix(file, LOG_FILE_SHOWN_BYTES),
                       file);
    return text;
}

static char *join_texts(const char *const texts[static 3])
{
    char *all = xcalloc(1, strlen(texts[0]) + strlen(texts[1]) + strlen(texts[2]) + 1);

    (void)stpcpy(stpcpy(stpcpy(all, texts[0]), texts[1]), texts[2]);
    return all;
}

static bool is_before_pause(const struct entry *entry, size_t n)
{
    return n < PAUSES_MAX && entry->next != NULL &&
           entry->next->time_us >= entry->time_us + PAUSE_US;
}

/* [[bytes, time], ...] of the last `size` bytes of the ring, small entries put together; the first
 * `more` stand before them. */
static char *times_of(const struct stream *stream, size_t size, size_t more)
{
    json_t *array = json_array();
    size_t before = stream->bytes - size; /* bytes that are left out */
    const struct entry *entry;
    size_t piece = more;
    char *text;

    DL_FOREACH(stream->entries, entry)
    {
        size_t skipped = MIN_OF(before, entry->size);

        before -= skipped;
        piece += entry->size - skipped;
        if (piece >= PIECE_BYTES ||
            (piece > 0 &&
             (entry->next == NULL || is_before_pause(entry, json_array_size(array))))) {
            (void)json_array_append_new(array, json_pack("[II]", (json_int_t)piece,
                                                         (json_int_t)entry->time_us));
            piece = 0;
        }
    }
    text = json_to_text(array, NULL);
    json_decref(array);
    return text;
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
    added->times = tail->times != NULL ? xstrdup(tail->times) : NULL;
    (void)snprintf(added->role, sizeof added->role, "%s", role);
    hub->pending_bytes += sizeof *added + strlen(tail->text);
}

/* All of the ring as one text; new string. */
static char *ring_text(const struct stream *stream)
{
    char *all = xcalloc(1, stream->bytes + 1);
    const struct entry *entry;
    size_t used = 0;

    DL_FOREACH(stream->entries, entry)
    {
        memcpy(all + used, entry->text, entry->size);
        used += entry->size;
    }
    return all;
}

/* Queues the ring's end for the database: what is cut off of it, and what the ring said of that, is
 * said anew. */
static void keep_tail(struct log_hub *hub, const struct stream *stream)
{
    size_t n_before = stream->file != NULL ? LOG_BEFORE_BYTES : 0;
    size_t most = (size_t)LOG_TAIL_BYTES - LOG_NOTICE_BYTES - n_before;
    char *all = ring_text(stream);
    const char *text = last_part(all, stream->bytes, MIN_OF(stream->bytes, most));
    struct log_tail tail = { .job_id = stream->job_id,
                             .index = stream->index,
                             .incarnation = stream->incarnation,
                             .sequence = hub->sequence,
                             .next_offset = stream->next_offset };
    char notice[LOG_NOTICE_BYTES] = "", before[LOG_BEFORE_BYTES] = "";

    if (text > all) {
        uint64_t kept;

        text = stream->file != NULL ? log_next_line(text) : text;
        kept = log_source_bytes(text, strlen(text)) + stream->dropped_bytes;
        (void)say_dropped(0, stream->dropped_bytes, notice);
        (void)log_say_before(stream->node, stream->file,
                             stream->next_offset - MIN_OF(stream->next_offset, kept), before);
    }
    if (stream->entries != NULL)
        tail.sequence = stream->entries->prev->sequence;
    tail.text = join_texts((const char *const[]){ notice, before, text });
    tail.times = times_of(stream, strlen(text), strlen(tail.text) - strlen(text));
    add_pending(hub, &tail, stream->role);
    free(tail.times);
    free(tail.text);
    free(all);
}

static struct stream *get_stream(struct log_hub *hub, const struct process *process)
{
    struct stream *stream = log_find_stream(hub, process);

    if (stream != NULL)
        return stream;
    stream = xcalloc(1, sizeof *stream);
    stream->job_id = process->job->id;
    stream->index = process->index;
    stream->incarnation = process->incarnation;
    (void)snprintf(stream->role, sizeof stream->role, "%s", role_name(process));
    log_key(stream->key, stream->job_id, stream->role, stream->index, stream->incarnation);
    HASH_ADD_STR(hub->streams, key, stream);
    return stream;
}

static void know_file(struct stream *stream, const struct log_push *push)
{
    if (push->file == NULL || stream->file != NULL)
        return;
    stream->file = xstrdup(push->file);
    (void)snprintf(stream->node, sizeof stream->node, "%s", push->process->node_name);
}

/* begin_at_line - the text of a push that does not go on where `from` is begins at a line, and
 * `notice` says what is before that. Returns where it begins */
static const char *begin_at_line(const struct log_push *push, uint64_t from, const char *text,
                                 char notice[LOG_BEFORE_BYTES])
{
    uint64_t have = MAX_OF(from, push->dropped_bytes);
    const char *line = text;
    uint64_t before = 0;

    if (push->file != NULL && push->offset > have) {
        line = log_next_line(text);
        before = push->offset - have + log_source_bytes(text, (size_t)(line - text));
    }
    (void)log_say_before(push->process->node_name, push->file, before, notice);
    return line;
}

void log_hub_push(struct log_hub *hub, const struct log_push *push, uint64_t now_us)
{
    struct stream *stream = get_stream(hub, push->process);
    bool first = stream->pushed_us == 0;
    const char *text = push->text;
    uint64_t from = push->offset;
    char notice[LOG_NOTICE_BYTES], before[LOG_BEFORE_BYTES] = "";

    stream->pushed_us = now_us;
    know_file(stream, push);
    if (!first && push->offset < stream->next_offset) {
        from = stream->next_offset;
        text = push->next_offset <= stream->next_offset
                   ? ""
                   : last_part(text, strlen(text), push->next_offset - stream->next_offset);
    }
    if (say_dropped(stream->next_offset, push->dropped_bytes, notice)[0] != '\0')
        append_notice(hub, stream, push, notice);
    stream->dropped_bytes = MAX_OF(stream->dropped_bytes, push->dropped_bytes);
    if (text[0] != '\0' && push->offset > stream->next_offset) {
        text = begin_at_line(push, stream->next_offset, text, before);
        from += log_source_bytes(push->text, (size_t)(text - push->text));
    }
    if (before[0] != '\0')
        append_notice(hub, stream, push, before);
    if (text[0] != '\0')
        append_text(hub, stream, push, text, from);
    stream->next_offset = MAX_OF(stream->next_offset, push->next_offset);
    if (push->end) {
        stream->ended = true;
        stream->ended_us = now_us;
        keep_tail(hub, stream);
    }
    list_stream(hub, stream);
}

void log_hub_push_silence(struct log_hub *hub, const struct process *process, uint64_t now_us)
{
    const struct stream *stream = log_find_stream(hub, process);

    if (stream == NULL || !stream->ended)
        log_hub_push(hub, &(struct log_push){ .process = process, .text = "", .end = true },
                     now_us);
}

bool log_filter_takes(const struct log_filter *filter, const char *role, uint32_t index)
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

static bool is_wanted(const struct log_hub *hub, uint64_t job_id, const char *role, uint32_t index)
{
    const struct interest *interest;

    DL_FOREACH(hub->interests, interest)
    {
        struct log_filter filter = interest_filter(interest);

        if (filter.job_id == job_id && log_filter_takes(&filter, role, index))
            return true;
    }
    return false;
}

bool log_hub_keep(struct log_hub *hub, const struct log_push *push, uint64_t now_us)
{
    const struct process *process = push->process;
    struct stream *stream = log_find_stream(hub, process);
    char times[64], notice[LOG_NOTICE_BYTES], before[LOG_BEFORE_BYTES];
    const char *text;
    struct log_tail tail = { .job_id = process->job->id,
                             .index = process->index,
                             .incarnation = process->incarnation,
                             .times = times,
                             .next_offset = push->next_offset };

    if (process_state_is_final(process->state) || (stream != NULL && stream->ended))
        return false; /* overtaken by its end, which is longer */
    if (stream != NULL) {
        /* else the ring would be older than what is stored; but what a reader is being sent comes
         * in its order, and must not be taken for known */
        if (push->offset <= stream->next_offset ||
            !is_wanted(hub, stream->job_id, stream->role, stream->index))
            log_hub_push(hub, push, now_us);
        tail.sequence = hub->sequence;
    } else {
        tail.sequence = ++hub->sequence;
    }
    (void)say_dropped(0, push->dropped_bytes, notice);
    text = begin_at_line(push, 0, push->text, before);
    tail.text = join_texts((const char *const[]){ notice, before, text });
    (void)snprintf(times, sizeof times, "[[%zu,%" PRIu64 "]]", strlen(tail.text), push->wall_us);
    add_pending(hub, &tail, role_name(process));
    free(tail.text);
    if (hub->pending_bytes < LOG_PENDING_BYTES && now_us < hub->committed_us + LOG_PENDING_US)
        return false;
    hub->committed_us = now_us;
    return true;
}

void log_hub_note_effects(struct log_hub *hub, const struct effect *effects, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct stream *stream;

        if (effects[i].kind != EFFECT_SAVE_PROCESS || effects[i].process->state != PROCESS_LOST)
            continue;
        stream = log_find_stream(hub, effects[i].process);
        if (stream == NULL || stream->ended)
            continue;
        stream->ended = true;
        stream->ended_us = stream->pushed_us;
        keep_tail(hub, stream);
        list_stream(hub, stream);
    }
}

const struct log_tail *log_hub_pending(const struct log_hub *hub, size_t *ret_n)
{
    *ret_n = hub->n_pending;
    return hub->pending;
}

/* --- readers --- */

struct interest *log_find_interest(const struct log_hub *hub, const struct log_filter *filter)
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
    struct interest *interest = log_find_interest(hub, filter);
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
        stream = log_find_stream(hub, process);
        item = json_pack("{s:I,s:s,s:I,s:I,s:I}", "job_id", (json_int_t)process->job->id, "role",
                         role, "index", (json_int_t)process->index, "incarnation",
                         (json_int_t)process->incarnation, "after",
                         (json_int_t)(stream != NULL ? stream->next_offset : 0));
        /* a first reader is not sent a log of gigabytes through the ring; one who was there before
         * it ran misses nothing */
        if (stream == NULL && process->started_wall_us != 0)
            (void)json_object_set_new(item, "tail_bytes", json_integer(LOG_TAIL_BYTES));
        (void)json_array_append_new(array, item);
    }
    return array;
}
