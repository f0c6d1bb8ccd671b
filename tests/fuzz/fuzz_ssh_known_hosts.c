/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_ssh_known_hosts.c - any bytes as a file of known_hosts; its word on a host is the same
 * twice. A line written for that host is found behind any of them */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/ssh/ssh_known_hosts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t key[] = "\0\0\0\x0bssh-ed25519\0\0\0\x04"
                             "abcd";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t salt[SSH_SHA1_BYTES] = { 1, 2, 3 };
    struct ssh_known_hosts once, again;
    char *line;

    ssh_known_hosts_begin(&once, "n1", key, sizeof key - 1);
    ssh_known_hosts_read(&once, "file", (const char *)data, size);
    ssh_known_hosts_begin(&again, "n1", key, sizeof key - 1);
    ssh_known_hosts_read(&again, "file", (const char *)data, size);
    if (ssh_known_hosts_verdict(&once) != ssh_known_hosts_verdict(&again) ||
        once.line != again.line)
        abort();
    line = ssh_known_hosts_line("n1", key, sizeof key - 1, salt);
    ssh_known_hosts_read(&again, "file", line, strlen(line));
    free(line);
    if (!again.same)
        abort();
    return 0;
}
