/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_model.c - `edl model show`: what a saved model holds
 *
 * edl-trainer reads it: that knows networks and the files of parameters. */
#include <errno.h>

#include "client/program_beside.h"
#include "client/report.h"
#include "client/verb.h"
#include "shared/error.h"
#include "shared/macro.h"

struct model_options {
    struct common_options common;
    const char *config_args;
};

static const struct option_spec model_options[] = {
    { "config_args", 0, OPTION_TEXT, "NAME=NUMBER,...", "as it was trained with, for the shapes",
      offsetof(struct model_options, config_args) },
    { .name = NULL },
};

static int run(const struct invocation *invocation)
{
    const struct model_options *o = invocation->options;
    const char *argv[8] = { "edl-trainer", "model", "show", invocation->arguments.args[1] };
    struct edl_error error = { 0 };
    size_t n = 4;

    if (!streq(invocation->arguments.args[0], "show")) {
        (void)edl_error_set(&error, -EINVAL, "model: only `show` is known");
        (void)edl_error_remedy(&error, "edl model show DIR/pass-00000");
        return report_error(&error);
    }
    if (o->config_args != NULL) {
        argv[n++] = "--config_args";
        argv[n++] = o->config_args;
    }
    if (o->common.json)
        argv[n++] = "--json";
    (void)program_become(argv, "edl-trainer", &error);
    return report_error(&error);
}

const struct verb verb_model = {
    .name = "model",
    .usage = "show DIR [--config_args NAME=NUMBER,...]",
    .summary = "Parameters, shapes and norms of a saved model",
    .details =
        "DIR is a pass that edl-trainer saved, or the folder model of a job.\n"
        "A line for each parameter: shape, values, bytes, L2 norm, largest absolute value, mean.\n"
        "Shapes follow the network beside them; one that was trained with arguments of its own\n"
        "needs them again. Exit status: 0 whole, 1 a file is damaged, and named.",
    .options = model_options,
    .options_size = sizeof(struct model_options),
    .min_args = 2,
    .max_args = 2,
    .local = true,
    .run = run,
};
