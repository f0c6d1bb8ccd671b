/* SPDX-License-Identifier: Apache-2.0 */
/* file_reads.c - see file_reads.h
 *
 *   waiting -> reading <-> sending -> over (until orders list it no more)
 *
 * A read that is over stays known as long as orders list it: they may have been made before its
 * last piece came. One that waits says so to the scheduler, which would give up else. Its reader is
 * killed and waited for by its pidfd, as a disk that hangs keeps it.
 */
#include "agent/files/file_reads.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utlist.h>

#include "agent/files/file_frames.h"
#include "agent/files/file_request.h"
#include "agent/processes/helper.h"
#include "agent/layout.h"
#include "agent/link/link.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/fair_share.h"
#include "shared/macro.h"
#include "agent/processes/start_mark.h"

#define READS_AT_ONCE 32                 /* of all; each user may have as many as are still free */
#define READS_MAX 256                    /* listed; more is not an order but a mistake */
#define PIECE_BYTES ((size_t)256 * 1024) /* of a call */
#define SILENCE_US (5 * USEC_PER_SEC)    /* without a word to the scheduler, at most */
#define CALL_TIMEOUT_US (120 * USEC_PER_SEC) /* its reader may be slow */
#define REASON_SIZE 400
#define SINCE_SIZE 32
#define TIMER_ACCURACY_US (100 * USEC_PER_MSEC)

enum read_state { READ_WAITING, READ_READING, READ_OVER };

struct read {
    struct file_reads *reads; /* borrowed */
    struct file_request request;
    enum read_state state;
    bool listed;                  /* mark of file_reads_follow */
    bool finished;                /* the call in flight is the last one */
    struct helper helper;         /* owned; -1: none */
    sd_event_source *readable;    /* owned */
    sd_event_source *ended;       /* owned; the reader's pidfd */
    sd_event_source *silence;     /* owned */
    struct http_async_call *call; /* in flight */
    char *piece;                  /* owned; PIECE_BYTES */
    size_t size;                  /* in it */
    uint64_t offset;              /* bytes that the scheduler has taken */
    char last;                    /* FILE_FRAME_*: how the reader ended; 0: it goes on */
    char reason[REASON_SIZE];     /* of a failure */
    struct read *prev, *next;
};

struct file_reads {
    struct file_reads_config config;
    struct read *list; /* owned */
};

static void step(struct read *read);
static void arm_silence(struct read *read);
static void begin_waiting(struct file_reads *reads);

/* ---- its end ---- */

static void read_free(struct read *read)
{
    DL_DELETE(read->reads->list, read);
    http_async_cancel(read->call);
    (void)sd_event_source_disable_unref(read->readable);
    (void)sd_event_source_disable_unref(read->ended);
    (void)sd_event_source_disable_unref(read->silence);
    read->helper.fd = safe_close(read->helper.fd);
    read->helper.pidfd = safe_close(read->helper.pidfd);
    file_request_clear(&read->request);
    free(read->piece);
    free(read);
}

static void free_if_done(struct read *read)
{
    if (read->state == READ_OVER && !read->listed && read->helper.pidfd == -1)
        read_free(read);
}

/* halt - nobody waits for it any more */
static void halt(struct read *read)
{
    http_async_cancel(read->call);
    read->call = NULL;
    read->readable = sd_event_source_disable_unref(read->readable);
    read->silence = sd_event_source_disable_unref(read->silence);
    read->helper.fd = safe_close(read->helper.fd);
    if (read->helper.pidfd != -1)
        (void)pidfd_send_signal(read->helper.pidfd, SIGKILL, NULL, 0);
    free(read->piece);
    read->piece = NULL;
    read->state = READ_OVER;
}

/* stop - the same, and another one may begin; read may be freed */
static void stop(struct read *read)
{
    struct file_reads *reads = read->reads;

    halt(read);
    free_if_done(read);
    begin_waiting(reads);
}

static int on_ended(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct read *read = userdata;
    struct file_reads *reads = read->reads;
    siginfo_t info;

    (void)source;
    (void)revents;
    (void)waitid(P_PIDFD, (id_t)fd, &info, WEXITED);
    read->ended = sd_event_source_disable_unref(read->ended);
    read->helper.pidfd = safe_close(read->helper.pidfd);
    free_if_done(read); /* else what it wrote is still in its socket */
    begin_waiting(reads);
    return 0;
}

