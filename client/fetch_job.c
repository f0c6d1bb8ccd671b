/* SPDX-License-Identifier: Apache-2.0 */
/* fetch_job.c - see fetch_job.h
 *
 * First every node lists what matches; then the files come one by one. Small files have their
 * checksums in the list. Of a large one the node is asked when its bytes are here, as reading it
 * takes long. The same command goes on with a fetch that broke off. */
#include "client/fetch_job.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "client/fetch_file.h"
#include "client/fetch_link.h"
#include "client/fetch_plan.h"
#include "client/fetch_record.h"
#include "client/job_view.h"
#include "client/json_read.h"
#include "client/report.h"
#include "client/server.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/printable.h"

#define LIST_STALL_US (600 * USEC_PER_SEC) /* a node reads 64 MiB before a line, at most */
#define FILE_STALL_US (60 * USEC_PER_SEC)
#define CALL_TIMEOUT_US (7 * 86400 * USEC_PER_SEC)
#define PROGRESS_US (100 * USEC_PER_MSEC)
#define TRIES 3 /* of a file that changes while it comes */
#define LINE_WIDTH 79
#define NAME_SHOWN 40

struct fetch {
    struct server *server;
    const struct fetch_wish *wish;
    const char *job;
    const char *pattern; /* "": what was written or changed */
    const char *member;  /* of an array: the name of this one; else NULL */
    struct fetch_plan plan;
    struct fetch_target target; /* root_fd and record owned */
    const char *root;           /* borrowed */
    json_t *told;               /* owned: each file, for --json */
    json_t *answers;            /* borrowed: of the members; NULL: it is no array */
    uint64_t files, bytes;      /* that there are */
    uint64_t links_there;       /* that stay within their folder */
    uint64_t links_done;        /* of them, those that are made now */
    uint64_t gone;              /* processes whose folders are not on their nodes any more */
    uint64_t files_done, bytes_done, files_there, files_failed;
    uint64_t shown_us; /* when progress was shown last */
    const char *name;  /* of the file that comes */
    bool terminal;     /* somebody looks at standard error */
    int status;        /* of the worst that happened */
};

/* ---- progress ---- */

static void clear_progress(const struct fetch *f)
{
    if (f->terminal && f->shown_us != 0)
        (void)fprintf(stderr, "\r%*s\r", LINE_WIDTH, "");
}

static void show_progress(struct fetch *f)
{
    uint64_t now_us = clock_read_us(CLOCK_MONOTONIC);
    char done[16], all[16], name[4 * NAME_SHOWN];
    size_t n = strlen(f->name);

    if (!f->terminal || now_us - f->shown_us < PROGRESS_US)
        return;
    f->shown_us = now_us;
    (void)printable_escape(n > NAME_SHOWN ? f->name + n - NAME_SHOWN : f->name, name, sizeof name);
    (void)fprintf(stderr, "\r%" PRIu64 " of %" PRIu64 " file%s, %s of %s  %-*.*s",
                  f->files_done + f->files_there, f->files, PLURAL(f->files),
                  text_bytes(f->bytes_done, done, sizeof done),
                  text_bytes(f->bytes, all, sizeof all), NAME_SHOWN, NAME_SHOWN, name);
}

static void on_bytes(uint64_t n, void *userdata)
{
    struct fetch *f = userdata;

    f->bytes_done += n;
    show_progress(f);
}

/* ---- lists ---- */

/* Takes the list apart as it comes: a line may be in two pieces. */
struct list_reader {
    struct fetch_source *source;
    char line[FILE_LISTING_LINE_BYTES];
    size_t size;
    struct edl_error error;
};

static ssize_t on_list(void *userdata, const char *data, size_t size)
{
    struct list_reader *reader = userdata;

    for (size_t i = 0; i < size; i++) {
        if (data[i] != '\n' && reader->size < sizeof reader->line) {
            reader->line[reader->size++] = data[i];
            continue;
        }
        if (fetch_source_add(reader->source, reader->line, reader->size, &reader->error) < 0)
            return 0;
        reader->size = 0;
    }
    return (ssize_t)size;
}

