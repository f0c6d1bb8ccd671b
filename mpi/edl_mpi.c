/* SPDX-License-Identifier: Apache-2.0 */
/* edl_mpi.c - program edl-mpi: an instance of a job in mode mpi
 *
 * Each instance runs "edl-mpi COMMAND" and listens for orders. Instance 0 runs COMMAND beside, with
 * an mpirun that asks the others for what it would have asked sshd. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "libedl/edl/edl.h"
#include "mpi/command.h"
#include "mpi/launch.h"
#include "mpi/settings.h"
#include "mpi/slot.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/parse.h"
#include "shared/socket_address.h"
#include "shared/text_format.h"

#define EXIT_NOT_FOUND                                                                             \
    127 /* as a shell has it: the scheduler tries the process on another node                      \
         */
#define EXIT_USAGE 2
#define SLOTS_MAX 1024
#define BACKLOG 128

static const char usage[] =
    "Usage: edl-mpi COMMAND [ARGUMENT]...\n"
    "Runs COMMAND in instance 0 of a job, with an mpirun that needs no sshd; the other instances\n"
    "run what it starts on them. A COMMAND that does not start mpirun is run by mpirun. Every\n"
    "process of a job in mode mpi is started by this program: edl submit --mode mpi. See\n"
    "edl-mpi(1).\n";

struct instance {
    char *const *argv;
    struct edl_client *client;
    struct edl_self *self;
    struct edl_world *world;
    struct mpi_hosts hosts;
    struct mpi_meeting meeting;
    char *folder;
    int listen_fd;
    uint64_t slots; /* of a host */
    bool launches;
    char *word; /* the program that starts ranks */
};

static int fail(const char *text)
{
    (void)fprintf(stderr, "edl-mpi: %s\n", text);
    return EXIT_FAILURE;
}

/* A node without it is passed over, and named by what is said here. */
static int check_mpirun(struct instance *instance)
{
    _cleanup_free_ char *path = NULL;

    instance->launches = mpi_command_launches(instance->argv, &instance->word);
    path = mpi_program_find(instance->word, NULL);
    if (path != NULL)
        return 0;
    (void)fprintf(stderr,
                  "edl-mpi: %s has no %s%s: install openmpi-bin or mpich there, or give the job "
                  "a PATH that has it\n",
                  instance->self->node, instance->word,
                  strchr(instance->word, '/') != NULL ? "" : " in PATH");
    return EXIT_NOT_FOUND;
}

static int read_slots(struct instance *instance)
{
    const char *text = getenv("EDL_MPI_SLOTS");

    instance->slots = 1;
    if (text == NULL || (parse_u64(text, &instance->slots) == 0 && instance->slots > 0 &&
                         instance->slots <= SLOTS_MAX))
        return 0;
    (void)fprintf(stderr, "edl-mpi: EDL_MPI_SLOTS is \"%.40s\": give a number from 1 to %d\n", text,
                  SLOTS_MAX);
    return EXIT_USAGE;
}

