/* SPDX-License-Identifier: Apache-2.0 */
/* test_workspaces.c - archives in the state directory: whole or not there, bounded, removed in time
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <systemd/sd-event.h>

#include "scheduler/workspaces/workspaces.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" /* "abc" */
#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define NOW (1700000000 * USEC_PER_SEC)

struct fixture {
    char path[64];
    sd_event *event;
    unsigned n_ready, n_stored;
    struct workspace *workspace; /* that was stored last; NULL: it failed with error */
    struct workspaces workspaces;
    struct edl_error error;
};

static void open_them(struct fixture *f, uint64_t max_bytes)
{
    const struct workspace_limits limits = { .max_bytes = max_bytes };

    assert_int_equal(workspaces_open(f->event, f->path, &limits, &f->workspaces, NULL), 0);
}

static size_t count_files(const struct fixture *f)
{
    _cleanup_closedir_ DIR *folder = opendir(f->path);
    size_t n = 0;

    assert_non_null(folder);
    while (readdir(folder) != NULL)
        n++;
    return n - 2;
}

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);

    (void)snprintf(f->path, sizeof f->path, "/tmp/edl-test-workspaces-XXXXXX");
    assert_non_null(mkdtemp(f->path));
    assert_true(sd_event_new(&f->event) >= 0);
    open_them(f, 100);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    struct workspace *workspace;

    for (workspace = f->workspaces.all; workspace != NULL; workspace = workspace->hh.next)
        workspace->needed = false;
    (void)workspaces_sweep(&f->workspaces, NULL, UINT64_MAX);
    workspaces_close(&f->workspaces);
    assert_int_equal(rmdir(f->path), 0); /* nothing is left of it */
    (void)sd_event_unref(f->event);
    free(f);
    return 0;
}

TEST_EACH(setup, teardown);

static void on_ready(void *userdata)
{
    struct fixture *f = userdata;

    f->n_ready++;
}

static void on_stored(struct workspace *workspace, const struct edl_error *error, void *userdata)
{
    struct fixture *f = userdata;

    f->workspace = workspace;
    f->error = *error;
    f->n_stored++;
}

static void await(struct fixture *f, const unsigned *n, unsigned wanted)
{
    while (*n < wanted)
        assert_true(sd_event_run(f->event, 120 * USEC_PER_SEC) > 0);
}

static int new_upload(struct fixture *f, const char *sha256, uint64_t bytes,
                      struct workspace_upload **ret)
{
    return workspace_upload_new(&f->workspaces, sha256, "ann", "ann", bytes, on_ready, f, ret,
                                &f->error);
}

/* Adds a piece, and waits when it is to be waited for. */
static int add(struct fixture *f, struct workspace_upload *upload, const void *data, size_t size)
{
    unsigned wanted = f->n_ready + 1;
    int r = workspace_upload_add(upload, data, size, &f->error);

    if (r == 1)
        await(f, &f->n_ready, wanted);
    return MIN_OF(r, 0);
}

static struct workspace *finish(struct fixture *f, struct workspace_upload *upload,
                                uint64_t wall_us)
{
    unsigned wanted = f->n_stored + 1;

    assert_int_equal(workspace_upload_finish(upload, wall_us, on_stored, f, &f->error), 0);
    await(f, &f->n_stored, wanted);
    return f->workspace;
}

static struct workspace_upload *begin(struct fixture *f, const char *sha256)
{
    struct workspace_upload *upload = NULL;

    assert_int_equal(new_upload(f, sha256, 0, &upload), 0);
    return upload;
}

static struct workspace *send_abc(struct fixture *f)
{
    struct workspace_upload *upload = begin(f, ABC);
    struct workspace *workspace;

    assert_int_equal(add(f, upload, "a", 1), 0);
    assert_int_equal(add(f, upload, "bc", 2), 0);
    assert_null(workspaces_find(&f->workspaces, ABC)); /* not before it is whole */
    workspace = finish(f, upload, NOW);
    (void)workspace_upload_free(upload);
    return workspace;
}