/* source_path - "/jobs/J/processes/trainer/0/WHAT?folder=workspace" */
static char *source_path(const struct fetch *f, const struct fetch_source *source, const char *what)
{
    _cleanup_free_ char *role = text_url_segment(source->role);
    _cleanup_free_ char *suffix =
        text_format("/processes/%s/%" PRIu64 "/%s?folder=%s", role, source->index, what,
                    source->output ? "output" : "workspace");

    return job_path(f->job, suffix);
}

static int ask(struct fetch *f, const char *path, FILE *save, uint64_t stall_us,
               struct http_answer *answer)
{
    struct http_call call = { .method = "GET",
                              .path = path,
                              .timeout_us = CALL_TIMEOUT_US,
                              .stall_timeout_us = stall_us,
                              .save = save };

    return server_call(f->server, &call, answer);
}

/* list - sums_bytes: files of at most so many come with their checksums
 * STATUS_FAILED: the node refuses, told; *ret_gone: there is no such folder, not told */
static int list(struct fetch *f, struct fetch_source *source, const char *pattern,
                uint64_t sums_bytes, bool *ret_gone)
{
    _cleanup_free_ char *base = source_path(f, source, "files");
    _cleanup_free_ char *encoded = text_url_segment(pattern);
    _cleanup_free_ char *path = text_format("%s&sums=%" PRIu64 "%s%s", base, sums_bytes,
                                            pattern[0] != '\0' ? "&pattern=" : "", encoded);
    _cleanup_free_ struct list_reader *reader = xcalloc(1, sizeof *reader);
    struct http_answer answer = { 0 };
    FILE *stream;
    int status;

    reader->source = source;
    stream = fopencookie(reader, "w", (cookie_io_functions_t){ .write = on_list });
    if (stream == NULL)
        abort();
    status = ask(f, path, stream, LIST_STALL_US, &answer);
    (void)fclose(stream);
    *ret_gone = answer.failure == 0 && answer.status == 404;
    if (reader->error.code != 0) {
        (void)edl_error_remedy(&reader->error,
                               "apt-get install edl-agent on node %s: it may be older than this",
                               source->node);
        status = report_error(&reader->error);
    } else if (status != STATUS_OK && !*ret_gone) {
        status = report_answer(&answer);
    } else if (status == STATUS_OK && !source->whole) {
        (void)edl_error_set(&reader->error, EDL_EHTTP, "the list of node %s was cut off",
                            source->node);
        (void)edl_error_remedy(&reader->error, "the same command again");
        status = report_error(&reader->error);
    }
    http_answer_clear(&answer);
    return status;
}

static void note_skipped(const struct fetch_source *source)
{
    const struct file_sums *sums = &source->sums;
    const struct {
        uint64_t n;
        const char *what;
    } skipped[] = {
        { sums->links - MIN_OF(sums->links, json_array_size(source->links)),
          "symbolic links, which are not followed" },
        { sums->unnamed, "files whose names have control characters or are no UTF-8" },
        { sums->unreadable, "files and folders that the job's account may not read, or too deep" },
    };

    for (size_t i = 0; i < ELEMENTS(skipped); i++)
        if (skipped[i].n > 0)
            report_note("%s-%" PRIu64 " on %s: left out %" PRIu64 " %s", source->role,
                        source->index, source->node, skipped[i].n, skipped[i].what);
}

/* link_of - whether it may be made here */
static bool link_of(const json_t *link, const char **ret_path, const char **ret_target)
{
    *ret_path = json_text(link, "path");
    *ret_target = json_text(link, "target");
    return fetch_link_stays(*ret_path, *ret_target);
}

/* sort_links - those that lead elsewhere are named, and left out */
static void sort_links(struct fetch *f, const struct fetch_source *source)
{
    const char *path, *target;
    size_t i;
    json_t *link;

    json_array_foreach(source->links, i, link)
    {
        if (link_of(link, &path, &target))
            f->links_there++;
        else if (!f->wish->json)
            report_note("%s-%" PRIu64 " on %s: left out the link %s, which leads out of the folder",
                        source->role, source->index, source->node, path);
    }
}

