/* SPDX-License-Identifier: Apache-2.0 */
/* prober.c - program edl-prober: asks the machine what may take its time to answer
 *
 * A file system of the network that hangs, a driver that wakes its device: whoever asks such things
 * waits. The agent must not, so it has this process ask, and kills it when it does not come back.
 * For each line or message on standard input it writes one document to standard output. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "agent/machine.h"
#include "shared/cleanup.h"
#include "shared/log.h"
#include "shared/macro.h"

/* answer - one write: over a socket of the agent's kind that is one message */
static int answer(const struct machine_disk *disks, size_t n)
{
    json_t *json =
        json_pack("{s:o,s:o}", "nics", machine_nics(""), "disks", machine_disks(disks, n));
    _cleanup_free_ char *text = json_dumps(json, JSON_COMPACT);
    struct iovec parts[] = { { .iov_base = text }, { .iov_base = (char[]){ '\n' }, .iov_len = 1 } };

    json_decref(json);
    if (text == NULL)
        return -EINVAL;
    parts[0].iov_len = strlen(text);
    return writev(STDOUT_FILENO, parts, ELEMENTS(parts)) == -1 ? -errno : 0;
}

int main(int argc, char **argv)
{
    struct machine_disk disks[] = { { "state", NULL }, { "output", NULL } };
    char request[64];

    log_init("edl-prober");
    if (argc == 2 && streq(argv[1], "--version")) {
        (void)printf("edl-prober %s\n", EDL_VERSION);
        return 0;
    }
    if (argc != 3 || argv[1][0] == '-') {
        (void)fprintf(stderr,
                      "Usage: edl-prober STATE_DIR OUTPUT_DIR\n"
                      "Tells edl-agent of disks and network interfaces, once for each line.\n");
        return argc == 2 && streq(argv[1], "--help") ? 0 : 2;
    }
    disks[0].path = argv[1];
    disks[1].path = argv[2];
    while (read(STDIN_FILENO, request, sizeof request) > 0)
        if (answer(disks, ELEMENTS(disks)) < 0)
            return 1;
    return 0;
}
