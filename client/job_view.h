/* SPDX-License-Identifier: Apache-2.0 */
/* job_view.h - what several verbs need to know of a job in the server's words */
#pragma once

#include <jansson.h>
#include <regex.h>
#include <stdbool.h>
#include <stdint.h>

struct log_output;
struct server;

/* job_is_final - succeeded, failed or killed */
bool job_is_final(const json_t *job);

/* job_path - "/jobs/<job, encoded><suffix>", new string */
char *job_path(const char *job, const char *suffix);

/* job_print_line - "job example (1) running", the reason after a colon when there is one */
void job_print_line(const json_t *job);

/* job_print_first_error - "first_error" of GET /jobs/{job}/why; nothing when there is none */
void job_print_first_error(const json_t *first);

/* job_print_skipped - how much of its data was skipped, behind the label; nothing when nothing was
 */
void job_print_skipped(const char *label, uint64_t tasks, uint64_t records);

/* job_print_lost - the same of damaged chunks: how many, and their records */
void job_print_lost(const char *label, uint64_t chunks, uint64_t records);

/* job_wait - until the job is final or timeout_us have passed (NEVER_US: no limit)
 * STATUS_OK: final, *ret_job is a new reference. STATUS_FAILED: not final in time (said on stderr),
 * or no such job. */
int job_wait(struct server *server, const char *job, uint64_t timeout_us, json_t **ret_job);

/* job_reason_is_news - whether to print why a job waits, passed_us after `told` was printed: at
 * once when the reason is another one, after a while when only its words are */
bool job_reason_is_news(const json_t *told, const json_t *job, uint64_t passed_us);

/* job_watch_* - why the job of a reader waits in the queue, on stderr: at once, and again when that
 * is news; also when it could not start and is queued again.
 * begin: told: the job with the reason that was printed already, borrowed; NULL: none was
 * look: asks for the job when that is due. STATUS_FAILED: no such job, or it is given up
 * wait_s: so long, at most, the reader may wait until it looks again */
struct job_watch {
    char *path; /* owned */
    const json_t *told;
    json_t *last;            /* owned: what told is after the first */
    const char *gives_up_at; /* see struct log_request */
    bool gave_up;
    bool left; /* it was not queued meanwhile */
    uint64_t told_us, next_us;
    unsigned wait_s;
};
void job_watch_begin(struct job_watch *watch, const char *job, const json_t *told);
int job_watch_look(struct server *server, struct job_watch *watch);
void job_watch_end(struct job_watch *watch);

/* job_outcome - STATUS_OK for succeeded, else STATUS_FAILED */
int job_outcome(const json_t *job);

/* What of a job's output is wanted. */
struct log_request {
    const char *job;
    const char *shown; /* in front of each process' name, of one job among several; NULL: nothing */
    const char *role;  /* NULL: all */
    const char *index; /* NULL: all */
    bool follow;
    bool has_tail;
    uint64_t tail;       /* of what was written until now the last so many lines */
    uint64_t since_us;   /* of what was written until now that of then or later; 0: all */
    const regex_t *grep; /* only lines that match; NULL: all */
    bool times;          /* when a line was written, in front of it */
    bool json;
    bool raw;                  /* as it was written, to a terminal too */
    bool folds;                /* what several processes print alike is shown once */
    struct log_output *output; /* borrowed; NULL: standard output */
    const char *const *nodes;  /* in front of the name of process i of each role; NULL: nothing */
    size_t n_nodes;
    /* reason_code with which a job that waits is not followed any longer: nobody will make it run.
     * NULL: none. *gave_up: whether it came */
    const char *gives_up_at;
    bool *gave_up;
};

/* job_logs - prints a job's output, each line behind its process' name; with follow until the job
 * ends, and why it waits meanwhile. told: see job_watch_begin */
int job_logs(struct server *server, const struct log_request *request, const json_t *told);
