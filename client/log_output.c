/* SPDX-License-Identifier: Apache-2.0 */
/* log_output.c - see log_output.h */
#include "client/log_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/text_format.h"
#include "shared/write_all.h"

#define DUE_BYTES 65536

struct log_output {
    FILE *stream; /* into data; owned */
    char *data;   /* of open_memstream(3) */
    size_t size;
    int fd;
    char *path, *part; /* owned; part NULL: it is written in place */
    bool is_regular;
    off_t written; /* of a regular file */
    int failure;   /* -errno */
};

/* open_file - in place: what it was before goes with the first line */
static int open_file(struct log_output *output, bool grows, struct edl_error *error)
{
    struct stat st;
    bool is_special = stat(output->path, &st) == 0 && !S_ISREG(st.st_mode);
    const char *path = output->path;

    if (!grows && !is_special)
        path = output->part = text_format("%s.part", output->path);
    output->fd = open(path,
                      O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY |
                          (output->part != NULL ? O_TRUNC | O_NOFOLLOW : 0),
                      0666);
    if (output->fd == -1)
        return edl_error_errno(error, -errno, "cannot write %s", path);
    output->is_regular = !is_special;
    return 0;
}

int log_output_open(const char *path, bool grows, struct log_output **ret, struct edl_error *error)
{
    struct log_output *output = xcalloc(1, sizeof *output);
    int r = 0;

    output->fd = STDOUT_FILENO;
    output->path = xstrdup(path != NULL ? path : "standard output");
    if (path != NULL)
        r = open_file(output, grows, error);
    output->stream = open_memstream(&output->data, &output->size);
    if (output->stream == NULL)
        abort();
    if (r < 0) {
        (void)log_output_close(output, false, NULL);
        return r;
    }
    *ret = output;
    return 0;
}

FILE *log_output_stream(const struct log_output *output)
{
    return output->stream;
}

bool log_output_is_due(const struct log_output *output)
{
    return ftello(output->stream) >= DUE_BYTES;
}

/* fail - a file ends with the last line that it has whole */
static void fail(struct log_output *output, int r)
{
    off_t at = output->written;
    char byte = '\n';
    struct stat st;

    output->failure = r;
    if (!output->is_regular || fstat(output->fd, &st) == -1)
        return;
    for (off_t end = st.st_size; end > at; end--) {
        _cleanup_close_ int fd = open(output->part != NULL ? output->part : output->path,
                                      O_RDONLY | O_CLOEXEC | O_NOCTTY);

        if (fd == -1 || pread(fd, &byte, 1, end - 1) != 1)
            break;
        if (byte == '\n') {
            at = end;
            break;
        }
    }
    (void)!ftruncate(output->fd, at);
}

int log_output_flush(struct log_output *output, struct edl_error *error)
{
    int r;

    (void)fflush(output->stream);
    if (output->failure == 0 && output->size > 0) {
        if (output->is_regular && output->written == 0 && output->part == NULL)
            (void)!ftruncate(output->fd, 0);
        r = write_all(output->fd, output->data, output->size);
        if (r < 0)
            fail(output, r);
        else
            output->written += (off_t)output->size;
    }
    (void)fseeko(output->stream, 0, SEEK_SET);
    if (output->failure == 0)
        return 0;
    return edl_error_errno(error, output->failure, "cannot write %s", output->path);
}

/* finish - on the disk, under its name */
static int finish(struct log_output *output, struct edl_error *error)
{
    int r = log_output_flush(output, error);

    if (r < 0 || !output->is_regular)
        return r;
    if (output->written == 0 && output->part == NULL && ftruncate(output->fd, 0) == -1)
        return edl_error_errno(error, -errno, "cannot write %s", output->path);
    if (fsync(output->fd) == -1 ||
        (output->part != NULL && rename(output->part, output->path) == -1))
        return edl_error_errno(error, -errno, "cannot write %s", output->path);
    output->part = (free(output->part), NULL);
    return 0;
}

int log_output_close(struct log_output *output, bool done, struct edl_error *error)
{
    int r = 0;

    if (output == NULL)
        return 0;
    if (done)
        r = finish(output, error);
    else if (output->part == NULL)
        r = log_output_flush(output, error);
    if (output->part != NULL)
        (void)unlink(output->part);
    if (output->fd != STDOUT_FILENO)
        (void)safe_close(output->fd);
    (void)fclose(output->stream);
    free(output->data);
    free(output->part);
    free(output->path);
    free(output);
    return r;
}