static void each(struct fetch *f, void (*what)(struct fetch *f, const struct fetch_source *source,
                                               const struct file_entry *entry))
{
    for (size_t i = 0; i < f->plan.n_sources; i++)
        for (size_t at = 0; at < f->plan.sources[i].n_files; at++)
            what(f, &f->plan.sources[i], f->plan.sources[i].files[at]);
}

static void count_one(struct fetch *f, const struct fetch_source *source,
                      const struct file_entry *entry)
{
    (void)source;
    f->files++;
    f->bytes += entry->bytes;
}

/* relist - the file as it is now, with its checksum, whatever its size; -ENOENT: it is gone;
 * -EAGAIN: the node does not list it, and why is told */
static int relist(struct fetch *f, const struct fetch_source *source, struct file_entry *entry,
                  struct edl_error *error)
{
    struct fetch_source again = *source;
    _cleanup_free_ char *pattern = fetch_pattern_of(entry->path);
    int r = -ENOENT, status;
    bool gone;

    again.files = NULL;
    again.links = NULL;
    again.n_files = again.n_allocated = 0;
    again.whole = false;
    clear_progress(f);
    status = list(f, &again, pattern, INT64_MAX, &gone);
    for (size_t i = 0; i < again.n_files; i++) {
        if (streq(again.files[i]->path, entry->path)) {
            *entry = *again.files[i];
            r = 0;
        }
        free(again.files[i]);
    }
    free(again.files);
    json_decref(again.links);
    if (status != STATUS_OK && !gone) {
        (void)edl_error_set(error, -EAGAIN, "it could not be listed again");
        return edl_error_remedy(error, "the same command goes on");
    }
    if (r < 0)
        return edl_error_set(error, r, "it was removed while it was fetched");
    if (entry->sha256[0] == '\0')
        return edl_error_set(error, -EINVAL, "its node lists it without a checksum");
    return 0;
}

/* sum_twin - a failure leaves it without: then it is fetched from each of its nodes */
static void sum_twin(const struct fetch_source *source, struct file_entry *entry, void *userdata)
{
    struct edl_error error = { 0 };
    struct file_entry now = *entry;

    if (relist(userdata, source, &now, &error) == 0 && now.bytes == entry->bytes)
        *entry = now;
}

/* list_all - a node that cannot be asked does not keep the others' files back */
static void list_all(struct fetch *f)
{
    for (size_t i = 0; i < f->plan.n_sources; i++) {
        struct fetch_source *source = &f->plan.sources[i];
        const char *pattern = fetch_pattern(f->pattern, source->output);
        bool gone = false;
        int status;

        if (pattern == NULL)
            continue;
        status = list(f, source, pattern, f->wish->list ? 0 : FETCH_SUMS_BYTES, &gone);
        if (gone && !source->output)
            report_note("%s-%" PRIu64 ": nothing of it is on node %s any more", source->role,
                        source->index, source->node);
        else if (status != STATUS_OK && !gone)
            f->status = status;
        else if (status == STATUS_OK && !f->wish->json)
            note_skipped(source);
        if (status == STATUS_OK)
            sort_links(f, source);
        f->gone += gone && !source->output;
    }
    fetch_plan_twins(&f->plan, sum_twin, f);
    fetch_plan_place(&f->plan);
    each(f, count_one);
}

/* ---- files ---- */

static void tell(struct fetch *f, const struct fetch_source *source, const struct file_entry *entry,
                 const char *state)
{
    (void)json_array_append_new(f->told,
                                json_pack("{s:s+,s:s,s:I,s:s*,s:s,s:I,s:s,s:s}", "path",
                                          source->folder, entry->path, "node", source->node,
                                          "bytes", (json_int_t)entry->bytes, "sha256",
                                          entry->sha256[0] != '\0' ? entry->sha256 : NULL, "role",
                                          source->role, "index", (json_int_t)source->index, "from",
                                          source->output ? "output" : "workspace", "state", state));
}

