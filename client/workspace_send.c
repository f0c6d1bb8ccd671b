/* SPDX-License-Identifier: Apache-2.0 */
/* workspace_send.c - a folder of this machine as a workspace that every node can fetch
 *
 * The archive is a file without a name, which edl-workspace inherits: nothing is left of it however
 * this ends. */
#include "client/workspace_send.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client/report.h"
#include "client/server.h"
#include "client/text.h"
#include "client/verb.h"
#include "client/workspace_program.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"

#define SEND_TIMEOUT_US (24 * 3600 * USEC_PER_SEC)
#define STALL_TIMEOUT_US (60 * USEC_PER_SEC)
#define SHOWN_FROM_BYTES (UINT64_C(32) << 20) /* less has gone before anybody looks */
#define SHOWN_EVERY_US (200 * USEC_PER_MSEC)

struct shown {
    uint64_t all_bytes, at_us;
};

static int open_archive(FILE **ret, struct edl_error *error)
{
    const char *folder = getenv("TMPDIR");
    _cleanup_free_ char *path =
        text_format("%s/edl-workspace-XXXXXX", folder != NULL && *folder != '\0' ? folder : "/tmp");
    _cleanup_close_ int fd = mkostemp(path, O_CLOEXEC);

    if (fd != -1 && unlink(path) == 0)
        *ret = fdopen(fd, "r+");
    if (*ret == NULL)
        return edl_error_errno(error, -errno, "making the temporary file %s", path);
    (void)TAKE_FD(fd);
    return 0;
}

/* read_told - the one line that edl-workspace prints; false: it is none of its own */
static bool read_told(FILE *told, struct workspace_sent *ret)
{
    char line[256] = "", hex[WORKSPACE_HEX + 1] = "";
    int n;

    if (fgets(line, sizeof line, told) == NULL)
        return false;
    n = sscanf(line, "%64s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, hex,
               &ret->archive_bytes, &ret->files, &ret->bytes, &ret->left_out_files,
               &ret->left_out_bytes);
    if (n != 6 || !workspace_hex_valid(hex))
        return false;
    (void)snprintf(ret->name, sizeof ret->name, "%s%s", WORKSPACE_PREFIX, hex);
    return true;
}

/* pack - 0; 1: edl-workspace has said what is wrong */
static int pack(const char *folder, const char *const wanted[WORKSPACE_WANTED_MAX], bool asked,
                FILE *archive, struct workspace_sent *ret, struct edl_error *error)
{
    _cleanup_free_ char *bytes = text_format("%" PRIu64, WORKSPACE_UNASKED_BYTES_MAX);
    _cleanup_free_ char *entries = text_format("%d", WORKSPACE_UNASKED_ENTRIES_MAX);
    const char *argv[] = { "edl-workspace",   "pack-within", bytes,     entries, folder,
                           "/proc/self/fd/3", wanted[0],     wanted[1], NULL };
    struct workspace_program program;
    bool good;
    int r;

    if (asked) { /* "pack", and no bounds */
        argv[3] = "pack";
        argv[2] = argv[0];
    }
    r = workspace_program_start(asked ? argv + 2 : argv, fileno(archive), &program, error);

    if (r < 0)
        return r;
    good = read_told(program.told, ret);
    r = workspace_program_end(&program, error);
    if (r == 0 && !good)
        return edl_error_set(error, -EIO, "edl-workspace does not tell what it packed");
    return r;
}

/* show_sent - on a terminal, how much of a large archive has gone; the line is gone when all has */
static void show_sent(void *userdata, uint64_t sent_bytes)
{
    struct shown *shown = userdata;
    uint64_t now_us = clock_read_us(CLOCK_MONOTONIC);
    char sent[32], all[32];

    if (sent_bytes >= shown->all_bytes) {
        (void)fputs("\r\033[K", stderr);
        return;
    }
    if (now_us - shown->at_us < SHOWN_EVERY_US)
        return;
    shown->at_us = now_us;
    (void)fprintf(stderr, "\rsending: %sB of %sB\033[K", text_bytes(sent_bytes, sent, sizeof sent),
                  text_bytes(shown->all_bytes, all, sizeof all));
}

static int put(struct server *server, FILE *archive, const struct workspace_sent *sent)
{
    _cleanup_free_ char *path = text_format("/workspaces/%s", workspace_hash(sent->name));
    struct shown shown = { .all_bytes = sent->archive_bytes };
    bool show = sent->archive_bytes >= SHOWN_FROM_BYTES && isatty(STDERR_FILENO) == 1;
    struct http_call call = { .method = "PUT",
                              .path = path,
                              .content_type = "application/octet-stream",
                              .headers = { "Expect: 100-continue" }, /* it may be there */
                              .send = archive,
                              .on_sent = show ? show_sent : NULL,
                              .sent_userdata = &shown,
                              .timeout_us = SEND_TIMEOUT_US,
                              .stall_timeout_us = STALL_TIMEOUT_US };
    struct http_answer answer = { 0 };
    int status = server_call(server, &call, &answer);

    if (status != STATUS_OK)
        status = report_answer(&answer);
    http_answer_clear(&answer);
    return status;
}

static int send_folder(struct server *server, const char *folder,
                       const char *const wanted[WORKSPACE_WANTED_MAX], bool asked,
                       struct workspace_sent *ret)
{
    _cleanup_free_ char *path = workspace_folder(folder);
    _cleanup_fclose_ FILE *archive = NULL;
    struct edl_error error = { 0 };
    int r = open_archive(&archive, &error);

    if (r == 0)
        r = pack(path, wanted, asked, archive, ret, &error);
    if (r < 0)
        return report_error(&error);
    return r > 0 ? STATUS_FAILED : put(server, archive, ret);
}

int workspace_send_all(struct server *server, const char *folder,
                       const char *const wanted[WORKSPACE_WANTED_MAX], struct workspace_sent *ret)
{
    return send_folder(server, folder, wanted, true, ret);
}

int workspace_send_unasked(struct server *server, const char *folder,
                           const char *const wanted[WORKSPACE_WANTED_MAX],
                           struct workspace_sent *ret)
{
    return send_folder(server, folder, wanted, false, ret);
}

int workspace_send(struct server *server, const char *folder, char ret[WORKSPACE_NAME_MAX + 1])
{
    const char *const none[WORKSPACE_WANTED_MAX] = { NULL };
    struct workspace_sent sent = { 0 };
    int status = workspace_send_all(server, folder, none, &sent);

    if (status == STATUS_OK)
        (void)memcpy(ret, sent.name, sizeof sent.name);
    return status;
}
