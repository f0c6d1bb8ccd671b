/* SPDX-License-Identifier: Apache-2.0 */
/* workspace_cache.c - archives of workspaces on this node, fetched from the scheduler by their hash
 *
 * Bytes are hashed and written as they come; only those that hash to its name get it. A try that
 * fails on the way is made again, ever later; a refusal of the scheduler is told at once. A try is
 * made for one process: when that may not have the archive, the next one asks for itself. */
#include "agent/workspace/workspace_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utlist.h>

#include "agent/layout.h"
#include "shared/cleanup.h"
#include "shared/content_hash.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/write_all.h"

#define TRIES_MAX 6
#define FETCH_TIMEOUT_US (3600 * USEC_PER_SEC)
#define STALL_TIMEOUT_US (30 * USEC_PER_SEC)
#define TIMER_ACCURACY_US 1000

struct fetch;

struct workspace_wait {
    struct fetch *fetch; /* borrowed */
    struct process_id id;
    workspace_ready_fn ready;
    void *userdata;
    struct workspace_wait *prev, *next; /* utlist */
};

struct fetch {
    struct workspace_cache *cache; /* borrowed */
    char sha256[WORKSPACE_HEX + 1];
    struct workspace_wait *waits; /* owned; never empty but while they are told */
    struct process_id asks;       /* for whom the try is made; it may wait no longer */
    struct http_async_call *call; /* NULL: none is in flight */
    sd_event_source *timer;       /* owned; the next try */
    FILE *file;                   /* owned; libcurl writes to it, which is take() */
    int fd;
    struct content_hash *hash;
    uint64_t bytes;
    struct edl_error failure; /* of writing; code 0: none */
    unsigned tries;
    struct fetch *prev, *next; /* utlist */
};

struct workspace_cache {
    struct workspace_cache_config config;
    char *dir; /* owned */
    struct fetch *fetches;
};

static char *path_of(const struct workspace_cache *cache, const char *sha256, const char *suffix)
{
    return text_format("%s/%s%s", cache->dir, sha256, suffix);
}

#define UNFINISHED ".new"

/* ---- the files ---- */

static void remove_unfinished(struct workspace_cache *cache)
{
    _cleanup_closedir_ DIR *folder = opendir(cache->dir);
    const struct dirent *entry;

    while (folder != NULL && (entry = readdir(folder)) != NULL)
        if (strchr(entry->d_name, '.') != entry->d_name && !workspace_hex_valid(entry->d_name))
            (void)unlinkat(dirfd(folder), entry->d_name, 0);
}

/* One look: the sum of all, and what was used longest ago but for the one that is kept. */
static uint64_t survey(DIR *folder, const char *keep, char ret_oldest[WORKSPACE_HEX + 1])
{
    struct timespec oldest = { 0 };
    const struct dirent *entry;
    uint64_t sum = 0;

    ret_oldest[0] = '\0';
    rewinddir(folder);
    while ((entry = readdir(folder)) != NULL) {
        struct stat st;

        if (!workspace_hex_valid(entry->d_name) ||
            fstatat(dirfd(folder), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == -1)
            continue;
        sum += (uint64_t)st.st_size;
        if (streq(entry->d_name, keep) ||
            (ret_oldest[0] != '\0' &&
             (st.st_mtim.tv_sec > oldest.tv_sec ||
              (st.st_mtim.tv_sec == oldest.tv_sec && st.st_mtim.tv_nsec >= oldest.tv_nsec))))
            continue;
        oldest = st.st_mtim;
        (void)snprintf(ret_oldest, WORKSPACE_HEX + 1, "%.*s", WORKSPACE_HEX, entry->d_name);
    }
    return sum;
}

/* A process that is about to unpack one that goes has a link of its own. */
static void make_room(struct workspace_cache *cache, const char *keep)
{
    _cleanup_closedir_ DIR *folder = opendir(cache->dir);
    char oldest[WORKSPACE_HEX + 1];

    while (folder != NULL && survey(folder, keep, oldest) > cache->config.max_bytes &&
           oldest[0] != '\0')
        if (unlinkat(dirfd(folder), oldest, 0) == -1)
            break;
}

void workspace_cache_set_max(struct workspace_cache *cache, uint64_t max_bytes)
{
    cache->config.max_bytes = max_bytes;
    make_room(cache, "");
}

bool workspace_cache_has(struct workspace_cache *cache, const char *sha256)
{
    _cleanup_free_ char *path = path_of(cache, sha256, "");

    return utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW) == 0;
}

/* ---- a fetch ---- */

static void close_try(struct fetch *f)
{
    if (f->file != NULL)
        (void)fclose(f->file);
    f->file = NULL;
    f->fd = safe_close(f->fd);
    f->hash = content_hash_free(f->hash);
}

static void fetch_free(struct fetch *f)
{
    _cleanup_free_ char *path = path_of(f->cache, f->sha256, UNFINISHED);

    http_async_cancel(f->call);
    (void)sd_event_source_disable_unref(f->timer);
    close_try(f);
    (void)unlink(path);
    DL_DELETE(f->cache->fetches, f);
    free(f);
}