static void tell_link(struct fetch *f, const struct fetch_source *source, const char *path,
                      const char *target, const char *state)
{
    (void)json_array_append_new(f->told,
                                json_pack("{s:s+,s:s,s:s,s:s,s:I,s:s,s:s}", "path", source->folder,
                                          path, "link", target, "node", source->node, "role",
                                          source->role, "index", (json_int_t)source->index, "from",
                                          source->output ? "output" : "workspace", "state", state));
}

/* report_file - what is wrong with one of many */
static int report_file(struct fetch *f, const struct fetch_source *source,
                       const struct file_entry *entry, struct edl_error *error)
{
    clear_progress(f);
    edl_error_prefix(error, "%.150s%.150s: ", source->folder, entry->path);
    if (error->code == -ENOSPC || error->code == -EDQUOT)
        (void)edl_error_remedy(error, "make room in %.100s; then the same command goes on",
                               f->root);
    return report_error(error);
}

/* receive - the rest of it; STATUS_OK also when it broke off, which fetch_file_finish tells */
static int receive(struct fetch *f, const struct fetch_source *source, struct fetch_file *file,
                   struct edl_error *error)
{
    _cleanup_free_ char *base = source_path(f, source, "file");
    _cleanup_free_ char *encoded = text_url_segment(file->entry.path);
    _cleanup_free_ char *path = text_format("%s&path=%s&offset=%" PRIu64 "&bytes=%" PRIu64, base,
                                            encoded, file->bytes, file->entry.bytes - file->bytes);
    struct http_answer answer = { 0 };
    FILE *stream = fetch_file_stream(file);
    int r = 0;

    (void)setvbuf(stream, NULL, _IOFBF, 65536);
    (void)ask(f, path, stream, FILE_STALL_US, &answer);
    (void)fclose(stream);
    if (file->failure != 0)
        r = edl_error_errno(error, file->failure, "cannot write %s", file->part);
    else
        r = http_answer_error(&answer, error);
    if (r < 0 && file->failure == 0 && answer.failure != 0)
        (void)edl_error_remedy(error, "%s is kept; the same command goes on", file->part);
    http_answer_clear(&answer);
    return r;
}

/* complete_sum - the file's checksum, which its node computes now. 1: it has changed since it was
 * listed, and what was fetched of it is of no use */
static int complete_sum(struct fetch *f, const struct fetch_source *source, struct fetch_file *file,
                        struct edl_error *error)
{
    struct file_entry now = file->entry;
    int r;

    if (file->entry.sha256[0] != '\0')
        return 0;
    r = relist(f, source, &now, error);
    if (r < 0)
        return r;
    r = now.bytes != file->entry.bytes;
    file->entry = now;
    return r;
}

/* complete - until it is whole. A part of an earlier try may be of a file that has changed since.
 */
static int complete(struct fetch *f, const struct fetch_source *source, struct fetch_file *file,
                    struct edl_error *error)
{
    int r = 0;

    for (int i = 0; i < TRIES; i++) {
        if (!fetch_file_is_whole(file))
            r = receive(f, source, file, error);
        if (r == 0 && fetch_file_is_whole(file))
            r = complete_sum(f, source, file, error);
        if (r == 0)
            r = fetch_file_finish(file, error);
        if (r <= 0 && r != -EBADMSG)
            return r;
        if (r == -EBADMSG)
            r = relist(f, source, &file->entry, error);
        if (r >= 0)
            r = fetch_file_restart(file, error);
        if (r < 0)
            return r;
    }
    (void)edl_error_set(error, -EBADMSG, "it changes faster than it can be fetched");
    return edl_error_remedy(error, "fetch it when the job has ended");
}

