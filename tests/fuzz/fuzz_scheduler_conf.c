/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_scheduler_conf.c - any bytes as scheduler.conf
 *
 * A refusal says why; an accepted text is the same when it is read once more. */
#include "scheduler/options.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "tests/fuzz/conf_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char name[] = "edl-scheduler", conf[] = "--conf";
    static struct scheduler_options options, again; /* large */
    struct option_change changes[OPTIONS_MAX];
    struct edl_error error = { 0 };
    char path[32];
    _cleanup_close_ int fd = conf_file(data, size, path);
    char *argv[] = { name, conf, path, NULL };
    bool done = false;

    if (options_parse(3, argv, &options, &done, &error) < 0) {
        if (error.text[0] == '\0')
            abort();
        return fd < 0;
    }
    if (options_parse(3, argv, &again, &done, &error) < 0 ||
        options_take(&options, &again, changes) != 0)
        abort();
    return 0;
}
