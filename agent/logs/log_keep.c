/* SPDX-License-Identifier: Apache-2.0 */
/* log_keep.c - see log_keep.h
 *
 * A call that fails leaves the size as it was, so that the same end is sent in the next period: the
 * scheduler keeps the newest, and hearing the same twice is harmless. */
#include "agent/logs/log_keep.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uthash.h>

#include "agent/layout.h"
#include "agent/link/link.h"
#include "agent/logs/log_file.h"
#include "agent/logs/log_trim.h"
#include "agent/processes/process.h"
#include "agent/processes/process_id_json.h"
#include "agent/logs/utf8.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

/* How much of a process' log was there when its end was last sent. */
struct kept {
    char key[PROCESS_KEY_SIZE];
    uint64_t size;
    bool seen;
    UT_hash_handle hh;
};

struct log_keep {
    struct link *link;
    const struct layout *layout;
    const struct process_table *processes;
    uint64_t period_us, next_us;
    struct kept *kept; /* k: key, owned */
    struct process_id last;
    uint64_t sent_size; /* of the call in flight, about `last` */
    unsigned calls;     /* left in this period */
    struct http_async_call *call;
};

struct log_keep *log_keep_new(struct link *link, const struct layout *layout,
                              const struct process_table *processes, uint64_t period_us)
{
    struct log_keep *keep = xcalloc(1, sizeof *keep);

    keep->link = link;
    keep->layout = layout;
    keep->processes = processes;
    keep->period_us = period_us;
    return keep;
}

struct log_keep *log_keep_free(struct log_keep *keep)
{
    struct kept *kept, *next;

    if (keep == NULL)
        return NULL;
    http_async_cancel(keep->call);
    HASH_ITER(hh, keep->kept, kept, next)
    {
        HASH_DEL(keep->kept, kept);
        free(kept);
    }
    free(keep);
    return NULL;
}

static struct kept *kept_of(struct log_keep *keep, const struct process_id *id)
{
    char key[PROCESS_KEY_SIZE];
    struct kept *kept;

    (void)process_id_key(id, key);
    HASH_FIND_STR(keep->kept, key, kept);
    if (kept != NULL)
        return kept;
    kept = xcalloc(1, sizeof *kept);
    memcpy(kept->key, key, sizeof key);
    HASH_ADD_STR(keep->kept, key, kept);
    return kept;
}

/* Forgets processes that are not there any more. */
static void purge(struct log_keep *keep)
{
    struct kept *kept, *next;

    for (const struct process *p = keep->processes->list; p != NULL; p = p->next)
        kept_of(keep, &p->id)->seen = true;
    HASH_ITER(hh, keep->kept, kept, next)
    {
        bool seen = kept->seen;

        kept->seen = false;
        if (seen)
            continue;
        HASH_DEL(keep->kept, kept);
        free(kept);
    }
}

/* The end of its log when it has grown; NULL: nothing new. */
static json_t *read_end(struct log_keep *keep, const struct process_id *id)
{
    struct stat st;
    _cleanup_close_ int fd = log_file_open(keep->layout, id, &st);
    _cleanup_free_ char *path = layout_log_path(keep->layout, id);
    char raw[LOG_KEEP_BYTES];
    char clean[LOG_KEEP_BYTES * UTF8_GROWTH];
    uint64_t offset, dropped;
    size_t used, size;
    ssize_t n;
    json_t *body;

    if (fd < 0 || (uint64_t)st.st_size == kept_of(keep, id)->size)
        return NULL;
    offset = (uint64_t)st.st_size - MIN_OF((uint64_t)st.st_size, (uint64_t)sizeof raw);
    dropped = log_held_from(fd, (uint64_t)st.st_size);
    offset = MAX_OF(offset, dropped);
    n = pread(fd, raw, sizeof raw, (off_t)offset);
    if (n <= 0)
        return NULL;
    used = utf8_sanitise(raw, (size_t)n, false, clean, &size);
    keep->sent_size = (uint64_t)st.st_size;
    body = process_id_json(id);
    (void)json_object_set_new(body, "file", json_string(path));
    (void)json_object_set_new(body, "offset", json_integer((json_int_t)offset));
    (void)json_object_set_new(body, "next_offset",
                              json_integer((json_int_t)offset + (json_int_t)used));
    (void)json_object_set_new(body, "text", json_stringn(clean, size));
    (void)json_object_set_new(body, "keep", json_true());
    if (dropped > 0)
        (void)json_object_set_new(body, "dropped_bytes", json_integer((json_int_t)dropped));
    return body;
}

static void send_next(struct log_keep *keep);

static void on_answer(const struct http_answer *answer, void *userdata)
{
    struct log_keep *keep = userdata;
    struct edl_error error;

    keep->call = NULL;
    if (http_answer_error(answer, &error) < 0)
        return; /* in the next period */
    kept_of(keep, &keep->last)->size = keep->sent_size;
    send_next(keep);
}

/* One process after the other, from behind the one that was sent last. */
static void send_next(struct log_keep *keep)
{
    const struct process *first = keep->processes->list;
    const struct process *p = process_find(keep->processes, &keep->last);
    _cleanup_free_ char *path = text_format("/nodes/%s/logs", link_node(keep->link));
    struct edl_error error;

    for (size_t i = 0; keep->calls > 0 && i < keep->processes->n; i++) {
        json_t *body;

        p = p != NULL && p->next != NULL ? p->next : first;
        body = read_end(keep, &p->id);
        if (body == NULL)
            continue;
        keep->calls--;
        keep->last = p->id;
        (void)link_call(keep->link,
                        &(struct http_call){ .method = "POST", .path = path, .json = body },
                        on_answer, keep, &keep->call, &error);
        json_decref(body);
        return;
    }
}

void log_keep_look(struct log_keep *keep, uint64_t now_us)
{
    if (keep->call != NULL || now_us < keep->next_us)
        return;
    keep->next_us = now_us + keep->period_us;
    keep->calls = LOG_KEEP_CALLS;
    purge(keep);
    send_next(keep);
}
