/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_trace.c - any bytes as a trace of jobs, CSV or JSON by the first one; what is taken is
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
#define SUBMIT_MAX_S 1e6 /* later ones would take as many rounds */
#define WORK_MAX 1e6

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

static bool is_small(const struct trace *trace)
{
    for (size_t i = 0; i < trace->n; i++)
        if (trace->jobs[i].submit_s > SUBMIT_MAX_S || trace->jobs[i].work_steps > WORK_MAX)
            return false;
    return trace->n <= JOBS_MAX;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct run_config config = {
        .n_nodes = 2, .per_node = 4, .round_s = ROUND_S, .information = { true, true, false }
    };
    struct trace *trace = NULL;

    if (parse(data, size, &trace) < 0)
        return 0;
    for (size_t p = 0; is_small(trace) && trace_policies[p] != NULL; p++) {
        struct run_result result;

        if (run_trace(trace, trace_policies[p], &config, &result, NULL) == 0)
            run_result_done(&result);
    }
    (void)trace_free(trace);
    return 0;
}
