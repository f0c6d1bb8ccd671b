/* SPDX-License-Identifier: Apache-2.0 */
/* lease.c - the lease file, mapped */
#include "agent/lease.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "shared/cleanup.h"
#include "shared/error.h"

int lease_map_open(const char *path, bool writer, bool reset, struct lease_map *ret,
                   struct edl_error *error)
{
    _cleanup_close_ int fd = -1;
    struct stat st;
    void *p;

    fd = open(path, (writer ? O_RDWR | O_CREAT : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd == -1 || fstat(fd, &st) == -1)
        return edl_error_errno(error, -errno, "cannot open the lease %s", path);
    if (writer && st.st_size != sizeof(uint64_t) && ftruncate(fd, sizeof(uint64_t)) == -1)
        return edl_error_errno(error, -errno, "cannot size the lease %s", path);
    if (!writer && st.st_size < (off_t)sizeof(uint64_t))
        return edl_error_set(error, EDL_ECORRUPT, "the lease %s is too short", path);
    p = mmap(NULL, sizeof(uint64_t), writer ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd,
             0);
    if (p == MAP_FAILED)
        return edl_error_errno(error, -errno, "cannot map the lease %s", path);
    ret->deadline_us = p;
    if (writer && reset)
        atomic_store(ret->deadline_us, 0);
    return 0;
}

void lease_map_close(struct lease_map *map)
{
    if (map->deadline_us != NULL)
        (void)munmap((void *)map->deadline_us, sizeof(uint64_t));
    map->deadline_us = NULL;
}

uint64_t lease_map_read(const struct lease_map *map)
{
    return map->deadline_us != NULL ? atomic_load(map->deadline_us) : 0;
}

void lease_map_extend(struct lease_map *map, uint64_t deadline_us)
{
    if (map->deadline_us != NULL && deadline_us > atomic_load(map->deadline_us))
        atomic_store(map->deadline_us, deadline_us);
}
