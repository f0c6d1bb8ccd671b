/* SPDX-License-Identifier: Apache-2.0 */
/* edl_mpi_rsh.c - program edl-mpi-rsh: what mpirun starts in the place of ssh
 *
 *     edl-mpi-rsh [OPTION]... HOST COMMAND...
 *
 * The words of COMMAND are put together with blanks and given to a shell on HOST, as ssh does. The
 * status is the command's, 255 when there is none. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "libedl/edl/edl.h"
#include "mpi/call.h"
#include "mpi/host_table.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/text_format.h"

#define EXIT_NO_CALL 255                           /* as of ssh */
#define OPTIONS_WITH_VALUE "BbcDEeFIiJLlmOopQRSWw" /* of ssh(1) */

extern char **environ;

static int fail(const char *text, const char *remedy)
{
    (void)fprintf(stderr, "edl: %s%s%s\n", text, *remedy != '\0' ? ": " : "", remedy);
    return EXIT_NO_CALL;
}

static char **skip_options(char **words)
{
    while (*words != NULL && (*words)[0] == '-') {
        const char *option = *words++;

        if (option[1] != '\0' && option[2] == '\0' &&
            strchr(OPTIONS_WITH_VALUE, option[1]) != NULL && *words != NULL)
            words++;
    }
    return words;
}

static char *join(char *const *words)
{
    size_t size = 1, used = 0;
    char *text;

    for (size_t i = 0; words[i] != NULL; i++)
        size += strlen(words[i]) + 1;
    text = xcalloc(1, size);
    for (size_t i = 0; words[i] != NULL; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i > 0 ? " " : "", words[i]);
    return text;
}

/* Those by which the parts of an MPI library are set up; they are borrowed. */
static void take_env(struct mpi_order *order)
{
    size_t n = 0;

    while (environ[n] != NULL)
        n++;
    order->env = xcalloc(n, sizeof *order->env);
    for (size_t i = 0; i < n; i++)
        if (mpi_order_takes(environ[i], strcspn(environ[i], "=")))
            order->env[order->n_env++] = environ[i];
}

static int read_table(const char *path, char **ret)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    _cleanup_free_ char *text = xcalloc(1, MPI_HOST_FILE_MAX + 1);
    size_t got = 0;
    ssize_t n = 1;

    if (fd == -1)
        return -errno;
    while (n > 0 && got < MPI_HOST_FILE_MAX) {
        n = read(fd, text + got, MPI_HOST_FILE_MAX - got);
        got += n > 0 ? (size_t)n : 0;
    }
    *ret = TAKE_PTR(text);
    return n < 0 ? -errno : 0;
}

/* Whoever begins mpirun looks for it at the end. */
static void mark_used(const char *table)
{
    const char *slash = strrchr(table, '/');
    _cleanup_free_ char *path =
        text_format("%.*s/used", slash != NULL ? (int)(slash - table) : 0, table);
    _cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    (void)fd;
}

/* The secret, and which job it is of. */
static int read_job(struct mpi_meeting *meeting)
{
    struct edl_client *client = NULL;
    struct edl_self *self = NULL;
    int r = edl_client_new(NULL, &client);

    if (r < 0)
        return fail("EDL_SOCKET is not set", "mpirun has to keep the environment of its job");
    r = edl_self_read(client, &self);
    if (r == 0) {
        meeting->job_id = self->job_id;
        r = edl_secret(client, meeting->secret);
    }
    r = r < 0 ? fail(edl_last_error(client), "") : 0;
    (void)edl_self_free(self);
    (void)edl_client_free(client);
    return r;
}

static int call(const char *table, const char *host, char *const *words)
{
    _cleanup_free_ char *text = NULL, *command = join(words);
    struct mpi_order order = { .command = command };
    struct mpi_slot_place place;
    struct mpi_meeting meeting;
    struct edl_error error = { 0 };
    int r = read_table(table, &text);

    if (r < 0)
        return fail("the table of hosts cannot be read", strerror(-r));
    if (mpi_hosts_find(text, host, &place, &error) < 0)
        return fail(error.text, error.remedy);
    r = read_job(&meeting);
    if (r != 0)
        return r;
    mark_used(table);
    take_env(&order);
    r = mpi_call(&meeting, &place, &order, &error);
    free(order.env);
    if (r < 0)
        (void)fprintf(stderr, "edl: %s: %s\n", host, error.text);
    return r < 0 ? EXIT_NO_CALL : r;
}

int main(int argc, char **argv)
{
    const char *table = getenv("EDL_MPI_HOSTS");
    char **words = skip_options(argv + 1);

    if (argc == 2 && streq(argv[1], "--version")) {
        (void)printf("edl-mpi-rsh %s\n", EDL_VERSION);
        return 0;
    }
    if (words[0] == NULL || words[1] == NULL) {
        (void)fprintf(stderr, "Usage: edl-mpi-rsh [OPTION]... HOST COMMAND...\n"
                              "What mpirun starts in the place of ssh, in a job in mode mpi. See "
                              "edl-mpi(1).\n");
        return argc == 2 && streq(argv[1], "--help") ? 0 : EXIT_NO_CALL;
    }
    if (table == NULL)
        return fail("EDL_MPI_HOSTS is not set", "edl-mpi starts mpirun, and mpirun this program");
    return call(table, words[0], words + 1);
}
