/* SPDX-License-Identifier: Apache-2.0 */
/* paddle_flags.h - the flags of PaddlePaddle's `paddle train` and `paddle pserver`, with its
 * defaults
 *
 * `--name=value`, `--name value`; of a boolean also `--name` and `--noname`. A flag that the
 * command line does not give is taken from PADDLE_INIT_NAME, then it has its default. Pure but for
 * the environment, which the caller hands in. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct edl_error;

enum paddle_flag {
    FLAG_JOB,
    FLAG_CONFIG,
    FLAG_CONFIG_ARGS,
    FLAG_DATA,
    FLAG_LOCAL,
    FLAG_NUM_PASSES,
    FLAG_SAVE_DIR,
    FLAG_SAVING_PERIOD,
    FLAG_SAVING_BATCHES,
    FLAG_SAVE_ONLY_ONE,
    FLAG_SAVE_TAR,
    FLAG_START_PASS,
    FLAG_INIT_MODEL_PATH,
    FLAG_LOAD_MISSING,
    FLAG_PREDICT_DIR,
    FLAG_TEST_PERIOD,
    FLAG_LOG_PERIOD,
    FLAG_DOT_PERIOD,
    FLAG_SEED,
    FLAG_TRAINER_ID,
    FLAG_NUM_GRADIENT_SERVERS,
    FLAG_PSERVERS,
    FLAG_PORT,
    FLAG_PORTS_NUM,
    FLAG_PORTS_NUM_FOR_SPARSE,
    FLAG_NICS,
    FLAG_USE_GPU,
    FLAG_SECRET_FILE,
    FLAG_LAG_MIN,
    FLAG_LAG,
    FLAG_SEND_EVERY,
    FLAG_CENTER,
    FLAG_DELTA_ADD_RATE,
    FLAG_COMMENT,
    PADDLE_FLAGS_USED, /* those from here on are taken and have no effect */
};

enum flag_kind { FLAG_TEXT, FLAG_BOOL, FLAG_COUNT, FLAG_REAL };

/* Of a flag of the table, whether it has an effect here or not. */
struct paddle_flag_row {
    const char *name, *fallback;
    enum flag_kind kind;
    bool of_train, of_pserver; /* which program heeds it; both false: none */
    const char *help;          /* NULL: without effect */
};

struct paddle_flags {
    const char
        *values[PADDLE_FLAGS_USED]; /* borrowed from argv, environment or table; never NULL */
    bool given[PADDLE_FLAGS_USED];  /* by command line or environment */
    bool typed[PADDLE_FLAGS_USED];  /* by the command line */
    const char *idle[64];           /* names of flags that were given and have no effect */
    size_t n_idle;
    bool help;
};

typedef const char *(*paddle_environment_fn)(const char *name);

/* paddle_flags_parse - argv[0 .. argc) are the words behind the subcommand
 * -EINVAL with error: an unknown flag (with the nearest one), a value that is none of its kind */
int paddle_flags_parse(int argc, char *const *argv, paddle_environment_fn environment,
                       struct paddle_flags *ret, struct edl_error *error);

bool paddle_flag_is(const struct paddle_flags *flags, enum paddle_flag flag); /* of a boolean */
uint64_t paddle_flag_count(const struct paddle_flags *flags,
                           enum paddle_flag flag); /* of a count */

/* paddle_flag_row - the n-th of the table, NULL behind the last one */
const struct paddle_flag_row *paddle_flag_row(size_t n);
