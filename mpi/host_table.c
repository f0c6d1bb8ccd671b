/* SPDX-License-Identifier: Apache-2.0 */
/* host_table.c - the names of hosts that mpirun may say, and the slot behind each */
#include "mpi/host_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "libedl/edl/edl.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/parse.h"
#include "shared/text_format.h"

#define LISTED_BYTES 240 /* of the hosts that an error lists */
#define COLUMNS 5

static bool can_be_name(const char *name)
{
    size_t n = strlen(name);

    return n > 0 && n <= MPI_HOST_NAME_MAX && name[strcspn(name, " \t\r\n")] == '\0';
}

static void add(struct mpi_hosts *hosts, const char *name, const struct mpi_slot_place *place)
{
    if (!can_be_name(name))
        return;
    for (size_t i = 0; i < hosts->n; i++)
        if (streq(hosts->rows[i].name, name))
            return;
    hosts->rows[hosts->n++] = (struct mpi_host){ .name = xstrdup(name), .place = *place };
}

static int place_of(const struct edl_peer *peer, struct mpi_slot_place *ret)
{
    if (peer->n_ports == 0 || strlen(peer->address) >= sizeof ret->address ||
        !can_be_name(peer->address))
        return -EINVAL;
    *ret = (struct mpi_slot_place){ .port = peer->ports[0],
                                    .index = peer->index,
                                    .incarnation = peer->incarnation };
    (void)snprintf(ret->address, sizeof ret->address, "%s", peer->address);
    return 0;
}

int mpi_hosts_make(const char *role, const struct edl_peer *peers, size_t n, struct mpi_hosts *ret,
                   struct edl_error *error)
{
    struct mpi_hosts hosts = { .rows = NULL };

    if (n > MPI_HOSTS_MAX)
        return edl_error_set(error, -EINVAL, "more than %d instances are too many for mpirun: %zu",
                             MPI_HOSTS_MAX, n);
    hosts.rows = xcalloc(3 * n, sizeof *hosts.rows);
    for (size_t i = 0; i < n; i++) {
        _cleanup_free_ char *name = text_format("%s-%" PRIu64, role, peers[i].index);
        struct mpi_slot_place place;

        if (place_of(&peers[i], &place) < 0) {
            mpi_hosts_clear(&hosts);
            return edl_error_set(error, -EINVAL, "%s has no port to be told at", name);
        }
        add(&hosts, name, &place);
    }
    hosts.n_instances = hosts.n;
    for (size_t i = 0; i < n; i++) {
        struct mpi_slot_place place = hosts.rows[i].place;

        add(&hosts, peers[i].node, &place);
        add(&hosts, peers[i].address, &place);
    }
    *ret = hosts;
    return 0;
}

void mpi_hosts_clear(struct mpi_hosts *hosts)
{
    for (size_t i = 0; i < hosts->n; i++)
        free(hosts->rows[i].name);
    free(hosts->rows);
    *hosts = (struct mpi_hosts){ .rows = NULL };
}

char *mpi_hosts_write(const struct mpi_hosts *hosts)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);

    if (f == NULL)
        abort();
    for (size_t i = 0; i < hosts->n; i++) {
        const struct mpi_slot_place *place = &hosts->rows[i].place;

        (void)fprintf(f, "%s %s %u %" PRIu64 " %" PRIu64 "\n", hosts->rows[i].name, place->address,
                      place->port, place->index, place->incarnation);
    }
    if (fclose(f) != 0)
        abort();
    return text;
}

char *mpi_hosts_list(const struct mpi_hosts *hosts, const char *between, uint64_t slots)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);

    if (f == NULL)
        abort();
    for (size_t i = 0; i < hosts->n_instances; i++)
        (void)fprintf(f, "%s%s%" PRIu64 "\n", hosts->rows[i].name, between, slots);
    if (fclose(f) != 0)
        abort();
    return text;
}

static int read_row(char *line, char **ret_name, struct mpi_slot_place *ret)
{
    char *columns[COLUMNS], *rest = line;
    uint64_t port;

    for (size_t i = 0; i < COLUMNS; i++)
        columns[i] = strsep(&rest, " ");
    if (columns[COLUMNS - 1] == NULL || rest != NULL || !can_be_name(columns[0]) ||
        strlen(columns[1]) >= sizeof ret->address || parse_u64(columns[2], &port) < 0 ||
        port == 0 || port > UINT16_MAX)
        return -EINVAL;
    *ret = (struct mpi_slot_place){ .port = (uint16_t)port };
    (void)snprintf(ret->address, sizeof ret->address, "%s", columns[1]);
    *ret_name = columns[0];
    return parse_u64(columns[3], &ret->index) < 0 || parse_u64(columns[4], &ret->incarnation) < 0
               ? -EINVAL
               : 0;
}

static void list(char listed[LISTED_BYTES], const char *name)
{
    size_t used = strlen(listed);

    if (used + strlen(name) + 8 > LISTED_BYTES) {
        if (used > 0 && listed[used - 1] != '.')
            (void)snprintf(listed + used, LISTED_BYTES - used, ", ...");
        return;
    }
    (void)snprintf(listed + used, LISTED_BYTES - used, "%s%s", used > 0 ? ", " : "", name);
}

int mpi_hosts_find(const char *text, const char *host, struct mpi_slot_place *ret,
                   struct edl_error *error)
{
    _cleanup_free_ char *copy = xstrdup(text);
    const char *at = strrchr(host, '@');
    char *rest = copy, *line, *name;
    char listed[LISTED_BYTES] = "";
    struct mpi_slot_place place;

    host = at != NULL ? at + 1 : host;
    while ((line = strsep(&rest, "\n")) != NULL && *line != '\0') {
        if (read_row(line, &name, &place) < 0)
            return edl_error_set(error, -EINVAL, "the table of hosts is damaged");
        if (streq(name, host)) {
            *ret = place;
            return 0;
        }
        list(listed, name);
    }
    (void)edl_error_set(error, -ENOENT, "%.80s is no host of this job: %s", host, listed);
    return edl_error_remedy(error, "name those in the file of hosts, or leave -hostfile out");
}
