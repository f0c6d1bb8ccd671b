/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_agent_conf.c - any bytes as agent.conf
 *
 * A refusal says why; an accepted text is the same when it is read once more. */
#include "agent/options.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "tests/fuzz/conf_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char name[] = "edl-agent", conf[] = "--conf";
    struct option_change changes[OPTIONS_MAX];
    struct agent_options options, again;
    struct edl_error error = { 0 };
    char path[32];
    _cleanup_close_ int fd = conf_file(data, size, path);
    char *argv[] = { name, conf, path, NULL };

    if (options_parse(3, argv, &options, &error) != 0) {
        if (error.text[0] == '\0')
            abort();
        return fd < 0;
    }
    if (options_reread(&options, &again, &error) != 0 ||
        options_changes(&options, &options, &again, changes) != 0)
        abort();
    options_done(&again);
    options_done(&options);
    return 0;
}
