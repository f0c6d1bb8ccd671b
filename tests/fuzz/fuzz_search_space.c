/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_search_space.c - any bytes as the space of a search
 *
 * Beyond not crashing: a refusal carries a text and a remedy of its own or YAML's place; an
 * accepted space survives being written and read again, and so do the values of its first trials.
 */
#include <jansson.h>
#include <stdlib.h>

#include "client/search_core.h"
#include "shared/error.h"

#define ROOM 5

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_again(const struct search_space *space)
{
    json_t *first = search_space_to_json(space), *second;
    struct search_space *back = NULL;

    if (first == NULL || search_space_from_json(first, &back, NULL) < 0)
        abort();
    second = search_space_to_json(back);
    if (!json_equal(first, second))
        abort();
    json_decref(first);
    json_decref(second);
    (void)search_space_free(back);
}

static void check_values(const struct search_space *space, const double *values)
{
    double again[SEARCH_PARAMETERS_MAX];
    json_t *json = search_values_to_json(space, values), *back;
    char *text = json_dumps(json, 0);

    if (text == NULL || (back = json_loads(text, 0, NULL)) == NULL)
        abort();
    if (search_values_from_json(space, back, again, NULL) < 0 ||
        !search_values_equal(space, values, again))
        abort();
    for (unsigned int i = 0; i < space->n_parameters; i++)
        free(search_value_text(&space->parameters[i], values[i]));
    json_decref(json);
    json_decref(back);
    free(text);
}

static void check_trials(const struct search_space *space)
{
    struct search_history none = { 0 };
    struct search_actions actions;

    search_next(space, &none, ROOM, &actions);
    if (actions.n == 0 || actions.n > ROOM || actions.end != SEARCH_GOES_ON)
        abort();
    for (size_t i = 0; i < actions.n; i++)
        check_values(space, actions.actions[i].values);
    search_actions_clear(&actions);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct search_space *space = NULL;
    struct edl_error error = { 0 };

    if (search_space_parse((const char *)data, size, &space, &error) < 0) {
        if (error.text[0] == '\0')
            abort();
        return 0;
    }
    check_again(space);
    check_trials(space);
    (void)search_space_free(space);
    return 0;
}