/* ---- calls ---- */

static const char *word_of(char last)
{
    switch (last) {
    case FILE_FRAME_END:
        return "end";
    case FILE_FRAME_GONE:
        return "gone";
    case FILE_FRAME_DENIED:
        return "denied";
    default:
        return "failed";
    }
}

static void on_answer(const struct http_answer *answer, void *userdata)
{
    struct read *read = userdata;

    read->call = NULL;
    if (http_answer_error(answer, NULL) < 0 || read->finished) {
        stop(read); /* of one that was not taken the scheduler tells whoever waits */
        return;
    }
    read->offset += read->size;
    read->size = 0;
    if (read->state == READ_WAITING)
        arm_silence(read);
    else
        step(read);
}

/* call - what is in the piece, maybe nothing; a failure is told behind what was read before it */
static void call(struct read *read)
{
    bool failed = read->size == 0 && read->last != 0 && read->last != FILE_FRAME_END;
    bool more = !failed && read->last != FILE_FRAME_END;
    _cleanup_free_ char *path =
        text_format("/nodes/%s/reads/%llu?state=%s&offset=%llu",
                    link_node(read->reads->config.link), (unsigned long long)read->request.id,
                    more ? "more" : word_of(read->last), (unsigned long long)read->offset);
    struct edl_error error;

    read->finished = !more;
    (void)sd_event_source_set_enabled(read->silence, SD_EVENT_OFF);
    (void)sd_event_source_set_enabled(read->readable, SD_EVENT_OFF);
    if (link_call(read->reads->config.link,
                  &(struct http_call){ .method = "POST",
                                       .path = path,
                                       .body = failed ? read->reason : read->piece,
                                       .body_size = failed ? strlen(read->reason) : read->size,
                                       .content_type = "application/octet-stream",
                                       .timeout_us = CALL_TIMEOUT_US },
                  on_answer, read, &read->call, &error) < 0)
        stop(read);
}

/* ---- what the reader says ---- */

static void fail(struct read *read, char kind, const char *reason)
{
    read->last = kind;
    (void)snprintf(read->reason, sizeof read->reason, "%.*s", REASON_SIZE - 1, reason);
}

static void take_frame(struct read *read, char *frame, size_t size)
{
    if (size == 0) {
        fail(read, FILE_FRAME_FAILED, "the program that read it on the node was killed");
    } else if (frame[0] == FILE_FRAME_DATA) {
        memcpy(read->piece + read->size, frame + 1, size - 1);
        read->size += size - 1;
    } else {
        frame[size] = '\0';
        fail(read, frame[0], frame + 1);
    }
}

/* take_frames - those that are there, as long as another one has room */
static void take_frames(struct read *read)
{
    char frame[FILE_FRAME_BYTES + 1];

    while (read->last == 0 && read->size + FILE_FRAME_BYTES <= PIECE_BYTES) {
        ssize_t n = recv(read->helper.fd, frame, FILE_FRAME_BYTES, MSG_DONTWAIT);

        if (n == -1 && errno == EINTR)
            continue;
        if (n == -1 && errno == EAGAIN)
            return;
        take_frame(read, frame, n > 0 ? (size_t)n : 0);
    }
}

static int on_readable(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    (void)source;
    (void)fd;
    (void)revents;
    step(userdata);
    return 0;
}

/* on_silence - the reader is at something long, or others are before it: the scheduler hears that
 * it is still at it */
static int on_silence(sd_event_source *source, uint64_t usec, void *userdata)
{
    (void)source;
    (void)usec;
    call(userdata);
    return 0;
}

static void arm_silence(struct read *read)
{
    (void)sd_event_source_set_time_relative(read->silence, SILENCE_US);
    (void)sd_event_source_set_enabled(read->silence, SD_EVENT_ONESHOT);
}

/* step - no call is in flight */
static void step(struct read *read)
{
    take_frames(read);
    if (read->size > 0 || read->last != 0) {
        call(read);
        return;
    }
    (void)sd_event_source_set_enabled(read->readable, SD_EVENT_ON);
    arm_silence(read);
}

/* ---- its start ---- */

