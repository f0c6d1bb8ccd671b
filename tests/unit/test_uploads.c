/* SPDX-License-Identifier: Apache-2.0 */
/* test_uploads.c - an archive is brought to the disk beside the loop: others are served meanwhile,
 * its client waits, and the answer still means that it is there after a loss of power */
#include "tests/unit/live_scheduler.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/content_hash.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

enum { MEBIBYTE = 1 << 20, SIZE = 5 * (MEBIBYTE / 2), SYNCS = 4 }; /* two pieces, file, folder */

/* In the place of libc's: a disk that takes its time with archives. */
static struct {
    pthread_t loop;
    atomic_bool slow;         /* each waits for a release */
    atomic_int failing;       /* an errno; 0: none */
    atomic_uint held, synced; /* how many came; how many are done */
    atomic_bool in_loop;      /* one was waited for in the loop */
    sem_t release;
} disk;

static int sync_archive(long number, int fd)
{
    char path[64], at[128] = "";
    ssize_t n;

    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    n = readlink(path, at, sizeof at - 1);
    if (n > 0 && strstr(at, "/workspaces") != NULL) {
        if (pthread_equal(pthread_self(), disk.loop))
            disk.in_loop = true;
        disk.held++;
        while (disk.slow && !disk.in_loop && sem_wait(&disk.release) == -1)
            continue;
        disk.synced++;
        errno = disk.failing;
        if (errno != 0)
            return -1;
    }
    return (int)syscall(number, fd);
}

int fdatasync(int fd)
{
    return sync_archive(SYS_fdatasync, fd);
}

int fsync(int fd)
{
    return sync_archive(SYS_fsync, fd);
}

struct archive {
    char *data; /* owned */
    char hex[WORKSPACE_HEX + 1];
    char path[100];
};

static struct archive make_archive(void)
{
    struct archive archive = { .data = xcalloc(SIZE + 1, 1) };
    struct content_hash *hash = NULL;

    memset(archive.data, 'x', SIZE); /* text, which is how live_send takes it */
    assert_int_equal(content_hash_new(&hash, NULL), 0);
    content_hash_add(hash, archive.data, SIZE);
    content_hash_end(hash, archive.hex);
    (void)content_hash_free(hash);
    (void)snprintf(archive.path, sizeof archive.path, "/workspaces/%s", archive.hex);
    return archive;
}

static void give_room(struct live *live)
{
    live->scheduler->workspaces.limits = (struct workspace_limits){ .max_bytes = 64 * MEBIBYTE };
}

static int setup(void **state)
{
    disk.loop = pthread_self();
    disk.slow = true;
    disk.in_loop = false;
    disk.failing = 0;
    disk.held = disk.synced = 0;
    assert_int_equal(sem_init(&disk.release, 0, 0), 0);
    if (live_setup(state) != 0)
        return -1;
    give_room(*state);
    return 0;
}

static size_t files(const struct live *live)
{
    char path[100];
    _cleanup_closedir_ DIR *folder = NULL;
    size_t n = 0;

    (void)snprintf(path, sizeof path, "%s/workspaces", live->folder);
    folder = opendir(path);
    assert_non_null(folder);
    while (readdir(folder) != NULL)
        n++;
    return n - 2;
}

static int teardown(void **state)
{
    disk.slow = false;
    (void)sem_post(&disk.release);
    return live_teardown(state);
}

TEST_EACH(setup, teardown);

static void await(struct live *live, atomic_uint *n, unsigned wanted)
{
    uint64_t end_us = clock_read_us(CLOCK_BOOTTIME) + 120 * USEC_PER_SEC;

    while (*n < wanted) {
        assert_true(clock_read_us(CLOCK_BOOTTIME) < end_us);
        assert_true(sd_event_run(live->scheduler->event, 100 * USEC_PER_MSEC) >= 0);
    }
}

static void await_end(struct live *live)
{
    uint64_t end_us = clock_read_us(CLOCK_BOOTTIME) + 120 * USEC_PER_SEC;

    while (live->scheduler->workspaces.uploads != NULL) {
        assert_true(clock_read_us(CLOCK_BOOTTIME) < end_us);
        assert_true(sd_event_run(live->scheduler->event, 100 * USEC_PER_MSEC) >= 0);
    }
}

static void release_all(void)
{
    disk.slow = false;
    (void)sem_post(&disk.release);
}

