/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_model.c - `edl model show|nearest|csv`: the contents of a saved model
 *
 * edl-trainer reads it: that knows networks and the files of parameters. */
#include "client/program_beside.h"
#include "client/verb.h"

struct model_options {
    struct common_options common;
    const char *config_args, *parameter;
    uint64_t columns, count;
};

static const struct option_row model_options[] = {
    { "config_args", "NAME=NUMBER,...", "as it was trained with, for the shapes", option_text,
      OPTION_FIELD(struct model_options, config_args) },
    { "parameter", "NAME", "of nearest: not the embedding with most rows", option_text,
      OPTION_FIELD(struct model_options, parameter) },
    { "columns", "N", "of a row, where no network lies beside the parameters", option_positive,
      OPTION_FIELD(struct model_options, columns) },
    { "count", "N", "of nearest: rows that are told (10)", option_positive,
      OPTION_FIELD(struct model_options, count), .letter = 'n' },
};

static int run(const struct invocation *invocation)
{
    return program_continue(invocation, "edl-trainer", "model", "edl-trainer");
}

const struct verb verb_model = {
    .name = "model",
    .usage = "show DIR | nearest DIR WORD | csv DIR PARAMETER [--config_args NAME=NUMBER,...]",
    .summary = "Parameters, shapes and norms of a saved model; rows that are alike; CSV",
    .details =
        "DIR is a pass that edl-trainer saved, or the folder model of a job.\n"
        "A line for each parameter: shape, values, bytes, L2 norm, largest absolute value, mean.\n"
        "Shapes follow the network beside them; one that was trained with arguments of its own\n"
        "needs them again. Exit status: 0 whole, 1 a file is damaged, and named.\n"
        "nearest tells the rows of an embedding that are most like that of WORD (of word_dict) or\n"
        "of a row number. It goes by the cosine between them. csv prints a parameter, a line for "
        "each row.",
    VERB_OPTIONS(model_options, struct model_options),
    .min_args = 2,
    .max_args = 3,
    .local = true,
    .run = run,
};