static void fetch_one(struct fetch *f, const struct fetch_source *source,
                      const struct file_entry *entry)
{
    struct edl_error error = { 0 };
    struct file_entry wanted = *entry;
    struct fetch_file file;
    int r = 0;

    f->name = entry->path;
    if (wanted.sha256[0] == '\0' && fetch_file_is_alike(f->target.root_fd, source->folder, entry))
        r = relist(f, source, &wanted, &error);
    if (r == 0)
        r = fetch_file_open(&f->target, source->folder, &wanted, &file, &error);
    if (r < 0) {
        f->status = report_file(f, source, entry, &error);
        f->files_failed++;
        tell(f, source, entry, "failed");
        return;
    }
    file.on_bytes = on_bytes;
    file.userdata = f;
    f->bytes_done += file.there ? entry->bytes : file.bytes;
    show_progress(f);
    if (file.there) {
        f->files_there++;
        tell(f, source, &file.entry, "there");
    } else if (complete(f, source, &file, &error) < 0) {
        f->status = report_file(f, source, entry, &error);
        f->files_failed++;
        tell(f, source, entry, "failed");
    } else {
        f->files_done++;
        tell(f, source, &file.entry, "fetched");
    }
    fetch_file_close(&file);
}

/* make_links - after the files: none lies in the way of a folder */
static void make_links(struct fetch *f, const struct fetch_source *source)
{
    const char *path, *leads_to;
    size_t i;
    json_t *link;

    json_array_foreach(source->links, i, link)
    {
        struct edl_error error = { 0 };
        int r;

        if (!link_of(link, &path, &leads_to))
            continue;
        r = fetch_link_make(&f->target, source->folder, path, leads_to, &error);
        tell_link(f, source, path, leads_to, r < 0 ? "failed" : r == 0 ? "fetched" : "there");
        f->links_done += r == 0;
        if (r >= 0)
            continue;
        f->files_failed++;
        edl_error_prefix(&error, "%.150s%.150s: ", source->folder, path);
        f->status = report_error(&error);
    }
}

/* open_root - a folder that is named is meant; one with the job's name may be its source */
static int open_root(struct fetch *f, struct edl_error *error)
{
    bool any = f->wish->named || f->wish->replace;

    f->target.replace = f->wish->replace;
    f->target.root_fd = fetch_folder_open(f->root, any, error);
    return f->target.root_fd < 0 ? f->target.root_fd
                                 : fetch_record_open(f->target.root_fd, &f->target.record, error);
}

/* ---- what was done ---- */

/* shown_path - below the folder that all goes into; new string */
static char *shown_path(const struct fetch *f, const struct fetch_source *source, const char *path)
{
    return text_format("%s%s%s%s", f->member != NULL ? f->member : "", f->member != NULL ? "/" : "",
                       source->folder, path);
}

static void list_links(struct fetch *f, const struct fetch_source *source)
{
    const char *path, *target;
    size_t i;
    json_t *link;

    json_array_foreach(source->links, i, link)
    {
        _cleanup_free_ char *shown = NULL;
        _cleanup_free_ char *text = NULL;

        if (!link_of(link, &path, &target))
            continue;
        tell_link(f, source, path, target, "listed");
        shown = shown_path(f, source, path);
        text = text_format("%12s  %-20s  %s -> %s", "link", "", shown, target);
        if (f->wish->json)
            continue;
        printable_write(stdout, text, strlen(text), "");
        (void)putchar('\n');
    }
}

static void list_one(struct fetch *f, const struct fetch_source *source,
                     const struct file_entry *entry)
{
    _cleanup_free_ char *path = shown_path(f, source, entry->path);
    char when[40];

    tell(f, source, entry, "listed");
    if (f->wish->json)
        return;
    (void)printf("%12" PRIu64 "  %s  ", entry->bytes,
                 text_time(entry->mtime_us, when, sizeof when));
    printable_write(stdout, path, strlen(path), "");
    (void)putchar('\n');
}

static void sum_up(struct fetch *f)
{
    char bytes[16];

    clear_progress(f);
    if (f->wish->json) {
        json_t *answer =
            json_pack("{s:O,s:I,s:I,s:I}", "files", f->told, "fetched", (json_int_t)f->files_done,
                      "there", (json_int_t)f->files_there, "failed", (json_int_t)f->files_failed);

        if (!f->wish->list)
            (void)json_object_set_new(answer, "folder", json_string(f->root));
        if (f->member != NULL)
            (void)json_object_set_new(answer, "job", json_string(f->member));
        if (f->answers != NULL)
            (void)json_array_append(f->answers, answer);
        else
            json_print(answer);
        json_decref(answer);
        return;
    }
    if (f->wish->list)
        return;
    (void)printf("%s: %" PRIu64 " file%s fetched (%s in all)", f->root, f->files_done,
                 PLURAL(f->files_done), text_bytes(f->bytes, bytes, sizeof bytes));
    if (f->files_there > 0)
        (void)printf(", %" PRIu64 " %s there", f->files_there,
                     f->files_there == 1 ? "was" : "were");
    if (f->links_done > 0)
        (void)printf(", %" PRIu64 " link%s made", f->links_done, PLURAL(f->links_done));
    if (f->files_failed > 0)
        (void)printf(", %" PRIu64 " not", f->files_failed);
    (void)putchar('\n');
}