/* tell_one - it waits no longer; NULL: nobody. Nothing of the fetch may be used after it. */
static void tell_one(struct workspace_wait *wait, const struct edl_error *why)
{
    if (wait != NULL && wait->ready != NULL)
        wait->ready(why, wait->userdata);
    free(wait);
}

/* finish - tells all who wait; one of them may want to wait for the same again */
static void finish(struct fetch *f, const struct edl_error *why)
{
    struct workspace_wait *waits = TAKE_PTR(f->waits), *wait, *next;

    fetch_free(f);
    DL_FOREACH_SAFE(waits, wait, next)
    wait->fetch = NULL;
    while (waits != NULL) {
        wait = waits;
        DL_DELETE(waits, wait);
        tell_one(wait, why);
    }
}

static ssize_t take(void *cookie, const char *data, size_t size)
{
    struct fetch *f = cookie;
    int r;

    if (f->bytes + size > f->cache->config.max_bytes) {
        (void)edl_error_set(&f->failure, -E2BIG,
                            "it is larger than the %llu bytes that this node keeps"
                            " (--workspace-cache)",
                            (unsigned long long)f->cache->config.max_bytes);
        return 0;
    }
    r = write_all(f->fd, data, size);
    if (r < 0) {
        (void)edl_error_errno(&f->failure, r, "cannot write it to %s", f->cache->dir);
        return 0;
    }
    f->bytes += size;
    content_hash_add(f->hash, data, size);
    return (ssize_t)size;
}

static int open_try(struct fetch *f, struct edl_error *error)
{
    _cleanup_free_ char *path = path_of(f->cache, f->sha256, UNFINISHED);
    int r = folder_make(f->cache->dir, 0700, error);

    if (r == 0)
        r = content_hash_new(&f->hash, error);
    if (r < 0)
        return r;
    f->bytes = 0;
    f->failure = (struct edl_error){ 0 };
    f->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (f->fd == -1)
        return edl_error_errno(error, -errno, "cannot make %s", path);
    f->file = fopencookie(f, "w", (cookie_io_functions_t){ .write = take });
    if (f->file == NULL)
        abort();
    (void)setvbuf(f->file, NULL, _IONBF, 0);
    return 0;
}

/* own - a failure of this node, no word of the scheduler's: -ENOENT is no archive that it lacks */
static void own(struct edl_error *error)
{
    switch (error->code) {
    case -E2BIG:
    case -ENOSPC:
    case -EDQUOT:
    case EDL_ECORRUPT:
        return;
    default:
        error->code = -EIO;
    }
}

/* say_answer - what the scheduler answered but "not here", "not for you" and "never" is a state of
 * its own: 507 is its disk, not this one */
static int say_answer(const struct http_answer *answer, struct edl_error *error)
{
    int r = http_answer_error(answer, error);

    if (r == 0 || answer->failure != 0 || answer->status == 403 || answer->status == 404 ||
        answer->status == 422)
        return r;
    error->code = EDL_EHTTP;
    return EDL_EHTTP;
}

/* settle - what came is what was asked for, and has its name */
static int settle(struct fetch *f, struct edl_error *error)
{
    _cleanup_free_ char *from = path_of(f->cache, f->sha256, UNFINISHED);
    _cleanup_free_ char *to = path_of(f->cache, f->sha256, "");
    char hex[WORKSPACE_HEX + 1];

    content_hash_end(f->hash, hex);
    if (!streq(hex, f->sha256))
        return edl_error_set(error, EDL_ECORRUPT, "the archive that came has the SHA-256 %s", hex);
    if (rename(from, to) == -1)
        return edl_error_errno(error, -errno, "cannot keep %s", to);
    make_room(f->cache, f->sha256);
    return 0;
}

static void start_try(struct fetch *f);

static int on_timer(sd_event_source *source, uint64_t time_us, void *userdata)
{
    (void)source;
    (void)time_us;
    start_try(userdata);
    return 0;
}

/* Worth another try: nobody answered, the server was busy, or it broke off on the way. */
static bool may_pass(int code)
{
    return code == EDL_ECORRUPT || code == EDL_EUNREACHABLE || code == -ETIMEDOUT ||
           code == -ENOTCONN || code == EDL_EHTTP;
}

static int try_later(struct fetch *f, uint64_t wait_us)
{
    int r = sd_event_source_set_time_relative(f->timer, wait_us);

    return r < 0 ? r : sd_event_source_set_enabled(f->timer, SD_EVENT_ONESHOT);
}

/* take_asker - the process for which the try was made, out of those that wait; NULL: it is gone */
static struct workspace_wait *take_asker(struct fetch *f)
{
    struct workspace_wait *wait;

    DL_FOREACH(f->waits, wait)
    if (process_id_equal(&wait->id, &f->asks))
        break;
    if (wait != NULL) {
        DL_DELETE(f->waits, wait);
        wait->fetch = NULL;
    }
    return wait;
}

/* A process that may not have it says nothing of the others: its job may just have been killed. */
static void refused(struct fetch *f, const struct edl_error *why)
{
    struct workspace_wait *asker = take_asker(f);

    if (f->waits == NULL)
        fetch_free(f);
    else if (try_later(f, 0) < 0)
        finish(f, why);
    tell_one(asker, why);
}