/* At the address and port by which others find it. */
static int listen_at(struct instance *instance)
{
    const struct edl_self *self = instance->self;
    union socket_address address;
    static const int on = 1;
    socklen_t size;

    if (self->n_ports == 0)
        return fail("this instance has no port: give its role ports: 1, or leave ports out");
    size = socket_address_parse(self->address, self->ports[0], &address);
    if (size == 0)
        return fail("EDL_ADDRESS is no address in digits");
    instance->listen_fd =
        socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (instance->listen_fd != -1 &&
        setsockopt(instance->listen_fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        bind(instance->listen_fd, &address.any, size) == 0 &&
        listen(instance->listen_fd, BACKLOG) == 0)
        return 0;
    (void)fprintf(stderr, "edl-mpi: cannot listen at %s:%u: %s\n", self->address, self->ports[0],
                  strerror(errno));
    return EXIT_FAILURE;
}

static int prepare(struct instance *instance)
{
    struct edl_error error = { 0 };
    int r;

    if (edl_client_new(NULL, &instance->client) < 0)
        return fail("EDL_SOCKET is not set: this is no process of a job; "
                    "edl submit --mode mpi -- mpirun PROGRAM");
    if (edl_self_read(instance->client, &instance->self) < 0)
        return fail(edl_last_error(instance->client));
    r = check_mpirun(instance);
    if (r == 0)
        r = read_slots(instance);
    if (r == 0)
        r = listen_at(instance);
    if (r != 0)
        return r;
    instance->folder = mpi_folder_make(&error);
    if (instance->folder == NULL)
        return fail(error.text);
    if (edl_secret(instance->client, instance->meeting.secret) < 0)
        return fail(edl_last_error(instance->client));
    instance->meeting.job_id = instance->self->job_id;
    instance->meeting.index = instance->self->index;
    instance->meeting.incarnation = instance->self->incarnation;
    return 0;
}

/* A large world does not tell its members; then they are asked for, without the names of nodes. */
static int find_hosts(struct instance *instance)
{
    const struct edl_world *world = instance->world;
    struct edl_hosts *hosts = NULL;
    struct edl_error error = { 0 };
    int r = 0;

    if (world->n_members == 0)
        r = edl_hosts_of(instance->client, instance->self->role, &hosts);
    if (r < 0)
        return fail(edl_last_error(instance->client));
    r = mpi_hosts_make(instance->self->role, hosts != NULL ? hosts->peers : world->members,
                       hosts != NULL ? hosts->n_peers : world->n_members, &instance->hosts, &error);
    (void)edl_hosts_free(hosts);
    if (r < 0)
        return fail(error.text);
    if (instance->hosts.n_instances == world->size)
        return 0;
    return fail("an instance ended before mpirun was started");
}

/* Of the address that others know; mpirun says it to all nodes alike. NULL: they differ. */
static const char *common_interface(const struct edl_world *world)
{
    for (size_t i = 1; i < world->n_members; i++)
        if (!streq(world->members[i].note, world->members[0].note))
            return NULL;
    return world->n_members > 0 ? world->members[0].note : NULL;
}

/* Instance 0: the command beside the slot; then the others end, with success, so that the end of
 * the job is that of the command. */
static int lead(struct instance *instance, struct mpi_slot_config *config)
{
    _cleanup_free_ char *count = text_format("%" PRIu64, instance->world->size * instance->slots);
    char **wrapped = NULL;
    struct edl_error error = { 0 };
    int status = find_hosts(instance);

    if (status != 0)
        return status;
    if (!instance->launches)
        wrapped = mpi_command_wrap(instance->argv, count);
    config->command =
        mpi_launch(&instance->hosts, instance->folder, common_interface(instance->world),
                   instance->slots, wrapped != NULL ? wrapped : instance->argv, &error);
    free(wrapped);
    if (config->command < 0)
        return fail(error.text);
    status = mpi_slot_run(config, &error);
    if (status < 0)
        return fail(error.text);
    if (status == 0)
        mpi_warn_unused(&instance->hosts, instance->folder);
    mpi_end_slots(&instance->hosts, &instance->meeting, instance->self->index);
    return status;
}

static int run(struct instance *instance)
{
    struct edl_error error = { 0 };
    struct mpi_slot_config config;
    int r = prepare(instance);

    if (r != 0)
        return r;
    (void)edl_world_note(instance->client, getenv("GLOO_SOCKET_IFNAME"));
    r = edl_world_join(instance->client, 0, EDL_FOREVER, &instance->world);
    if (r <= 0) /* 0: it is being stopped */
        return r == 0 ? 0 : fail(edl_last_error(instance->client));
    mpi_settings_forget();
    config =
        (struct mpi_slot_config){ .listen_fd = instance->listen_fd, .meeting = instance->meeting };
    mpi_slot_block_signals();
    if (instance->world->rank == 0)
        return lead(instance, &config);
    r = mpi_slot_run(&config, &error);
    return r < 0 ? fail(error.text) : r;
}

int main(int argc, char **argv)
{
    struct instance instance = { .listen_fd = -1 };
    int status;

    if (argc == 2 && streq(argv[1], "--version")) {
        (void)printf("edl-mpi %s\n", EDL_VERSION);
        return 0;
    }
    if (argc < 2 || (argv[1][0] == '-' && argc == 2)) {
        (void)fputs(usage, stderr);
        return argc == 2 && streq(argv[1], "--help") ? 0 : EXIT_USAGE;
    }
    instance.argv = argv + 1;
    status = run(&instance);
    instance.folder = mpi_folder_remove(instance.folder);
    mpi_hosts_clear(&instance.hosts);
    instance.world = edl_world_free(instance.world);
    instance.self = edl_self_free(instance.self);
    instance.client = edl_client_free(instance.client);
    (void)safe_close(instance.listen_fd);
    free(instance.word);
    return status;
}
