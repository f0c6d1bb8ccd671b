/* SPDX-License-Identifier: Apache-2.0 */
/* group_window.c - ranks of one machine read each other's gradients and sums where they lie
 *
 * The gradient and the sums of a rank lie in its window, a memfd that it alone writes. Ranks on the
 * same machine map it to read. Then a message between two of them has no bytes behind its head: the
 * head says that the part is there. All else is as between machines. So a death is seen in the same
 * way, and nothing spins or waits for a word in memory.
 *
 * A part stays as it is until its reader is done. Its owner changes it behind a step that the
 * reader has completed, or in a generation for which the reader has arrived.
 *
 * The descriptor goes over an abstract socket of AF_UNIX, to processes of the same user that prove
 * the secret of the job. Its size is sealed, so no page of it can go away under a reader. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "libedl/group_internal.h"
#include "shared/cleanup.h"
#include "shared/macro.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

size_t group_window_bytes(const struct edl_group *group)
{
    return group->n_values * (sizeof *group->work + sizeof *group->kept + sizeof *group->sum);
}

/* ---- my own ---- */

static uint64_t mix(uint64_t h, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        h = (h ^ (uint8_t)text[i]) * UINT64_C(1099511628211);
    return h;
}

/* machine_of - the same for processes that can reach each other's abstract sockets; 0: unknown */
static uint64_t machine_of(void)
{
    _cleanup_fclose_ FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    uint64_t h = UINT64_C(14695981039346656037);
    char id[64] = "";
    struct stat net;

    if (f == NULL || fgets(id, sizeof id, f) == NULL || stat("/proc/self/ns/net", &net) < 0)
        return 0;
    h = mix(h, id, strlen(id));
    return mix(h, (const char *)&net.st_ino, sizeof net.st_ino) | 1;
}

static socklen_t name_of(uint64_t window, struct sockaddr_un *ret)
{
    *ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                       (size_t)snprintf(ret->sun_path + 1, sizeof ret->sun_path - 1,
                                        "edl-group-%016llx", (unsigned long long)window));
}

/* listen_for_readers - -1: it has no window for others */
static int listen_for_readers(uint64_t window)
{
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_un name;
    socklen_t size = name_of(window, &name);

    if (fd < 0 || bind(fd, (const struct sockaddr *)&name, size) < 0 || listen(fd, SOMAXCONN) < 0)
        return -1;
    return TAKE_FD(fd);
}

void *group_window_open(struct edl_group *group)
{
    size_t bytes = group_window_bytes(group);
    uint8_t random[JOB_NONCE_BYTES];
    _cleanup_close_ int fd = memfd_create("edl-group", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    void *p;

    if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0 || fcntl(fd, F_ADD_SEALS, SEALS) < 0 ||
        group_nonce(random) < 0)
        return NULL;
    p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        return NULL;
    memcpy(&group->window, random, sizeof group->window);
    group->machine = machine_of();
    group->readers_fd = group->machine != 0 ? listen_for_readers(group->window) : -1;
    if (group->readers_fd < 0)
        group->machine = 0;
    group->window_fd = TAKE_FD(fd);
    return p;
}

/* proof_of - that the reader of a window knows the secret */
static void proof_of(const struct edl_group *group, uint64_t window, uint8_t ret[JOB_PROOF_BYTES])
{
    uint8_t message[32] = "EDL window of a group";

    memcpy(message + 24, &window, sizeof window);
    group_hmac(group->secret, message, sizeof message, ret);
}

static bool is_same_user(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof peer;

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

/* give - the descriptor; the reader closes the connection */
static void give(const struct edl_group *group, int fd)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = { .bytes = { 0 } };
    char word = 'w';
    struct iovec part = { &word, 1 };
    struct msghdr message = { .msg_iov = &part,
                              .msg_iovlen = 1,
                              .msg_control = control.bytes,
                              .msg_controllen = sizeof control.bytes };
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);

    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &group->window_fd, sizeof(int));
    (void)sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* is_reader - whether it proved the secret */
static bool is_reader(const struct edl_group *group, const uint8_t proof[JOB_PROOF_BYTES])
{
    uint8_t expected[JOB_PROOF_BYTES], differences = 0;

    proof_of(group, group->window, expected);
    for (size_t i = 0; i < sizeof expected; i++)
        differences |= proof[i] ^ expected[i];
    return differences == 0;
}