/* look_at - NULL: it is not there, or of another kind */
static const struct stat *look_at(const char *path, mode_t kind, struct stat *st)
{
    return lstat(path, st) == 0 && (st->st_mode & S_IFMT) == kind ? st : NULL;
}

/* owner_of - "-": an agent that is not root reads as itself */
static int owner_of(const struct read *read, char ret[FILE_OWNER_SIZE], struct edl_error *error)
{
    const struct file_reads_config *config = &read->reads->config;
    _cleanup_free_ char *path = layout_log_path(config->layout, &read->request.process);
    struct stat log, folder;

    (void)snprintf(ret, FILE_OWNER_SIZE, "-");
    if (geteuid() != 0)
        return 0;
    return file_request_owner(&read->request, look_at(path, S_IFREG, &log),
                              look_at(read->request.root, S_IFDIR, &folder), config->allow_root,
                              ret, error);
}

/* say_since - from when on files count, as file_reader_list takes it: with a pattern all do, as in
 * a folder that began empty */
static void say_since(const struct read *read, char ret[SINCE_SIZE])
{
    const struct file_request *request = &read->request;
    bool all = request->name[0] != '\0' || (!request->given && !request->copy);
    uint64_t since_us = 0;

    if (!all && !request->copy &&
        !(request->told_wait && start_mark_since(read->reads->config.layout, &request->process,
                                                 request->waited_us, &since_us)))
        since_us = request->since_us;

    (void)snprintf(ret, SINCE_SIZE, "%s%llu", !all && request->unpacked ? "birth:" : "",
                   (unsigned long long)since_us);
}

static int start_reader(struct read *read, struct edl_error *error)
{
    const struct file_request *request = &read->request;
    const struct layout *layout = read->reads->config.layout;
    _cleanup_free_ char *program = text_format("%s/edl-workspace", layout->program_dir);
    _cleanup_free_ char *log = layout_log_path(layout, &request->process);
    const char *log_name = log + strlen(layout->logs_dir) + 1;
    char owner[FILE_OWNER_SIZE], since[SINCE_SIZE], offset[24], bytes[24], sums[24],
        times_since[24];
    const int numbers[] = { STDOUT_FILENO };
    const char *const list[] = { program, "list-files",  owner, request->root,
                                 since,   request->name, sums,  NULL };
    const char *const send[] = { program,       "send-file", owner, request->root,
                                 request->name, offset,      bytes, NULL };
    const char *const whole_log[] = { program, "send-log", layout->logs_dir, log_name, NULL };
    const char *const part[] = { program, "send-log", layout->logs_dir, log_name, offset,
                                 bytes,   NULL };
    const char *const chunks[] = { program, "send-log", layout->logs_dir, log_name,
                                   offset,  bytes,      times_since,      NULL };
    const char *const *const argvs[] = { [FILE_REQUEST_LIST] = list,
                                         [FILE_REQUEST_SEND] = send,
                                         [FILE_REQUEST_LOG] = whole_log,
                                         [FILE_REQUEST_LOG_PART] = part,
                                         [FILE_REQUEST_LOG_CHUNKS] = chunks };
    int r = request->kind >= FILE_REQUEST_LOG ? 0 : owner_of(read, owner, error);

    if (r < 0)
        return r;
    say_since(read, since);
    (void)snprintf(offset, sizeof offset, "%llu", (unsigned long long)request->offset);
    (void)snprintf(bytes, sizeof bytes, "%llu", (unsigned long long)request->bytes);
    (void)snprintf(sums, sizeof sums, "%llu", (unsigned long long)request->sums_bytes);
    (void)snprintf(times_since, sizeof times_since, "%llu", (unsigned long long)request->since_us);
    return helper_start(argvs[request->kind], numbers, ELEMENTS(numbers), &read->helper, error);
}

static int watch_reader(struct read *read, struct edl_error *error)
{
    sd_event *event = read->reads->config.event;
    int r = sd_event_add_io(event, &read->ended, read->helper.pidfd, EPOLLIN, on_ended, read);

    if (r >= 0)
        r = sd_event_add_io(event, &read->readable, read->helper.fd, EPOLLIN, on_readable, read);
    if (r >= 0 && read->call != NULL) /* its answer enables it */
        r = sd_event_source_set_enabled(read->readable, SD_EVENT_OFF);
    return r < 0 ? edl_error_errno(error, r, "the event loop") : 0;
}

