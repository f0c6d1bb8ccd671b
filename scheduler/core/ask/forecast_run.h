/* SPDX-License-Identifier: Apache-2.0 */
/* forecast_run.h - one change, tried in one play: the common parts of the files of a forecast */
#pragma once

#include <uthash.h>

#include "scheduler/core/ask/forecast.h"
#include "scheduler/core/ask/forecast_play.h"
#include "scheduler/core/model/states.h"
#include "shared/clock.h"

struct run;

/* The tried change: a call on the copy, and the question whether it is done. */
struct change {
    /* *ret_subject: the job that it is about, of the copy; left alone when there is none */
    int (*apply)(const struct change *change, struct cluster *copy, struct instant now,
                 struct job **ret_subject, struct edl_error *error);
    bool (*is_done)(const struct run *run);
    const char *now_text, *later_text; /* why it is done at once, or soon without anybody's loss */
    /* arguments */
    const struct job_spec *spec;
    const char *user;
    uint64_t job_id;
    const struct job_change *job_change;
    const char *node;
    enum node_state state;
};

/* A job of the copy, and its state before the change. */
struct tracked {
    const struct job *job;
    size_t first_role; /* of its roles in the forecast */
    bool was_queued, was_complete;
    uint32_t resizes;
    uint64_t next_incarnation;
    UT_hash_handle hh; /* k: job */
};

struct run {
    struct play play;
    const struct change *change;
    const struct cluster *cluster; /* the original */
    struct instant begin;
    struct job *subject;     /* of the copy; the first of an array; NULL: none */
    uint32_t n_array;        /* jobs of the array, with consecutive numbers; 0: it is none */
    uint32_t n_started;      /* of them, without a gap from the first on */
    struct tracked *tracked; /* uthash by job; owned */
    struct forecast *forecast;
    bool never; /* it does not fit these nodes even when they are empty */
    bool done;
    bool noted; /* how it is before the first job ends */
};

/* --- forecast_note.c --- */
void note_begin(struct run *run);
void note_end(struct run *run);
/* note_waiting - how it is while nothing ends */
void note_waiting(struct run *run);
/* note_done - it is done now; note_settled - and all that it set off as well */
void note_done(struct run *run);
void note_settled(struct run *run);
/* run_is_about - the subject, or one of the array */
bool run_is_about(const struct run *run, const struct job *job);
/* tracked_lacks - it had all of its minimum before the change, goes on and has not now */
bool tracked_lacks(const struct tracked *tracked);
const struct tracked *run_tracked(const struct run *run, const struct job *job);

/* --- forecast_text.c --- */
/* forecast_explain - code and reason by the verdict */
void forecast_explain(const struct run *run);
