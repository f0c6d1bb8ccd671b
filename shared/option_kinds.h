/* SPDX-License-Identifier: Apache-2.0 */
/* option_kinds.h - what values of options are: see option_kind in options_table.h
 *
 * Each writes the field of its row. -EINVAL: the text is none; -ERANGE: it is beyond the bounds of
 * the row. */
#pragma once

#include "shared/options_table.h"

int option_text(const struct option_value *value, struct edl_error *error); /* const char * */
int option_path(const struct option_value *value, struct edl_error *error); /* char[] */
int option_flag(const struct option_value *value, struct edl_error *error); /* bool */
int option_real(const struct option_value *value, struct edl_error *error); /* float */

/* uint64_t: a number, bytes, millicores, microseconds of a time, microseconds of days */
int option_u64(const struct option_value *value, struct edl_error *error);
int option_bytes(const struct option_value *value, struct edl_error *error);
int option_cpu(const struct option_value *value, struct edl_error *error);
int option_time(const struct option_value *value, struct edl_error *error);
int option_days(const struct option_value *value, struct edl_error *error);
