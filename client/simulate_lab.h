/* SPDX-License-Identifier: Apache-2.0 */
/* simulate_lab.h - `edl simulate --trace` and `edl replay`: traces under several policies, and how
 * it is told */
#pragma once

#include "client/simulate.h"
#include "shared/error.h"
#include "simulator/trace/figures.h"
#include "simulator/trace/run.h"

struct json_t;
struct trace;

#define LAB_RECORDED "recorded" /* the row of what really happened */

/* One policy at one level over all traces. */
struct lab_row {
    const struct trace_policy *policy;
    struct figures *figures; /* by trace */
    struct figures mean;
    double **completions_s; /* by trace and job */
    struct paired paired;   /* against lab->against, where that is another one */
    bool is_paired;
};

/* A policy that could not be run to the end: the others go on. */
struct lab_failure {
    const struct trace_policy *policy;
    struct edl_error error;
};

struct lab_level {
    const char *name; /* as --level has it */
    struct information information;
    struct trace **traces; /* owned; the batch is part of their physics */
    struct bounds *bounds;
    struct lab_row *rows;
    struct lab_failure *failures;
    size_t n_rows, n_failures;
    size_t *n_cut; /* by trace: jobs that asked for more than was measured; struct run_result */
};

struct lab {
    const struct simulate_options *options;
    struct run_config config;
    const struct trace_policy **policies;
    const struct trace_policy *against; /* NULL: no differences */
    struct lab_level *levels;
    size_t n_policies, n_levels, n_traces;
    const struct lab_record *record; /* NULL: traces of files, importers and generators */
};

/* What really happened: a trace, and the result of the run that reality was. Borrowed. */
struct lab_record {
    struct trace *trace;
    const struct run_result *result;
    struct json_t *about;                /* for --json */
    void (*print)(const void *userdata); /* the same for people, above the tables */
    const void *userdata;
};

/* simulate_lab - runs what the options and the FILEs behind them say; enum status */
int simulate_lab(const struct simulate_options *options, const struct option_words *arguments);

/* simulate_lab_record - the same of a trace that was recorded, beside a row of what happened; enum
 * status */
int simulate_lab_record(const struct simulate_options *options, const struct lab_record *record);

/* lab_traces - reads or makes the traces of a level. New array of new traces. */
int lab_traces(const struct simulate_options *options, const struct option_words *arguments,
               bool adaptive, struct trace ***ret, size_t *ret_n, struct edl_error *error);

/* lab_export - writes the one trace that the options name to --export */
int lab_export(const struct simulate_options *options, const struct option_words *arguments,
               struct edl_error *error);

/* lab_write - a trace in the form of edl-trace(5), JSON where the name ends in .json */
int lab_write(const struct trace *trace, const char *path, struct edl_error *error);

/* lab_nodes - "16x4"; -EINVAL names --nodes */
int lab_nodes(const char *text, uint32_t *ret_nodes, uint32_t *ret_per_node,
              struct edl_error *error);

/* lab_plot - completion times of all policies at the first level, as SVG */
int lab_plot(const struct lab *lab, const char *path, struct edl_error *error);

void lab_print_tables(const struct lab *lab);
void lab_print_json(const struct lab *lab);