static void failed(struct fetch *f, struct edl_error *why)
{
    uint64_t wait_us = f->cache->config.retry_us << f->tries;
    bool again = may_pass(why->code) && ++f->tries < TRIES_MAX;

    close_try(f);
    if (again && try_later(f, wait_us) >= 0)
        return;
    edl_error_prefix(why, "workspace %s%.12s...: ", WORKSPACE_PREFIX, f->sha256);
    if (why->code == -EACCES)
        refused(f, why);
    else
        finish(f, why);
}

static void on_answer(const struct http_answer *answer, void *userdata)
{
    struct fetch *f = userdata;
    struct edl_error error = { 0 };
    int r = say_answer(answer, &error);

    f->call = NULL;
    if (f->failure.code != 0) {
        error = f->failure;
        r = error.code;
        own(&error);
    } else if (r == 0) {
        r = settle(f, &error);
        own(&error);
    }
    if (r < 0) {
        failed(f, &error);
        return;
    }
    log_info("workspace %s: %llu bytes fetched", f->sha256, (unsigned long long)f->bytes);
    finish(f, NULL);
}

static void start_try(struct fetch *f)
{
    _cleanup_free_ char *path = text_format("/workspaces/%s", f->sha256);
    char key[PROCESS_KEY_SIZE], header[PROCESS_KEY_SIZE + 20];
    struct edl_error error = { 0 };
    int r = open_try(f, &error);

    if (r < 0)
        own(&error);
    f->asks = f->waits->id;
    (void)snprintf(header, sizeof header, "X-EDL-Process: %s", process_id_key(&f->asks, key));
    if (r == 0)
        r = f->cache->config.call(&(struct http_call){ .method = "GET",
                                                       .path = path,
                                                       .headers = { header },
                                                       .timeout_us = FETCH_TIMEOUT_US,
                                                       .stall_timeout_us = STALL_TIMEOUT_US,
                                                       .save = f->file },
                                  on_answer, f, &f->call, &error, f->cache->config.userdata);
    if (r < 0)
        failed(f, &error);
}

enum start_fault workspace_cache_fault(int code)
{
    switch (code) {
    case -ENOENT:
    case -EACCES:
        return START_FAULT_JOB; /* the scheduler has it not, or not for this job */
    case -E2BIG:
        return START_FAULT_DISK; /* the node keeps none as large */
    case EDL_EHTTP:
    case EDL_EUNREACHABLE:
        return START_FAULT_PLACE; /* the scheduler's, which gives a place again */
    default:
        return start_fault_of_error(code);
    }
}

/* ---- who waits ---- */

struct workspace_wait *workspace_cache_wait(struct workspace_cache *cache, const char *sha256,
                                            const struct process_id *id, workspace_ready_fn ready,
                                            void *userdata)
{
    struct workspace_wait *wait = xcalloc(1, sizeof *wait);
    struct fetch *f;
    int r;

    *wait = (struct workspace_wait){ .id = *id, .ready = ready, .userdata = userdata };
    DL_FOREACH(cache->fetches, f)
    if (streq(f->sha256, sha256))
        break;
    if (f == NULL) {
        f = xcalloc(1, sizeof *f);
        f->cache = cache;
        f->fd = -1;
        (void)snprintf(f->sha256, sizeof f->sha256, "%s", sha256);
        DL_APPEND(cache->fetches, f);
        /* from the loop, never from in here */
        r = sd_event_add_time(cache->config.event, &f->timer, CLOCK_BOOTTIME, 0, TIMER_ACCURACY_US,
                              on_timer, f);
        if (r < 0)
            abort(); /* why: out of memory or descriptors; processes go on without the agent */
    }
    wait->fetch = f;
    DL_APPEND(f->waits, wait);
    return wait;
}

struct workspace_wait *workspace_wait_cancel(struct workspace_wait *wait)
{
    if (wait == NULL)
        return NULL;
    if (wait->fetch == NULL) { /* those before it are being told, see finish */
        wait->ready = NULL;
        return NULL;
    }
    DL_DELETE(wait->fetch->waits, wait);
    if (wait->fetch->waits == NULL)
        fetch_free(wait->fetch);
    free(wait);
    return NULL;
}

struct workspace_cache *workspace_cache_new(const struct workspace_cache_config *config)
{
    struct workspace_cache *cache = xcalloc(1, sizeof *cache);

    cache->config = *config;
    cache->dir = xstrdup(config->dir);
    remove_unfinished(cache);
    return cache;
}

struct workspace_cache *workspace_cache_free(struct workspace_cache *cache)
{
    if (cache == NULL)
        return NULL;
    while (cache->fetches != NULL) {
        struct fetch *f = cache->fetches;

        while (f->waits != NULL) {
            struct workspace_wait *wait = f->waits;

            DL_DELETE(f->waits, wait);
            free(wait);
        }
        fetch_free(f);
    }
    free(cache->dir);
    free(cache);
    return NULL;
}
