/* SPDX-License-Identifier: Apache-2.0 */
/* lease.c - the lease file, mapped */
#include "agent/link/lease.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "shared/cleanup.h"
#include "shared/error.h"

#define FILE_BYTES (2 * sizeof(uint64_t))

enum { DEADLINE, PACKED };

/* begin - reset, or the word that an earlier version did not write */
static void begin(struct lease_map *map, bool reset)
{
    const struct lease_word earlier = { .deadline_us = atomic_load(&map->words[DEADLINE]) };

    if (reset)
        atomic_store(&map->words[DEADLINE], 0);
    if (reset || atomic_load(&map->words[PACKED]) == 0)
        atomic_store(&map->words[PACKED], reset ? 0 : lease_word_pack(earlier));
}

int lease_map_open(const char *path, bool writer, bool reset, struct lease_map *ret,
                   struct edl_error *error)
{
    _cleanup_close_ int fd = -1;
    struct stat st;
    void *p;

    fd = open(path, (writer ? O_RDWR | O_CREAT : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd == -1 || fstat(fd, &st) == -1)
        return edl_error_errno(error, -errno, "cannot open the lease %s", path);
    if (writer && st.st_size != FILE_BYTES && ftruncate(fd, FILE_BYTES) == -1)
        return edl_error_errno(error, -errno, "cannot size the lease %s", path);
    if (!writer && st.st_size < (off_t)sizeof(uint64_t))
        return edl_error_set(error, EDL_ECORRUPT, "the lease %s is too short", path);
    p = mmap(NULL, FILE_BYTES, writer ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        return edl_error_errno(error, -errno, "cannot map the lease %s", path);
    ret->words = p;
    ret->has_epoch = writer || st.st_size >= (off_t)FILE_BYTES;
    if (writer)
        begin(ret, reset);
    return 0;
}

void lease_map_close(struct lease_map *map)
{
    if (map->words != NULL)
        (void)munmap((void *)map->words, FILE_BYTES);
    map->words = NULL;
}

bool lease_map_has_epoch(const struct lease_map *map)
{
    return map->words != NULL && map->has_epoch &&
           (atomic_load(&map->words[PACKED]) != 0 || atomic_load(&map->words[DEADLINE]) == 0);
}

struct lease_word lease_map_read(const struct lease_map *map)
{
    if (map->words == NULL)
        return (struct lease_word){ 0 };
    if (!lease_map_has_epoch(map))
        return (struct lease_word){ .deadline_us = atomic_load(&map->words[DEADLINE]) };
    return lease_word_unpack(atomic_load(&map->words[PACKED]));
}

void lease_map_extend(struct lease_map *map, struct lease_word lease)
{
    if (map->words == NULL || lease.deadline_us <= lease_map_read(map).deadline_us)
        return;
    atomic_store(&map->words[PACKED], lease_word_pack(lease));
    atomic_store(&map->words[DEADLINE], lease.deadline_us);
}
