/* SPDX-License-Identifier: Apache-2.0 */
/* search_space_method.c - the key `method` of a search space, and its settings */
#include <math.h>
#include <stdio.h>

#include "client/search_space_draft.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/nearest.h"

#define METHOD_DEFAULT SEARCH_EVOLUTION
#define COLDEST 0.01 /* the temperature at the end of the budget */
#define TRIALS_GUESSED 100

/* 0 and NULL: not given */
struct method_draft {
    const char *kind;
    int64_t parallel, population, sample, eta, startup;
    const json_t *temperature, *cooling;
};

#define AT(field) offsetof(struct method_draft, field)
#define KIND                                                                                       \
    {                                                                                              \
        .key = "kind", .kind = DOCUMENT_TEXT, .offset = AT(kind)                                   \
    }
#define PARALLEL                                                                                   \
    {                                                                                              \
        .key = "parallel", .kind = DOCUMENT_INTEGER, .offset = AT(parallel), .min = 1,             \
        .max = SEARCH_PARALLEL_MAX                                                                 \
    }

static const struct document_rule plain_rules[] = { KIND };
static const struct document_rule asha_rules[] = {
    KIND,
    { .key = "eta", .kind = DOCUMENT_INTEGER, .offset = AT(eta), .min = 2, .max = 64 },
};
static const struct document_rule evolution_rules[] = {
    KIND,
    PARALLEL,
    { .key = "population",
      .kind = DOCUMENT_INTEGER,
      .offset = AT(population),
      .min = 2,
      .max = SEARCH_TRIALS_MAX },
    { .key = "sample",
      .kind = DOCUMENT_INTEGER,
      .offset = AT(sample),
      .min = 1,
      .max = SEARCH_TRIALS_MAX },
};
static const struct document_rule annealing_rules[] = {
    KIND,
    PARALLEL,
    { .key = "temperature", .kind = DOCUMENT_CALL, .call = space_keep, .offset = AT(temperature) },
    { .key = "cooling", .kind = DOCUMENT_CALL, .call = space_keep, .offset = AT(cooling) },
};
static const struct document_rule tpe_rules[] = {
    KIND,
    PARALLEL,
    { .key = "startup",
      .kind = DOCUMENT_INTEGER,
      .offset = AT(startup),
      .min = 2,
      .max = SEARCH_TRIALS_MAX },
};

static const struct document_table tables[SEARCH_METHODS] = {
    [SEARCH_RANDOM] = { plain_rules, ELEMENTS(plain_rules) },
    [SEARCH_GRID] = { plain_rules, ELEMENTS(plain_rules) },
    [SEARCH_ASHA] = { asha_rules, ELEMENTS(asha_rules) },
    [SEARCH_EVOLUTION] = { evolution_rules, ELEMENTS(evolution_rules) },
    [SEARCH_ANNEALING] = { annealing_rules, ELEMENTS(annealing_rules) },
    [SEARCH_TPE] = { tpe_rules, ELEMENTS(tpe_rules) },
};

static const struct space_foreign foreign[] = {
    { "name", "write kind: random, grid, asha, evolution, annealing or tpe" },
    { "type", "write kind: random, grid, asha, evolution, annealing or tpe" },
};

static int find_method(struct document_reader *reader, const char *key, const char *word,
                       enum search_method *ret)
{
    const char *names[SEARCH_METHODS], *nearest;

    for (unsigned int i = 0; i < SEARCH_METHODS; i++) {
        names[i] = search_method_name((enum search_method)i);
        if (streq(names[i], word)) {
            *ret = (enum search_method)i;
            return 0;
        }
    }
    nearest = nearest_word(word, names, SEARCH_METHODS);
    (void)space_refuse(reader, key, "write random, grid, asha, evolution, annealing or tpe",
                       "method \"%.40s\" is not known", word);
    if (nearest != NULL)
        (void)edl_error_remedy(reader->error, "did you mean \"%s\"?", nearest);
    return EDL_EBADSPEC;
}

static int take_settings(struct document_reader *reader, const struct method_draft *draft,
                         struct search_space *space)
{
    struct search_settings *settings = &space->settings;

    *settings = (struct search_settings){ .parallel = (unsigned int)draft->parallel,
                                          .population = (unsigned int)draft->population,
                                          .sample = (unsigned int)draft->sample,
                                          .eta = (unsigned int)draft->eta,
                                          .startup = (unsigned int)draft->startup };
    if (draft->temperature != NULL && space_number(reader, draft->temperature, "temperature", 1e-6,
                                                   1e6, &settings->temperature) < 0)
        return EDL_EBADSPEC;
    if (draft->cooling != NULL &&
        space_number(reader, draft->cooling, "cooling", 1e-6, 1, &settings->cooling) < 0)
        return EDL_EBADSPEC;
    if (settings->population > 0 && settings->sample > settings->population)
        return space_refuse(reader, "sample", "write a sample that is not above the population",
                            "sample %u is more than the population of %u", settings->sample,
                            settings->population);
    return 0;
}

int space_read_method(struct document_reader *reader, const json_t *method,
                      struct search_space *space)
{
    size_t length = document_enter(reader, "method");
    struct method_draft draft = { 0 };
    const char *word =
        json_string_value(json_is_object(method) ? json_object_get(method, "kind") : method);
    const struct document_table *table;
    int r;

    space->method = METHOD_DEFAULT;
    if (method != NULL && !json_is_object(method) && !json_is_string(method)) {
        (void)document_expected(reader, "a word or an object", method);
        return edl_error_remedy(reader->error, "write method: evolution");
    }
    if (json_is_object(method) &&
        space_refuse_foreign(reader, method, foreign, ELEMENTS(foreign)) < 0)
        return EDL_EBADSPEC;
    if (word == NULL && method != NULL)
        return space_refuse(reader, "kind", "write method: {kind: evolution}",
                            "the method's kind is missing");
    r = word == NULL
            ? 0
            : find_method(reader, json_is_object(method) ? "kind" : NULL, word, &space->method);
    table = &tables[space->method];
    if (r == 0 && json_is_object(method))
        r = document_read(reader, method, table->rules, table->n, &draft);
    if (r == 0)
        r = take_settings(reader, &draft, space);
    if (r == 0)
        document_leave(reader, length);
    return r;
}

static void fill(unsigned int *setting, unsigned int value)
{
    if (*setting == 0)
        *setting = value;
}

static unsigned int within(unsigned int value, unsigned int least, unsigned int most)
{
    return MIN_OF(MAX_OF(value, least), most);
}

void space_settle_method(struct search_space *space)
{
    struct search_settings *settings = &space->settings;
    unsigned int trials = space->budget.trials > 0 ? space->budget.trials : TRIALS_GUESSED;

    switch (space->method) {
    case SEARCH_ASHA:
        fill(&settings->eta, 3);
        break;
    case SEARCH_EVOLUTION:
        fill(&settings->parallel, within(trials / 10, 1, 16));
        fill(&settings->population, within(trials / 5, MAX_OF(4, settings->sample), 50));
        fill(&settings->sample, MAX_OF(2, settings->population / 3));
        break;
    case SEARCH_ANNEALING:
        fill(&settings->parallel, within(trials / 10, 1, 16));
        if (settings->temperature == 0)
            settings->temperature = 0.3;
        if (settings->cooling == 0)
            settings->cooling = pow(MIN_OF(1.0, COLDEST / settings->temperature), 1.0 / trials);
        break;
    case SEARCH_TPE:
        fill(&settings->parallel, within(trials / 10, 1, 16));
        fill(&settings->startup, within(trials / 5, 5, 20));
        break;
    default:
        break;
    }
}