TEST(it_is_there_when_it_is_whole)
{
    struct fixture *f = *state;
    struct workspace *workspace = send_abc(f);
    _cleanup_close_ int fd = workspaces_file(&f->workspaces, workspace, NULL);
    char text[8] = "";

    assert_int_equal(read(fd, text, sizeof text), 3);
    assert_string_equal(text, "abc");
    assert_ptr_equal(workspaces_find(&f->workspaces, ABC), workspace);
    assert_int_equal(f->workspaces.bytes, 3);
    /* and again after a restart, with what is needed to know when it may go */
    workspaces_close(&f->workspaces);
    open_them(f, 100);
    workspace = workspaces_find(&f->workspaces, ABC);
    assert_non_null(workspace);
    assert_int_equal(workspace->bytes, 3);
    assert_int_equal(workspace->used_wall_us, NOW);
    assert_int_equal(f->workspaces.bytes, 3);
}

TEST(what_is_not_whole_leaves_nothing)
{
    struct fixture *f = *state;
    struct workspace_upload *upload = begin(f, ABC);
    char path[128];

    assert_int_equal(add(f, upload, "abd", 3), 0);
    assert_int_equal(workspace_upload_finish(upload, NOW, on_stored, f, &f->error), -EINVAL);
    assert_int_equal(f->n_stored, 0);
    (void)workspace_upload_free(upload);
    assert_int_equal(count_files(f), 0);
    upload = begin(f, ABC);
    assert_int_equal(add(f, upload, "ab", 2), 0);
    (void)workspace_upload_free(upload); /* whoever sent it left */
    assert_int_equal(count_files(f), 0);
    assert_int_equal(f->workspaces.bytes, 0);

    (void)snprintf(path, sizeof path, "%s/.new.7", f->path); /* of a crash */
    (void)safe_close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    assert_int_equal(count_files(f), 1);
    workspaces_close(&f->workspaces);
    open_them(f, 100);
    assert_int_equal(count_files(f), 0);
}

TEST(they_take_no_more_room_than_they_may)
{
    struct fixture *f = *state;
    static const char piece[60];
    struct workspace_upload *one = begin(f, EMPTY), *other = begin(f, ABC);

    assert_int_equal(add(f, one, piece, sizeof piece), 0);
    assert_int_equal(add(f, other, piece, sizeof piece), -ENOSPC);
    assert_non_null(strstr(f->error.text, "100 bytes"));
    assert_int_equal(add(f, other, piece, 40), 0);
    (void)workspace_upload_free(one);
    assert_int_equal(add(f, other, piece, sizeof piece), 0);
    (void)workspace_upload_free(other);
    assert_int_equal(f->workspaces.bytes, 0);
    (void)send_abc(f);
    workspaces_close(&f->workspaces);
    open_them(f, 2); /* there is more than it now may take */
    assert_int_equal(new_upload(f, EMPTY, 0, &one), -ENOSPC);
}

TEST(two_send_the_same)
{
    struct fixture *f = *state;
    struct workspace_upload *slow = begin(f, ABC);
    struct workspace *first, *second;

    assert_int_equal(add(f, slow, "abc", 3), 0);
    first = send_abc(f);
    second = finish(f, slow, NOW + 1);
    (void)workspace_upload_free(slow);
    assert_ptr_equal(first, second);
    assert_int_equal(f->workspaces.bytes, 3);
    assert_int_equal(count_files(f), 1);
}

TEST(what_nobody_needs_goes)
{
    struct fixture *f = *state;
    struct workspace *workspace = send_abc(f);

    workspace->needed = true;
    assert_int_equal(workspaces_sweep(&f->workspaces, NULL, NOW + 1), 0);
    workspace->needed = false;
    assert_int_equal(workspaces_sweep(&f->workspaces, NULL, NOW), 0); /* sent at that very moment */
    workspaces_use(&f->workspaces, workspace, NOW + 5 * USEC_PER_SEC);
    assert_int_equal(workspaces_sweep(&f->workspaces, NULL, NOW + 1), 0);
    assert_int_equal(workspaces_sweep(&f->workspaces, NULL, NOW + 6 * USEC_PER_SEC), 1);
    assert_null(workspaces_find(&f->workspaces, ABC));
    assert_int_equal(f->workspaces.bytes, 0);
    assert_int_equal(count_files(f), 0);
}