/* refuse_nothing - no file; a failure that was told before is enough */
static int refuse_nothing(const struct fetch *f)
{
    struct edl_error error = { 0 };

    if (f->status != STATUS_OK)
        return f->status;
    if (f->member != NULL) { /* others of the array may have some */
        report_note("%s: there is no such file", f->member);
        return STATUS_OK;
    }
    if (f->gone > 0) {
        (void)edl_error_set(&error, -ENOENT, "there is no file of job %.80s on its nodes any more",
                            f->job);
        (void)edl_error_remedy(&error, "keep-outputs and outputs-max in /etc/edl/agent.conf say how"
                                       " long they stay");
    } else if (streq(f->pattern, "*")) {
        (void)edl_error_set(&error, -ENOENT, "job %.80s has no files on its nodes", f->job);
        (void)edl_error_remedy(&error, "`edl show %.80s` tells how far it is", f->job);
    } else if (f->pattern[0] != '\0') {
        (void)edl_error_set(&error, -ENOENT, "no file of job %.80s matches \"%.150s\"", f->job,
                            f->pattern);
        (void)edl_error_remedy(&error, "`edl fetch --list %.80s '*'` lists all of them", f->job);
    } else {
        (void)edl_error_set(&error, -ENOENT, "job %.80s has left no files", f->job);
        (void)edl_error_remedy(&error, "`edl fetch --list %.80s '*'` lists those that it was given",
                               f->job);
    }
    return report_error(&error);
}

static int work(struct fetch *f)
{
    struct edl_error error = { 0 };

    list_all(f);
    if (f->files + f->links_there == 0)
        return refuse_nothing(f);
    if (f->wish->list) {
        each(f, list_one);
    } else {
        if (open_root(f, &error) < 0)
            return report_error(&error);
        each(f, fetch_one);
    }
    for (size_t i = 0; i < f->plan.n_sources; i++)
        (f->wish->list ? list_links : make_links)(f, &f->plan.sources[i]);
    sum_up(f);
    return f->status;
}

int fetch_job(const struct fetch_wish *wish, const char *job, const char *root, const char *member,
              json_t *answers, uint64_t *ret_found)
{
    struct fetch f = { .server = wish->server,
                       .wish = wish,
                       .job = job,
                       .pattern = wish->pattern,
                       .member = member,
                       .root = root,
                       .target = { .root_fd = -1 },
                       .told = json_array(),
                       .answers = answers,
                       .terminal = isatty(STDERR_FILENO) == 1 && !wish->json };
    _cleanup_free_ char *job_url = job_path(job, "");
    _cleanup_free_ char *processes_url = job_path(job, "/processes?state=all");
    _cleanup_json_ json_t *shown = NULL, *processes = NULL;
    struct edl_error error = { 0 };
    int status = server_get(f.server, &shown, "%s", job_url);

    if (status == STATUS_OK)
        status = server_get(f.server, &processes, "%s", processes_url);
    if (status == STATUS_OK) {
        fetch_plan_make(shown, json_object_get(processes, "processes"), wish->role, wish->index,
                        &f.plan);
        status = fetch_plan_check(&f.plan, shown, wish->role, wish->index, &error) < 0
                     ? report_error(&error)
                     : work(&f);
    }
    *ret_found += f.files + f.links_there;
    fetch_plan_clear(&f.plan);
    json_decref(f.told);
    f.target.record = fetch_record_close(f.target.record);
    (void)safe_close(f.target.root_fd);
    return status;
}