/* answer - false: its proof is not there yet */
static bool answer(const struct edl_group *group, int fd)
{
    uint8_t proof[JOB_PROOF_BYTES];
    ssize_t n = recv(fd, proof, sizeof proof, MSG_DONTWAIT);

    if (n < 0 && errno == EAGAIN)
        return false;
    if (n == sizeof proof && is_reader(group, proof))
        give(group, fd);
    return true;
}

static void drop_asker(struct edl_group *group, unsigned i)
{
    (void)safe_close(group->askers[i]);
    group->n_askers--;
    memmove(group->askers + i, group->askers + i + 1,
            (group->n_askers - i) * sizeof *group->askers);
}

void group_window_serve(struct edl_group *group)
{
    int fd;

    if (group->readers_fd < 0)
        return;
    while ((fd = group_link_accept(group->readers_fd)) >= 0) {
        if (!is_same_user(fd)) {
            (void)safe_close(fd);
            continue;
        }
        if (group->n_askers == ELEMENTS(group->askers))
            drop_asker(group, 0); /* whoever says nothing gives way */
        group->askers[group->n_askers++] = fd;
    }
    for (unsigned i = group->n_askers; i-- > 0;)
        if (answer(group, group->askers[i]))
            drop_asker(group, i);
}

void group_window_close(struct edl_group *group)
{
    while (group->n_askers > 0)
        drop_asker(group, 0);
    group->window_fd = safe_close(group->window_fd);
    group->readers_fd = safe_close(group->readers_fd);
}

/* ---- those of others ---- */

/* ask - false: it gives none */
static bool ask(struct edl_group *group, unsigned rank)
{
    struct group_view *v = &group->views[rank];
    uint8_t proof[JOB_PROOF_BYTES];
    struct sockaddr_un name;
    socklen_t size = name_of(v->window, &name);

    proof_of(group, v->window, proof);
    v->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    return v->fd >= 0 && connect(v->fd, (const struct sockaddr *)&name, size) == 0 &&
           is_same_user(v->fd) &&
           send(v->fd, proof, sizeof proof, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof proof;
}

/* take_fd - the descriptor; -EAGAIN: not yet; -1: none comes */
static int take_fd(int from)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = { .bytes = { 0 } };
    char word;
    struct iovec part = { &word, 1 };
    struct msghdr message = { .msg_iov = &part,
                              .msg_iovlen = 1,
                              .msg_control = control.bytes,
                              .msg_controllen = sizeof control.bytes };
    ssize_t n = recvmsg(from, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    int fd;

    if (n < 0 && errno == EAGAIN)
        return -EAGAIN;
    if (c == NULL || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
        c->cmsg_len != CMSG_LEN(sizeof(int)))
        return -1;
    memcpy(&fd, CMSG_DATA(c), sizeof fd);
    return fd;
}

/* view - of a descriptor that came: NULL if it is not what a window must be */
static const uint8_t *view(const struct edl_group *group, int fd)
{
    size_t bytes = group_window_bytes(group);
    struct stat s;
    void *p;

    if (fstat(fd, &s) < 0 || (uint64_t)s.st_size != bytes ||
        (fcntl(fd, F_GET_SEALS) & (F_SEAL_SHRINK | F_SEAL_SEAL)) != (F_SEAL_SHRINK | F_SEAL_SEAL))
        return NULL;
    p = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    return p != MAP_FAILED ? p : NULL;
}

bool group_view_go_on(struct edl_group *group, unsigned rank)
{
    struct group_view *v = &group->views[rank];
    int fd;

    if (v->is_tried)
        return true;
    if (v->fd < 0 && !ask(group, rank))
        fd = -1;
    else
        fd = take_fd(v->fd);
    if (fd == -EAGAIN)
        return false;
    v->is_tried = true;
    v->fd = safe_close(v->fd);
    if (fd >= 0)
        v->bytes = view(group, fd);
    (void)safe_close(fd);
    return true;
}

void group_view_close(struct edl_group *group, unsigned rank)
{
    struct group_view *v = &group->views[rank];

    (void)safe_close(v->fd);
    if (v->bytes != NULL)
        (void)munmap((void *)(uintptr_t)v->bytes, group_window_bytes(group)); /* why: read only */
    *v = (struct group_view){ .fd = -1 };
}