/* The database's disk is not filled, whoever sends how much. */
TEST(they_leave_room_on_the_disk)
{
    struct fixture *f = *state;
    struct workspace_limits *limits = &f->workspaces.limits;
    static const char piece[1 << 16];
    struct workspace_upload *upload = NULL;

    limits->max_bytes = UINT64_MAX;
    /* announced, it is not begun */
    assert_int_equal(new_upload(f, ABC, UINT64_C(1) << 60, &upload), -ENOSPC);
    assert_non_null(strstr(f->error.remedy, "--keep-free"));
    limits->reserve_bytes = UINT64_C(1) << 60;
    assert_int_equal(new_upload(f, ABC, 0, &upload), -ENOSPC);
    assert_int_equal(count_files(f), 0);
    /* not announced, it ends where the reserve begins */
    limits->reserve_bytes = 0;
    upload = begin(f, ABC);
    assert_int_equal(add(f, upload, piece, sizeof piece), 0);
    limits->reserve_bytes = UINT64_C(1) << 60;
    assert_int_equal(add(f, upload, piece, sizeof piece), -ENOSPC);
    (void)workspace_upload_free(upload);
    assert_int_equal(f->workspaces.bytes, 0);
    /* of a small disk a part is for archives whatever is usual */
    limits->reserve_bytes = WORKSPACE_RESERVE_AUTO;
    assert_int_equal(workspaces_check_disk(&f->workspaces, 1, &f->error), 0);
}

TEST(nobody_keeps_more_than_its_part)
{
    struct fixture *f = *state;
    static const char piece[1 << 16];
    struct workspace_upload *upload, *other = NULL;
    struct workspace *workspace;
    int r = 0;

    f->workspaces.limits =
        (struct workspace_limits){ .max_bytes = UINT64_MAX, .sender_bytes = 3 << 20 };
    workspace = send_abc(f);
    assert_string_equal(workspace->sender, "ann");
    assert_int_equal(workspaces_check_sender(&f->workspaces, "ann", 3 << 20, &f->error), -EDQUOT);
    assert_non_null(strstr(f->error.text, "ann"));
    assert_int_equal(workspaces_check_sender(&f->workspaces, "bob", 3 << 20, &f->error), 0);
    assert_int_equal(workspaces_check_sender(&f->workspaces, "", UINT64_MAX, &f->error), 0);
    workspace->needed = true;
    assert_int_equal(workspaces_check_sender(&f->workspaces, "ann", 3 << 20, &f->error), 0);
    /* two at once have no more room than one */
    upload = begin(f, EMPTY);
    for (int i = 0; i < 32; i++)
        assert_int_equal(add(f, upload, piece, sizeof piece), 0);
    assert_int_equal(new_upload(f, ABC, 2 << 20, &other), -EDQUOT);
    for (int i = 0; r == 0 && i < 32; i++)
        r = add(f, upload, piece, sizeof piece);
    assert_int_equal(r, -EDQUOT);
    (void)workspace_upload_free(upload);
    /* its own go for it */
    workspace->needed = false;
    assert_int_equal(workspaces_sweep(&f->workspaces, "bob", UINT64_MAX), 0);
    assert_int_equal(workspaces_sweep(&f->workspaces, "ann", UINT64_MAX), 1);
}

TEST_PLAIN(names_are_checked)
{
    assert_string_equal(workspace_hash(WORKSPACE_PREFIX ABC), ABC);
    assert_null(workspace_hash(ABC));
    assert_null(workspace_hash(WORKSPACE_PREFIX "BA"));
    assert_null(workspace_hash(WORKSPACE_PREFIX ABC "0"));
    assert_null(workspace_hash("/srv/work"));
    assert_null(workspace_hash(NULL));
    assert_true(workspace_is_kept(WORKSPACE_PREFIX "x"));
    assert_false(workspace_is_kept(""));
}
