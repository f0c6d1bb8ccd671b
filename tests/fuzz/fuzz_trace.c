/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_trace.c - any bytes as a trace of jobs, CSV or JSON by the first one; an accepted trace is
 * played */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/trace/run.h"
#include "simulator/trace/trace.h"
#include "simulator/trace/trace_file.h"

#define JOBS_MAX 50
#define ROUND_S 3600.0
#define TURNS_MAX                                                                                  \
    2000 /* of a run: what takes more is another one's length, and has to be refused */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int parse(const uint8_t *data, size_t size, struct trace **ret)
{
    char *text = malloc(size + 1);
    int r;

    if (text == NULL)
        abort();
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    /* no file is opened for it */
    if (strstr(text, "pollux:") != NULL) {
        free(text);
        return -1;
    }
    if (size > 0 && text[0] == '{') {
        r = trace_parse_json("fuzz", text, size, false, ret, NULL);
        free(text);
        return r;
    }
    return trace_parse_csv("fuzz", text, size, false, ret, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct run_config config = {
        .n_nodes = 2,
        .per_node = 4,
        .information = { true, true, false },
        .max_turns = TURNS_MAX,
    };
    struct trace *trace = NULL;

    if (parse(data, size, &trace) < 0)
        return 0;
    for (size_t p = 0; trace->n <= JOBS_MAX && trace_policies[p] != NULL; p++)
        for (int rounds = 0; rounds < 2; rounds++) {
            struct run_result result;

            config.round_s = rounds * ROUND_S;
            if (run_trace(trace, trace_policies[p], &config, &result, NULL) == 0)
                run_result_done(&result);
        }
    (void)trace_free(trace);
    return 0;
}
