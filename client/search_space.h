/* SPDX-License-Identifier: Apache-2.0 */
/* search_space.h - what a search may choose from: parameters, metric, budget, method, seed
 *
 * A value is a double: the number of a float or an int, the index of a choice, NAN where its
 * parameter is not active (its `when` does not hold). Values stand in the order of the parameters.
 * edl-search-space(5) tells how a space is written. Pure but for search_space_read.c, which reads
 * documents. Tests: tests/unit/test_search_space.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct edl_error;
struct json_t;

#define SEARCH_PARAMETERS_MAX 64
#define SEARCH_LEVELS_MAX 64 /* of a choice */
#define SEARCH_CONDITIONS_MAX 4
#define SEARCH_NAME_MAX 31
#define SEARCH_TRIALS_MAX 10000
#define SEARCH_RUNGS_MAX 16
#define SEARCH_PARALLEL_MAX 1000

enum search_kind { SEARCH_FLOAT, SEARCH_INT, SEARCH_CHOICE };

/* Holds when another parameter, which stands before, is active and at one of these levels. */
struct search_condition {
    unsigned int parameter;
    uint64_t levels; /* a bit for each */
};

struct search_parameter {
    char name[SEARCH_NAME_MAX + 1];
    enum search_kind kind;
    bool is_log;
    double min, max;        /* of a float or an int */
    unsigned int n_levels;  /* values that can be told apart; 0: a float without `steps` */
    bool has_steps;         /* a float or an int takes n_levels values, evenly spaced */
    struct json_t **levels; /* of a choice: n_levels values, text, numbers or booleans */
    struct search_condition conditions[SEARCH_CONDITIONS_MAX];
    unsigned int n_conditions; /* all of them must hold */
};

enum search_method {
    SEARCH_RANDOM,
    SEARCH_GRID,
    SEARCH_ASHA,
    SEARCH_EVOLUTION,
    SEARCH_ANNEALING,
    SEARCH_TPE,
    SEARCH_METHODS
};

struct search_budget {
    unsigned int trials; /* each budget: 0: not given */
    double core_hours;
    uint64_t elapsed_us;
};

/* What a metric is told against: epochs, steps. min, max: of rungs; 0: not given. */
struct search_resource {
    char name[SEARCH_NAME_MAX + 1]; /* "": none */
    uint64_t min, max;
};

struct search_settings {
    unsigned int parallel;   /* trial k is chosen by the results of 1 to k - parallel; 0: by none */
    unsigned int population; /* evolution */
    unsigned int sample;     /* evolution */
    double temperature;      /* annealing: in spreads of the metric, at the first trial */
    double cooling;          /* annealing: the temperature's factor from trial to trial */
    unsigned int eta;        /* asha: one of so many goes on */
    unsigned int startup;    /* tpe: trials at random first */
};

struct search_space {
    struct search_parameter *parameters;
    unsigned int n_parameters;
    char metric[SEARCH_NAME_MAX + 1];
    bool is_maximised;
    bool takes_best; /* of what a trial tells on a rung: its best value; false: its last */
    struct search_budget budget;
    struct search_resource resource;
    enum search_method method;
    struct search_settings settings; /* none is left at "not given" */
    unsigned int failures;           /* so many failed trials without a success end the search */
    uint64_t seed;
};

/* search_space_parse - text of a file, YAML or JSON; *ret: search_space_free
 *
 * Errors: EDL_EBADSPEC, with the key's pointer, its value and a remedy; -E2BIG for too long a text.
 */
int search_space_parse(const char *text, size_t size, struct search_space **ret,
                       struct edl_error *error);

/* search_space_from_json - as above, of a document that is read already */
int search_space_from_json(const struct json_t *document, struct search_space **ret,
                           struct edl_error *error);

/* search_space_to_json - a new reference; search_space_from_json reads it back as the same space
 *
 * Each default is written out: a later version may have others, the search keeps its own. */
struct json_t *search_space_to_json(const struct search_space *space);

/* search_space_free - NULL is fine; returns NULL */
struct search_space *search_space_free(struct search_space *space);

/* search_method_name - "asha", static */
const char *search_method_name(enum search_method method);

/* search_values_to_json - {"lr": 0.001, "layers": 3}, without what is not active; a new reference
 */
struct json_t *search_values_to_json(const struct search_space *space, const double *values);

/* search_values_from_json - into values[n_parameters]; EDL_EBADSPEC when a name or a value is none
 * of the space, or one that is active is missing */
int search_values_from_json(const struct search_space *space, const struct json_t *json,
                            double *values, struct edl_error *error);

/* search_value_text - as a command takes it: "0.001", "3", "adam", "true"; "" when it is not
 * active. A new text. */
char *search_value_text(const struct search_parameter *parameter, double value);

/* ---- pure: between values and the numbers that methods work on ---- */

/* search_is_active - by the values of the parameters before this one */
bool search_is_active(const struct search_space *space, unsigned int parameter,
                      const double *values);

/* search_from_unit - the value at 0 <= unit < 1 of its range: evenly spread, in the logarithm where
 * `log` says so. A float has six digits. */
double search_from_unit(const struct search_parameter *parameter, double unit);

/* search_to_unit - the reverse; a level is in the middle of its part of the range */
double search_to_unit(const struct search_parameter *parameter, double value);

/* search_level - 0 to n_levels - 1, of a parameter that has levels; -1: not active, or no level */
int64_t search_level(const struct search_parameter *parameter, double value);
double search_from_level(const struct search_parameter *parameter, unsigned int level);

/* search_values_equal - the same point; both are NAN where a parameter is not active */
bool search_values_equal(const struct search_space *space, const double *a, const double *b);

/* search_point_first, search_point_next - the points of a space whose parameters all have levels,
 * the last parameter fastest; next: false after the last one */
void search_point_first(const struct search_space *space, double *values);
bool search_point_next(const struct search_space *space, double *values);

/* search_is_finite - each parameter has levels */
bool search_is_finite(const struct search_space *space);