TEST(others_are_served_and_the_answer_means_durable)
{
    struct live *live = *state;
    struct archive archive = make_archive();
    struct reply put = { 0 }, other = { 0 };

    live_send(live, "PUT", archive.path, NULL, archive.data, &put);
    for (unsigned i = 1; i <= SYNCS; i++) {
        await(live, &disk.held, i);
        for (int k = 0; k < 3; k++) /* time enough to take more, were it taken */
            assert_int_equal(live_ask(live, "GET", "/cluster", NULL, NULL, &other), 200);
        assert_int_equal(disk.synced, i - 1);
        assert_int_equal(put.n, 0);
        assert_false(disk.in_loop);
        /* no more than a mebibyte and a piece is there that was not synced */
        assert_true(live->scheduler->workspaces.bytes < (size_t)i * (MEBIBYTE + (64 << 10)));
        (void)sem_post(&disk.release);
    }
    live_wait(live, &put);
    assert_int_equal(put.status, 200);
    assert_int_equal(disk.synced, SYNCS);
    assert_int_equal(live->scheduler->workspaces.bytes, SIZE);
    live_restart(live);
    assert_non_null(workspaces_find(&live->scheduler->workspaces, archive.hex));
    reply_clear(&put);
    reply_clear(&other);
    free(archive.data);
}

TEST(who_leaves_half_way_leaves_nothing)
{
    struct live *live = *state;
    struct archive archive = make_archive();
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons(live->scheduler->listeners.specs[0].port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    size_t sent = 0;
    char head[300];

    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    (void)snprintf(head, sizeof head,
                   "PUT %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"
                   "Content-Length: %d\r\n\r\n",
                   archive.path, live->scheduler->admin_token, SIZE);
    assert_int_equal(write(fd, head, strlen(head)), (ssize_t)strlen(head));
    while (disk.held == 0) {
        ssize_t n = send(fd, archive.data, MIN_OF(MEBIBYTE + (MEBIBYTE / 2) - sent, (size_t)65536),
                         MSG_DONTWAIT);

        sent += n > 0 ? (size_t)n : 0;
        assert_true(sd_event_run(live->scheduler->event, USEC_PER_MSEC) >= 0);
    }
    assert_int_equal(files(live), 1);
    fd = safe_close(fd);
    release_all();
    await_end(live);
    assert_int_equal(live->scheduler->workspaces.bytes, 0);
    assert_int_equal(files(live), 0);
    free(archive.data);
}

TEST(a_disk_that_fails_is_told)
{
    static const unsigned after[] = { 1, 3 }; /* of a piece, of the whole */
    struct live *live = *state;
    struct archive archive = make_archive();
    struct reply put = { 0 };

    for (size_t i = 0; i < ELEMENTS(after); i++) {
        disk.slow = true;
        disk.held = disk.synced = 0;
        disk.failing = 0;
        assert_int_equal(sem_init(&disk.release, 0, after[i] - 1), 0);
        live_send(live, "PUT", archive.path, NULL, archive.data, &put);
        await(live, &disk.held, after[i]);
        disk.failing = EIO;
        release_all();
        live_wait(live, &put);
        assert_true(put.status >= 500);
        assert_non_null(strstr(put.error.text, "the archive"));
        await_end(live);
        assert_int_equal(files(live), 0);
        assert_int_equal(live->scheduler->workspaces.bytes, 0);
    }
    reply_clear(&put);
    free(archive.data);
}

/* The end waits for the disk, and for nobody who waits for it. */
TEST(the_scheduler_ends_in_between)
{
    struct live *live = *state;
    struct archive archive = make_archive();
    struct reply put = { 0 };

    for (unsigned syncs = 1; syncs <= SYNCS; syncs++) {
        disk.slow = true;
        disk.held = 0;
        assert_int_equal(sem_init(&disk.release, 0, syncs - 1), 0);
        live_send(live, "PUT", archive.path, NULL, archive.data, &put);
        await(live, &disk.held, syncs);
        release_all();
        live_restart(live);
        give_room(live);
        /* whole, or not there */
        assert_int_equal(files(live), HASH_COUNT(live->scheduler->workspaces.all));
        assert_int_equal(live->scheduler->workspaces.bytes,
                         live->scheduler->workspaces.all != NULL ? SIZE : 0);
        if (live->scheduler->workspaces.all != NULL)
            break; /* sent again it is not sent */
    }
    reply_clear(&put);
    free(archive.data);
}
