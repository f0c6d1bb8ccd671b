/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_dataset.c - `edl dataset prepare`: a text cut by lines into numbered parts, one a trainer */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "client/json_read.h"
#include "client/numbered_files.h"
#include "client/report.h"
#include "client/stop_signals.h"
#include "client/text.h"
#include "client/verb.h"
#include "client/work_told.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/line_reader.h"
#include "shared/macro.h"
#include "shared/whole_file.h"

#define PARTS_MAX 100000

struct dataset_options {
    struct common_options common;
    const char *out;
    uint64_t split;
};

#define AT(member) OPTION_FIELD(struct dataset_options, member)

static const struct option_row dataset_options[] = {
    { "split", "N", "parts, one for each trainer", option_positive, AT(split) },
    { "out", "DIR", "folder of the parts; made where it is missing", option_text, AT(out),
      .letter = 'o' },
};

/* One text that becomes parts. */
struct cut {
    const char *path;
    char *prefix;        /* owned: DIR/NAME */
    struct stat counted; /* what the file was like when its lines were counted */
    uint64_t n_lines, n_parts, n_made;
    struct work_told told;
};

/* open_text - a regular file, as it is read twice */
static int open_text(const char *path, int *ret_fd, struct stat *ret, struct edl_error *error)
{
    struct stat st;

    *ret_fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*ret_fd < 0 || fstat(*ret_fd, &st) < 0)
        return edl_error_errno(error, -errno, "cannot open %s", path);
    *ret = st;
    if (S_ISREG(st.st_mode))
        return 0;
    (void)edl_error_set(error, -EINVAL, "%s is %s", path,
                        S_ISDIR(st.st_mode) ? "a folder" : "not a regular file");
    return edl_error_remedy(error, "name a text file");
}

static int next_line(struct line_reader *reader, struct cut *cut, const uint8_t **ret_line,
                     size_t *ret_size, struct edl_error *error)
{
    int got = stop_signals_check(error);

    if (got < 0)
        return got;
    got = line_reader_next(reader, ret_line, ret_size);
    if (got < 0)
        return edl_error_errno(error, got, "cannot read the line at byte %" PRIu64 " of %s",
                               reader->offset_bytes, cut->path);
    if (work_told_due(&cut->told))
        report_note("%s: %" PRIu64 " bytes read, %" PRIu64 " of %" PRIu64 " part%s made", cut->path,
                    reader->offset_bytes, cut->n_made, cut->n_parts, PLURAL(cut->n_parts));
    return got;
}

static int count_lines(struct cut *cut, struct edl_error *error)
{
    _cleanup_close_ int fd = -1;
    struct line_reader reader;
    const uint8_t *line;
    size_t size;
    int r = open_text(cut->path, &fd, &cut->counted, error);

    if (r < 0)
        return r;
    line_reader_init(&reader, fd);
    while ((r = next_line(&reader, cut, &line, &size, error)) > 0)
        cut->n_lines++;
    line_reader_clear(&reader);
    return r;
}

static int finish_part(FILE *take_file, const char *partial, const char *path,
                       struct edl_error *error)
{
    int r = 0;

    if (fflush(take_file) != 0 || fsync(fileno(take_file)) < 0)
        r = edl_error_errno(error, -errno, "cannot write %s", path);
    if (fclose(take_file) != 0 && r == 0)
        r = edl_error_errno(error, -errno, "cannot write %s", path);
    if (r == 0 && rename(partial, path) < 0)
        r = edl_error_errno(error, -errno, "cannot rename %s to %s", partial, path);
    return r == 0 ? name_sync(path, error) : r;
}

