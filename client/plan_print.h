/* SPDX-License-Identifier: Apache-2.0 */
/* plan_print.h - a forecast of the server's in words */
#pragma once

#include <jansson.h>
#include <stdio.h>

/* What was asked, for the first sentence. */
struct plan_question {
    const char *does;  /* "start"; behind "would", in front of the time */
    const char *about; /* "job example", "node n1"; "": the job itself, which has no name yet */
};

/* plan_print - a sentence, where, who gives way, what it costs */
void plan_print(FILE *out, const struct plan_question *question, const json_t *plan);
