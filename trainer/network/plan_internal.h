/* SPDX-License-Identifier: Apache-2.0 */
/* plan_internal.h - a plan from inside: for plan*.c alone */
#pragma once

#include "kernels/mirror.h"
#include "trainer/layers/layer.h"
#include "trainer/network/plan.h"

/* What lies in the arena for one layer; NULL: it has none. */
struct place {
    void *value;    /* what others read: [rows, size] */
    void *raw;      /* before the dropout; without one the same as value */
    void *before;   /* the activation, where its derivative needs that */
    void *mask;     /* of the dropout */
    void *gradient; /* of value, then of raw, then of what the activation took */
    void *kept, *scratch_forward, *scratch_backward;
    void *spill[LAYER_INPUTS_MAX]; /* a gradient that is added to one that is there */
};

/* A layer as the plan runs it. */
struct step {
    struct layer_run run;
    struct place place;
    bool trains;          /* a cost depends on it, and it on a parameter */
    uint32_t last_reader; /* the layer that comes last of those that take it; itself: none */
    uint32_t nth_dropout;
    struct mirror indices; /* of a table: u32[rows, inputs] */
};

/* The rows of a sparse parameter in a batch. */
struct touched {
    uint64_t *seen;     /* bit per row */
    uint32_t *position; /* of a row in the list */
    uint32_t *rows, n;
    size_t room; /* of rows */
};

struct plan {
    struct plan_config config;
    struct step *steps;      /* [layers] */
    struct touched *touched; /* [params]; seen NULL: whole */
    uint32_t *table_rows;    /* [params] of the gradient */
    bool *written;           /* [params] */
    void *arena;
    size_t arena_bytes;
    size_t rows_max; /* of sequences, that the arena has room for */
    struct batch batch;
    struct mirror targets[INPUTS_MAX]; /* i32[batch_max] of an input of ids, on a device */
    struct plan_result result;
    double cost, counted;
    /* while a step is looked through */
    char *blame;
    size_t blame_size;
};

/* plan_lay_out - the arena for so many rows of a sequence; an older one is released; -ENOMEM */
int plan_lay_out(struct plan *plan, size_t rows_max, struct edl_error *error);

/* plan_upload_ids - rows and classes of the batch that is remembered, to a device */
void plan_upload_ids(const struct plan *plan);

/* plan_keeps_before - a value does not tell what its activation took */
static inline bool plan_keeps_before(const struct network_layer *layer)
{
    return layer->options.activation == ACTIVATION_ABS ||
           layer->options.activation == ACTIVATION_SQUARE;
}

/* plan_size_of - elements of a layer's output in the batch that is remembered */
static inline size_t plan_elements(const struct plan *plan, const struct step *step)
{
    (void)plan;
    return step->run.rows * step->run.layer->shape.size;
}
