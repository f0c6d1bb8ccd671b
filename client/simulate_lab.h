/* SPDX-License-Identifier: Apache-2.0 */
/* simulate_lab.h - `edl simulate --trace`: traces under several policies, and how it is told */
#pragma once

#include "client/simulate.h"
#include "simulator/trace/figures.h"
#include "simulator/trace/run.h"

struct trace;

/* One policy at one level over all traces. */
struct lab_row {
    const struct trace_policy *policy;
    struct figures *figures; /* by trace */
    struct figures mean;
    double **completions_s; /* by trace and job */
    struct paired paired;   /* against lab->against, where that is another one */
    bool is_paired;
};

struct lab_level {
    const char *name; /* as --level has it */
    struct information information;
    struct trace **traces; /* owned; the batch is part of their physics */
    struct bounds *bounds;
    struct lab_row *rows;
    size_t n_rows;
};

struct lab {
    const struct simulate_options *options;
    struct run_config config;
    const struct trace_policy **policies;
    const struct trace_policy *against; /* NULL: no differences */
    struct lab_level *levels;
    size_t n_policies, n_levels, n_traces;
};

/* simulate_lab - runs what the options and the FILEs behind them say; enum status */
int simulate_lab(const struct simulate_options *options, const struct arguments *arguments);

/* lab_traces - reads or makes the traces of a level. New array of new traces. */
int lab_traces(const struct simulate_options *options, const struct arguments *arguments,
               bool adaptive, struct trace ***ret, size_t *ret_n, struct edl_error *error);

/* lab_export - writes the one trace that the options name to --export */
int lab_export(const struct simulate_options *options, const struct arguments *arguments,
               struct edl_error *error);

/* lab_plot - completion times of all policies at the first level, as SVG */
int lab_plot(const struct lab *lab, const char *path, struct edl_error *error);

void lab_print_tables(const struct lab *lab);
void lab_print_json(const struct lab *lab);
