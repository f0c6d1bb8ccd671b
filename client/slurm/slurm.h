/* SPDX-License-Identifier: Apache-2.0 */
/* slurm.h - the commands of Slurm as thin names over calls of ours, for all files of them */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/options_table.h"

struct edl_error;
struct server;
struct word_list;

/* A partition is a name that scripts look for: there is one. */
#define SLURM_PARTITION "edl"

/* The programs, by the names that people type. Each returns an exit status. */
int slurm_sbatch(int argc, char **argv);
int slurm_srun(int argc, char **argv);
int slurm_salloc(int argc, char **argv);
int slurm_squeue(int argc, char **argv);
int slurm_scancel(int argc, char **argv);
int slurm_sinfo(int argc, char **argv);
int slurm_sacct(int argc, char **argv);
int slurm_scontrol(int argc, char **argv);

/* slurm_fail - prints "squeue: text" and the remedy; exit status 1, as Slurm's commands end */
int slurm_fail(const char *program, const struct edl_error *error);

/* slurm_options - words of a command line by the rows of a program; *ret: see options_read_words.
 * "-h" is --noheader where there is such a row. Prints what is wrong, and the help. Returns 0, or
 * the exit status + 1 with which the program ends. */
int slurm_options(const struct options_table *table, int argc, char **argv, void *options,
                  struct option_words *ret);

/* slurm_open - the scheduler, as edl finds it; 0 or an exit status */
int slurm_open(struct server *ret);

/* slurm_is_in - whether a word is in a list with commas between; NULL: in none */
bool slurm_is_in(const char *list, const char *word);

/* slurm_jobs - a list of numbers with commas between; one that begins an array stands for all its
 * jobs, "12_3" for that of index 3. *ret: as numbers, the caller's to free. What is no number stays
 * as it is. 0 or an exit status */
int slurm_jobs(struct server *server, const char *list, char **ret);

/* ---- fields.c: what a job shows ---- */

struct slurm_job {
    struct server *server;
    const json_t *job;
    json_t *whole, *processes; /* owned; asked for when a field needs them */
};

void slurm_job_done(struct slurm_job *job);

/* A field of a job, by each of its names. */
struct slurm_field {
    char letter;                          /* of squeue -o; 0: none */
    const char *name;                     /* of sacct and squeue -O; case counts nothing */
    const char *header;                   /* of squeue */
    char *(*text)(struct slurm_job *job); /* the caller's to free */
};

const struct slurm_field *slurm_field_of_letter(char letter);
const struct slurm_field *slurm_field_of_name(const char *name, size_t size);

/* ---- format.c ---- */

/* slurm_format_print - a line by squeue's format, such as "%.18i %j": of the job, or NULL: of the
 * headers. text_of: what stands for a letter, the caller's to free; NULL: no such letter.
 * -EINVAL with remedy */
typedef char *(*slurm_letter)(char letter, void *of);
int slurm_format_print(const char *format, slurm_letter text_of, void *of, struct edl_error *error);

/* slurm_clock - "1:05", "2:00:00", "1-00:00:00"; whole: "00:01:05"; the caller's to free */
char *slurm_clock(uint64_t us, bool whole);

/* slurm_instant - "2026-11-30T10:00:00"; 0: none; the caller's to free */
char *slurm_instant(uint64_t wall_us, const char *none);

/* ---- run.c ---- */

/* slurm_edl - edl with these words, the first its verb; returns its exit status. is_quiet: its
 * output goes nowhere */
int slurm_edl(const struct word_list *words, bool is_quiet);

/* slurm_edl_become - the same in this process's place; returns only when it fails, an exit status
 */
int slurm_edl_become(const struct word_list *words);

/* slurm_edl_json - the same with --json: each value that it prints goes to take, borrowed */
int slurm_edl_json(const struct word_list *words, void (*take)(const json_t *value, void *userdata),
                   void *userdata);
