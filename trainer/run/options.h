/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - what a process of a job is told: environment first, long options over it */
#pragma once

#include "shared/options_table.h"

/* options_parse - rows as of shared/options_table.h, each with its field; program is "edl-trainer".
 * ret_words: as of options_read_words; NULL: words are refused. Returns OPTIONS_RUN, or
 * OPTIONS_HELP or OPTIONS_VERSION when that was printed; -EINVAL with an error that names the
 * option. */
int options_parse(int argc, char **argv, const char *program, const char *usage,
                  const struct option_row *rows, size_t n_rows, struct option_words *ret_words,
                  struct edl_error *error);

/* options_bad_usage - the exit status of a program whose words, or what they name, are wrong. In a
 * job (EDL_SOCKET) it is EX_CONFIG: another try is of no use, see edl-job(5), restart. */
int options_bad_usage(void);
