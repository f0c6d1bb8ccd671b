/* SPDX-License-Identifier: Apache-2.0 */
/* store_families.c - what is learnt of families of jobs, to rows and back */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/core/learn/families.h"
#include "scheduler/core/record/records.h"
#include "scheduler/store/row.h"
#include "scheduler/store/store_internal.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"

#define FIT_ELEMENTS ((size_t)GOODPUT_THETAS * (GOODPUT_THETAS + 1))

static char *numbers_to_text(const double *numbers, size_t n)
{
    json_t *array = json_array();

    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(array, json_real(numbers[i]));
    return store_json_text(array);
}

static char *fit_to_text(const struct goodput_pserver_fit *fit)
{
    double numbers[FIT_ELEMENTS];

    memcpy(numbers, fit->gram, sizeof fit->gram);
    memcpy(numbers + GOODPUT_THETAS * GOODPUT_THETAS, fit->moment, sizeof fit->moment);
    return numbers_to_text(numbers, FIT_ELEMENTS);
}

int store_trim_families(struct store *store, const struct turn_rest *rest, struct edl_error *error)
{
    if (rest->n_families == 0)
        return 0;
    store_bind_u64(store->statements[ST_FAMILY_TRIM], 1, CLUSTER_FAMILIES_MAX);
    return store_step_done(store, ST_FAMILY_TRIM, error);
}

static int put(struct store *store, const struct goodput_family_facts *of, struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_FAMILY_PUT];
    const struct goodput_family_facts family = *of;
    _cleanup_free_ char *ended = numbers_to_text(family.ended, family.n_ended);
    _cleanup_free_ char *fit = fit_to_text(&family.prior.fit);
    char program[17] = "";

    if (family.prior.program != 0)
        (void)snprintf(program, sizeof program, "%016" PRIx64, family.prior.program);
    store_bind_text(statement, 1, family.name);
    store_bind_u64(statement, 2, family.n_begun);
    store_bind_real(statement, 3, family.most);
    store_bind_text(statement, 4, ended);
    store_bind_u64(statement, 5, family.prior.largest);
    store_bind_real(statement, 6, family.prior.unit_s);
    store_bind_real(statement, 7, family.prior.resize_s);
    store_bind_text(statement, 8, fit);
    store_bind_text(statement, 9, program);
    store_bind_u64(statement, 10, family.prior.tries);
    store_bind_u64(statement, 11, ++store->numbers.family);
    return store_step_done(store, ST_FAMILY_PUT, error);
}

int store_put_family(struct store *store, const struct job *job, struct edl_error *error)
{
    struct goodput_family_facts family;
    int r = 0;

    for (unsigned i = 0; r == 0 && i < FAMILY_RECORDS; i++)
        if (record_of_family(job, i, &family)) /* else others came since */
            r = put(store, &family, error);
    return r;
}

/* The numbers of a column, n of them; the caller frees them. NULL once row->r is set. */
static double *read_numbers(struct row *row, int column, size_t most, size_t *ret_n)
{
    json_t *array = row_array(row, column, most);
    double *numbers = xcalloc(json_array_size(array), sizeof *numbers);
    json_t *value;
    size_t i;

    json_array_foreach(array, i, value)
    {
        numbers[i] = json_number_value(value);
        if (!json_is_number(value))
            (void)row_damaged(row, column, "has an element that is no number");
    }
    *ret_n = json_array_size(array);
    json_decref(array);
    return numbers;
}

static void read_fit(struct row *row, int column, struct goodput_prior *prior)
{
    size_t n;
    _cleanup_free_ double *numbers = read_numbers(row, column, FIT_ELEMENTS, &n);

    if (n != FIT_ELEMENTS) {
        (void)row_damaged(row, column, "has too few elements");
        return;
    }
    goodput_pserver_init(&prior->fit, 1, false);
    memcpy(prior->fit.gram, numbers, sizeof prior->fit.gram);
    memcpy(prior->fit.moment, numbers + GOODPUT_THETAS * GOODPUT_THETAS, sizeof prior->fit.moment);
    prior->fit.reports = prior->largest > 0;
}

static void read_program(struct row *row, int column, struct goodput_prior *prior)
{
    char text[17], *end = text;

    row_text(row, column, text, sizeof text);
    if (row->r < 0 || text[0] == '\0')
        return;
    prior->program = strtoull(text, &end, 16);
    if (strspn(text, "0123456789abcdef") != 16 || prior->program == 0)
        (void)row_damaged(row, column, "is not 16 hexadecimal digits");
}

static int load(struct cluster *cluster, struct prepared *statement, struct edl_error *error)
{
    struct goodput_family_facts family = { .name = store_column_text(statement, 0) };
    _cleanup_free_ double *ended = NULL;
    struct row row;
    int r;

    row_begin(&row, statement, error, "family %s", family.name);
    family.n_begun = row_u64(&row, 1, INT64_MAX);
    family.most = store_column_real(statement, 2);
    ended = read_numbers(&row, 3, GOODPUT_FAMILY_ENDED_MAX, &family.n_ended);
    family.ended = ended;
    family.prior.largest = (uint32_t)row_u64(&row, 4, ROLE_INSTANCES_MAX);
    family.prior.unit_s = store_column_real(statement, 5);
    family.prior.resize_s = store_column_real(statement, 6);
    read_fit(&row, 7, &family.prior);
    read_program(&row, 8, &family.prior);
    family.prior.tries = (uint32_t)row_u64(&row, 9, UINT32_MAX);
    if (row.r < 0)
        return row.r;
    r = cluster_restore_family_record(cluster, &family, error);
    if (r < 0)
        edl_error_prefix(error, "the database: ");
    return r;
}

void store_load_family(struct cluster *cluster, struct prepared *statement)
{
    struct edl_error error = { 0 };

    if (load(cluster, statement, &error) < 0)
        log_warning("%s; its figures are forgotten", error.text);
}
