/* SPDX-License-Identifier: Apache-2.0 */
/* program_input.c - see program_input.h
 *
 * The end for writing stays open in the supervisor, so that no reader sees an end. It is for
 * writing alone: once the program has closed its input, a session is told so by the kernel (ENXIO,
 * EPIPE) and fills no pipe that nobody reads. */
#include "agent/supervisor/program_input.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "agent/machine/account.h"
#include "shared/cleanup.h"
#include "shared/error.h"

/* open_ends - the reader first: an open for writing would wait for one */
static int open_ends(int dir_fd, const struct account *account, struct program_input *ret)
{
    struct stat st;

    ret->program_fd =
        openat(dir_fd, PROGRAM_INPUT_FIFO, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (ret->program_fd == -1 || fstat(ret->program_fd, &st) == -1)
        return -errno;
    if (!S_ISFIFO(st.st_mode))
        return -EEXIST;
    ret->held_fd =
        openat(dir_fd, PROGRAM_INPUT_FIFO, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (ret->held_fd == -1 || fcntl(ret->program_fd, F_SETFL, 0) == -1) /* a program waits */
        return -errno;
    if (account != NULL && account->is_other &&
        fchown(ret->program_fd, account->uid, account->gid) == -1)
        return -errno;
    return 0;
}

int program_input_open(int dir_fd, const json_t *order, const struct account *account,
                       struct program_input *ret, struct edl_error *error)
{
    int r = 0;

    if (!json_is_true(json_object_get(order, "stdin")))
        return 0;
    if (mkfifoat(dir_fd, PROGRAM_INPUT_FIFO, 0600) == -1)
        r = -errno;
    if (r == 0)
        r = open_ends(dir_fd, account, ret);
    if (r < 0) {
        program_input_close(ret);
        return edl_error_errno(error, r, "cannot make the FIFO of its standard input");
    }
    return 0;
}

void program_input_given(struct program_input *input)
{
    input->program_fd = safe_close(input->program_fd);
}

void program_input_end(struct program_input *input)
{
    input->held_fd = safe_close(input->held_fd);
}

void program_input_close(struct program_input *input)
{
    program_input_end(input);
    program_input_given(input);
}
