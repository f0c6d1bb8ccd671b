/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_ssh_config.c - any text as the output of `ssh -G` */
#include <stdlib.h>
#include <string.h>

#include "client/ssh/ssh_config.h"
#include "client/ssh/ssh_session.h"
#include "shared/macro.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct ssh_target target = { .host = "n7" };
    const struct ssh_place place = { "/home/me", "me", NULL };
    struct ssh_config config;
    char *text = xcalloc(size + 1, 1);

    if (size > 0)
        memcpy(text, data, size);
    ssh_config_parse(text, &target, &place, &config);
    if (config.hostname == NULL || config.user == NULL || config.port == 0)
        abort();
    ssh_config_clear(&config);
    free(text);
    return 0;
}