static int has_changed(const struct cut *cut, struct edl_error *error)
{
    (void)edl_error_set(error, EDL_ECHANGED, "%s has changed meanwhile", cut->path);
    return edl_error_remedy(error, "call again when it is complete");
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static int copy_lines(struct cut *cut, struct line_reader *reader, uint64_t n, FILE *out,
                      const char *path, struct edl_error *error)
{
    for (uint64_t i = 0; i < n; i++) {
        const uint8_t *line = NULL;
        size_t size = 0;
        int r = next_line(reader, cut, &line, &size, error);

        if (r < 0)
            return r;
        if (r == 0)
            return has_changed(cut, error);
        if (fwrite(line, 1, size, out) != size || fputc('\n', out) == EOF)
            return edl_error_errno(error, -errno, "cannot write %s", path);
    }
    return 0;
}

/* make_part - n lines under the next number; ".NAME.PID.partial" until it is whole */
static int make_part(struct cut *cut, struct line_reader *reader, uint64_t n,
                     struct edl_error *error)
{
    _cleanup_free_ char *path = numbered_path(cut->prefix, cut->n_made);
    const char *base = strrchr(path, '/') + 1;
    _cleanup_free_ char *partial =
        text_format("%.*s.%s.%d.partial", (int)(base - path), path, base, (int)getpid());
    FILE *out = fopen(partial, "we");
    int r;

    if (out == NULL)
        return edl_error_errno(error, -errno, "cannot create %s", partial);
    r = copy_lines(cut, reader, n, out, path, error);
    if (r < 0)
        (void)fclose(out);
    else
        r = finish_part(out, partial, path, error);
    if (r < 0)
        (void)unlink(partial);
    else
        cut->n_made++;
    return r;
}

static int make_parts(struct cut *cut, struct edl_error *error)
{
    _cleanup_close_ int fd = -1;
    struct line_reader reader;
    struct stat now = { 0 };
    uint64_t done = 0;
    int r = open_text(cut->path, &fd, &now, error);

    if (r < 0)
        return r;
    line_reader_init(&reader, fd);
    for (uint64_t i = 0; r == 0 && i < cut->n_parts; i++) {
        uint64_t end = (uint64_t)((unsigned __int128)cut->n_lines * (i + 1) / cut->n_parts);

        r = make_part(cut, &reader, end - done, error);
        done = end;
    }
    line_reader_clear(&reader);
    if (r == 0 && (fstat(fd, &now) < 0 || !same_file(&cut->counted, &now)))
        r = has_changed(cut, error); /* lines that came behind the counted ones are in no part */
    return r;
}

/* name_parts - their prefixes; -EINVAL: two files would have parts of the same names */
static int name_parts(struct cut *cuts, size_t n, const struct dataset_options *o,
                      struct edl_error *error)
{
    for (size_t i = 0; i < n; i++) {
        const char *slash = strrchr(cuts[i].path, '/');

        cuts[i].prefix = text_format("%s/%s", o->out, slash != NULL ? slash + 1 : cuts[i].path);
        for (size_t j = 0; j < i; j++)
            if (streq(cuts[i].prefix, cuts[j].prefix)) {
                (void)edl_error_set(error, -EINVAL, "the parts of %s and %s have the same names",
                                    cuts[j].path, cuts[i].path);
                return edl_error_remedy(error, "a call for each, with another --out");
            }
    }
    return 0;
}

static int prepare(struct cut *cut, struct edl_error *error)
{
    int r = count_lines(cut, error);

    if (r == 0 && cut->n_lines < cut->n_parts) {
        (void)edl_error_set(error, -EINVAL,
                            "%s has %" PRIu64 " line%s, fewer than %" PRIu64 " parts", cut->path,
                            cut->n_lines, PLURAL(cut->n_lines), cut->n_parts);
        (void)edl_error_remedy(error, "--split %" PRIu64 " at most", cut->n_lines);
        return -EINVAL;
    }
    if (r == 0)
        r = numbered_begin(cut->prefix, error);
    return r == 0 ? make_parts(cut, error) : r;
}

static int prepare_all(struct cut *cuts, size_t n, const struct dataset_options *o,
                       struct edl_error *error)
{
    int r = name_parts(cuts, n, o, error);

    for (size_t i = 0; r == 0 && i < n; i++)
        r = prepare(&cuts[i], error);
    if (r == 0)
        r = stop_signals_check(error);
    for (size_t i = 0; r < 0 && i < n; i++)
        if (cuts[i].prefix != NULL)
            numbered_remove(cuts[i].prefix, cuts[i].n_made);
    return r;
}

static int check(const struct option_words *arguments, const struct dataset_options *o,
                 struct edl_error *error)
{
    int r = 0;

    if (!streq(arguments->args[0], "prepare"))
        r = edl_error_set(error, -EINVAL, "dataset: there is no action \"%s\"", arguments->args[0]);
    else if (o->split == 0 || o->out == NULL || o->out[0] == '\0')
        r = edl_error_set(error, -EINVAL, "dataset prepare: %s is missing",
                          o->split == 0 ? "--split N" : "--out DIR");
    else if (o->split > PARTS_MAX)
        r = edl_error_set(error, -EINVAL, "--split %" PRIu64 " is more than %d", o->split,
                          PARTS_MAX);
    if (r < 0)
        (void)edl_error_remedy(error, "edl dataset prepare FILE --split 3 --out DIR");
    return r;
}

static void tell(const struct cut *cuts, size_t n, const struct dataset_options *o)
{
    _cleanup_json_ json_t *files = json_array();

    for (size_t i = 0; i < n; i++) {
        if (o->common.json)
            (void)json_array_append_new(files,
                                        json_pack("{s:s, s:I, s:I}", "prefix", cuts[i].prefix,
                                                  "parts", (json_int_t)cuts[i].n_made, "lines",
                                                  (json_int_t)cuts[i].n_lines));
        else
            (void)printf("%s: %" PRIu64 " line%s in %" PRIu64 " part%s: %s-00000 ...\n",
                         cuts[i].path, cuts[i].n_lines, PLURAL(cuts[i].n_lines), cuts[i].n_made,
                         PLURAL(cuts[i].n_made), cuts[i].prefix);
    }
    if (o->common.json) {
        _cleanup_json_ json_t *all = json_pack("{s:O}", "files", files);

        json_print(all);
    }
}

static int run(const struct invocation *invocation)
{
    const struct dataset_options *o = invocation->options;
    const struct option_words *arguments = &invocation->arguments;
    const size_t n = arguments->n_args - 1;
    _cleanup_free_ struct cut *cuts = xcalloc(n, sizeof *cuts);
    struct edl_error error = { 0 };
    int r = check(arguments, o, &error), status;

    for (size_t i = 0; i < n; i++)
        cuts[i] = (struct cut){ .path = arguments->args[i + 1],
                                .n_parts = o->split,
                                .told = { .quiet = o->common.json } };
    stop_signals_catch();
    if (r == 0)
        r = prepare_all(cuts, n, o, &error);
    if (r == 0)
        tell(cuts, n, o);
    status = r < 0 ? report_error(&error) : STATUS_OK;
    stop_signals_end();
    for (size_t i = 0; i < n; i++)
        free(cuts[i].prefix);
    return status;
}

const struct verb verb_dataset = {
    .name = "dataset",
    .usage = "prepare FILE... --split N --out DIR",
    .summary = "Cut a text by lines into numbered parts, one for each trainer",
    .details =
        "Each FILE becomes DIR/FILE-00000, DIR/FILE-00001 and so on, N of them, whose lines\n"
        "differ by one at most. Trainer i of N reads part i; of T trainers each reads the parts\n"
        "whose number modulo T is its own: PADDLE_INIT_TRAINER_ID and PADDLE_INIT_TRAINER_COUNT\n"
        "tell both. Parts appear whole; a call that fails or is ended removes all of its parts.\n"
        "A job that grows and shrinks takes its records from edl.cloud_reader, or edl_records_next "
        "of libedl.",
    VERB_OPTIONS(dataset_options, struct dataset_options),
    .min_args = 2,
    .max_args = SIZE_MAX,
    .local = true,
    .run = run,
};
