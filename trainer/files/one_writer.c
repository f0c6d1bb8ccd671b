/* SPDX-License-Identifier: Apache-2.0 */
/* one_writer.c - one process at a time writes to a place; a second one is told the first one's name
 */
#include "trainer/files/one_writer.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/write_all.h"
#include "trainer/files/file_write.h"

#define TEXT_MAX 4096
#define NAME_SIZE 200
#define TRIES 20

/* What the file of a writer says. */
struct holder {
    struct writer_name who;
    char name[NAME_SIZE]; /* for people; "": it does not say */
};

void writer_name_of_environment(struct writer_name *ret)
{
    const char *id = getenv("EDL_JOB_ID"), *name = getenv("EDL_JOB"), *role = getenv("EDL_ROLE"),
               *index = getenv("EDL_INDEX"), *incarnation = getenv("EDL_INCARNATION");

    *ret = (struct writer_name){ 0 };
    if (id == NULL || name == NULL || role == NULL || index == NULL || incarnation == NULL)
        return;
    (void)snprintf(ret->job, sizeof ret->job, "%.20s %.43s", id, name);
    (void)snprintf(ret->place, sizeof ret->place, "%.60s %.16s", role, index);
    ret->incarnation = strtoull(incarnation, NULL, 10);
}

/* ---- the file ---- */

static void copy_text(const json_t *text, char *ret, size_t size)
{
    const char *found = json_string_value(text);

    (void)snprintf(ret, size, "%s", found != NULL ? found : "");
    for (char *c = ret; *c != '\0'; c++)
        if (!isprint((unsigned char)*c))
            *c = '?';
}

/* read_holder - what somebody may have written who is not trusted; empty when it is none */
static void read_holder(int fd, struct holder *ret)
{
    char text[TEXT_MAX];
    ssize_t n = pread(fd, text, sizeof text, 0);
    json_t *root = n > 0 ? json_loadb(text, (size_t)n, 0, NULL) : NULL;

    *ret = (struct holder){ 0 };
    copy_text(json_object_get(root, "job"), ret->who.job, sizeof ret->who.job);
    copy_text(json_object_get(root, "place"), ret->who.place, sizeof ret->who.place);
    copy_text(json_object_get(root, "name"), ret->name, sizeof ret->name);
    ret->who.incarnation =
        (uint64_t)MAX_OF(json_integer_value(json_object_get(root, "incarnation")), 0);
    json_decref(root);
}

static char *text_of(const struct writer_name *me)
{
    const char *job = getenv("EDL_JOB_ID");
    char name[NAME_SIZE], host[65] = "";
    json_t *root;
    char *text;

    (void)gethostname(host, sizeof host - 1);
    if (job != NULL && me->place[0] != '\0')
        (void)snprintf(name, sizeof name, "job %.16s, %s, process %ld (%s) on %s", job, me->place,
                       (long)getpid(), program_invocation_short_name, host);
    else
        (void)snprintf(name, sizeof name, "process %ld (%s) on %s", (long)getpid(),
                       program_invocation_short_name, host);
    root = json_pack("{s:s, s:s, s:i, s:I, s:s}", "job", me->job, "place", me->place, "generation",
                     0, "incarnation", (json_int_t)me->incarnation, "name", name);
    text = root != NULL ? json_dumps(root, JSON_COMPACT) : NULL;
    json_decref(root);
    return text != NULL ? text : xstrdup("{}");
}

static bool is_at(int fd, const char *path)
{
    struct stat open_one, named;

    return fstat(fd, &open_one) == 0 && stat(path, &named) == 0 &&
           open_one.st_dev == named.st_dev && open_one.st_ino == named.st_ino;
}

/* try_lock - -EBUSY: another process has it; where there are no locks nobody can have one */
static int try_lock(int fd, const char *path)
{
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return 0;
    if (errno == EWOULDBLOCK)
        return -EBUSY;
    log_warning("whether another process writes to the place of %s cannot be seen: %s", path,
                strerror(errno));
    return 0;
}

/* put - a file of this process's own into the place */
static int put(struct one_writer *writer, const struct writer_name *me)
{
    _cleanup_free_ char *text = text_of(me);
    char aside[PATH_MAX];
    _cleanup_close_ int fd = -1;
    struct stat st = { 0 };
    int r;

    if ((size_t)snprintf(aside, sizeof aside, "%s-%ld", writer->path, (long)getpid()) >=
        sizeof aside)
        return -ENAMETOOLONG;
    (void)unlink(aside); /* of an earlier process with the same number */
    fd = open(aside, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0)
        return -errno;
    r = write_all(fd, text, strlen(text));
    if (r >= 0)
        r = try_lock(fd, writer->path);
    if (r >= 0 && fstat(fd, &st) < 0)
        r = -errno;
    if (r >= 0 && rename(aside, writer->path) < 0)
        r = -errno;
    if (r < 0) {
        (void)unlink(aside);
        return r;
    }
    writer->fd = TAKE_FD(fd);
    writer->device = st.st_dev;
    writer->inode = st.st_ino;
    writer->held = true;
    return 0;
}

/* ---- who may write ---- */

static bool takes_over(const struct writer_name *me, const struct writer_name *holder)
{
    return me->job[0] != '\0' && streq(me->job, holder->job) && streq(me->place, holder->place) &&
           me->incarnation > holder->incarnation;
}

static int refuse(const char *path, const struct holder *holder, struct edl_error *error)
{
    _cleanup_free_ char *folder = file_parent(path);

    (void)edl_error_set(error, -EBUSY, "%.200s writes to %.500s, and one process at a time does",
                        holder->name[0] != '\0' ? holder->name : "another process", folder);
    return edl_error_remedy(error, "end it, or name another folder");
}

/* take - 1: another one was quicker, look again */
static int take(struct one_writer *writer, const struct writer_name *me, struct edl_error *error)
{
    _cleanup_close_ int fd = open(writer->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    struct holder holder;
    int r;

    if (fd < 0)
        return edl_error_errno(error, -errno, "cannot open %s", writer->path);
    r = try_lock(fd, writer->path);
    if (!is_at(fd, writer->path))
        return 1;
    if (r == -EBUSY) {
        read_holder(fd, &holder);
        if (!takes_over(me, &holder.who))
            return refuse(writer->path, &holder, error);
    }
    r = put(writer, me);
    return r < 0 ? edl_error_errno(error, r, "cannot write %s", writer->path) : 0;
}

bool one_writer_holds(const struct one_writer *writer)
{
    struct stat named;

    return writer->held && stat(writer->path, &named) == 0 && named.st_dev == writer->device &&
           named.st_ino == writer->inode;
}

static void let_go(struct one_writer *writer)
{
    if (writer->held)
        (void)safe_close(writer->fd);
    writer->held = false;
}

int one_writer_claim(struct one_writer *writer, const char *path, const struct writer_name *me,
                     struct edl_error *error)
{
    int r;

    if (one_writer_holds(writer))
        return 0;
    let_go(writer);
    if ((size_t)snprintf(writer->path, sizeof writer->path, "%s", path) >= sizeof writer->path)
        return edl_error_set(error, -ENAMETOOLONG, "path is too long: %s", path);
    r = file_make_parent(path, error);
    if (r < 0)
        return r;
    for (int i = 0; i < TRIES; i++) {
        r = take(writer, me, error);
        if (r <= 0)
            return r;
    }
    return edl_error_set(error, -EBUSY, "the writers of %s change all the time", path);
}

void one_writer_release(struct one_writer *writer)
{
    if (one_writer_holds(writer))
        (void)unlink(writer->path);
    let_go(writer);
}