static char kind_of(int r)
{
    return r == -ENOENT ? FILE_FRAME_GONE : r == -EPERM ? FILE_FRAME_DENIED : FILE_FRAME_FAILED;
}

/* begin - what cannot begin is told as what fails later is, once no call is in flight; read may be
 * freed */
static void begin(struct read *read)
{
    struct edl_error error = { 0 };
    int r = start_reader(read, &error);

    if (r == 0)
        r = watch_reader(read, &error);
    read->state = READ_READING;
    read->piece = xcalloc(1, PIECE_BYTES);
    if (r < 0) {
        fail(read, kind_of(r), error.text);
        if (read->call == NULL)
            call(read);
    }
}

static bool is_reading(const struct read *read)
{
    return read->helper.pidfd != -1 || read->state == READ_READING;
}

/* has_room - for one more of the user: slow readers of some leave places for those of others */
static bool has_room(const struct file_reads *reads, const char *user)
{
    const struct read *read;
    unsigned mine = 0, all = 0;

    DL_FOREACH(reads->list, read)
    {
        all += is_reading(read);
        mine += is_reading(read) && streq(read->request.user, user);
    }
    return fair_share_has_room(mine, all, READS_AT_ONCE);
}

static struct read *find_next(const struct file_reads *reads)
{
    struct read *read;

    DL_FOREACH(reads->list, read)
    if (read->state == READ_WAITING && has_room(reads, read->request.user))
        return read;
    return NULL;
}

static void begin_waiting(struct file_reads *reads)
{
    struct read *read;

    while ((read = find_next(reads)) != NULL)
        begin(read);
}

/* ---- orders ---- */

static struct read *find(const struct file_reads *reads, uint64_t id)
{
    struct read *read;

    DL_FOREACH(reads->list, read)
    if (read->request.id == id)
        return read;
    return NULL;
}

/* prepare - understood, and able to say that it waits */
static int prepare(struct read *read, const json_t *entry, struct edl_error *error)
{
    int r = file_request_parse(entry, read->reads->config.layout, &read->request, error);

    if (r < 0)
        return r;
    r = sd_event_add_time_relative(read->reads->config.event, &read->silence, CLOCK_BOOTTIME,
                                   SILENCE_US, TIMER_ACCURACY_US, on_silence, read);
    return r < 0 ? edl_error_errno(error, r, "the event loop") : 0;
}

/* add - one that is not understood is answered all the same: somebody waits for it */
static void add(struct file_reads *reads, const json_t *entry)
{
    struct read *read = xcalloc(1, sizeof *read);
    struct edl_error error = { 0 };

    read->reads = reads;
    read->helper = (struct helper){ .fd = -1, .pidfd = -1 };
    read->listed = true;
    DL_APPEND(reads->list, read);
    if (prepare(read, entry, &error) == 0)
        return;
    read->request.id = file_request_id(entry);
    read->request.user = xstrdup("");
    read->state = READ_READING;
    fail(read, FILE_FRAME_FAILED, error.text);
    call(read);
}

void file_reads_follow(struct file_reads *reads, const json_t *array)
{
    struct read *read, *next;

    DL_FOREACH(reads->list, read)
    read->listed = false;
    for (size_t i = 0; i < json_array_size(array) && i < READS_MAX; i++) {
        const json_t *entry = json_array_get(array, i);
        uint64_t id = file_request_id(entry);

        read = find(reads, id);
        if (read != NULL)
            read->listed = true;
        else if (id != 0)
            add(reads, entry);
    }
    DL_FOREACH_SAFE(reads->list, read, next)
    {
        if (read->listed)
            continue;
        if (read->state != READ_OVER)
            halt(read);
        free_if_done(read);
    }
    begin_waiting(reads);
}

struct file_reads *file_reads_new(const struct file_reads_config *config)
{
    struct file_reads *reads = xcalloc(1, sizeof *reads);

    reads->config = *config;
    return reads;
}

struct file_reads *file_reads_free(struct file_reads *reads)
{
    struct read *read, *next;

    if (reads == NULL)
        return NULL;
    DL_FOREACH_SAFE(reads->list, read, next)
    read_free(read); /* its reader ends with our end of the socket */
    free(reads);
    return NULL;
}
