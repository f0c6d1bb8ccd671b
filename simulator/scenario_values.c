/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_values.c - kinds of values that only scenarios have: ranges of time, shares, lists */
#include <math.h>
#include <stdio.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "shared/parse.h"
#include "simulator/scenario_reader.h"

#define PPM 1000000
#define SPEED_LEAST 0.05
#define SPEED_MOST 20

static int read_time(struct document_reader *reader, const json_t *value, uint64_t *ret)
{
    const char *text = json_string_value(value);
    char number[40];
    uint64_t us = 0;

    if (json_is_number(value)) {
        (void)snprintf(number, sizeof number, "%.12g", json_number_value(value));
        text = number;
    }
    if (text == NULL || parse_seconds(text, &us) < 0 || us > (uint64_t)SCENARIO_TIME_MAX)
        return document_expected(reader, "a time of at most 24h like 30s, 500ms or 2m", value);
    *ret = us;
    return 0;
}

int scenario_read_range(struct document_reader *reader, const char *key, const json_t *value,
                        void *target)
{
    struct sim_range range = { 0 };
    uint64_t *const ends[] = { &range.min_us, &range.max_us };

    (void)key;
    if (!json_is_array(value)) {
        int r = read_time(reader, value, &range.min_us);

        range.max_us = range.min_us;
        if (r == 0)
            *(struct sim_range *)target = range;
        return r;
    }
    if (json_array_size(value) != ELEMENTS(ends))
        return document_expected(reader, "a time or two of them, [MIN, MAX]", value);
    for (size_t i = 0; i < ELEMENTS(ends); i++) {
        size_t length = document_enter_index(reader, i);
        int r = read_time(reader, json_array_get(value, i), ends[i]);

        if (r < 0)
            return r;
        document_leave(reader, length);
    }
    if (range.min_us > range.max_us)
        return document_refuse(reader, "the first time is longer than the second");
    *(struct sim_range *)target = range;
    return 0;
}

static int read_parts(struct document_reader *reader, const json_t *value, double parts,
                      uint32_t *ret)
{
    double share = json_number_value(value);

    if (!json_is_number(value) || !(share >= 0) || share > 1)
        return document_expected(reader, "a share from 0 to 1", value);
    *ret = (uint32_t)lround(share * parts);
    return 0;
}

int scenario_read_ppm(struct document_reader *reader, const char *key, const json_t *value,
                      void *target)
{
    (void)key;
    return read_parts(reader, value, PPM, target);
}

int scenario_read_permille(struct document_reader *reader, const char *key, const json_t *value,
                           void *target)
{
    int r = read_parts(reader, value, 1000, target);

    if (r == 0 && *(uint32_t *)target == 0)
        return document_refuse(reader, "%s must be at least 0.001", key);
    return r;
}

int scenario_read_speed(struct document_reader *reader, const char *key, const json_t *value,
                        void *target)
{
    double speed = json_number_value(value);

    (void)key;
    if (!json_is_number(value) || !(speed >= SPEED_LEAST) || speed > SPEED_MOST)
        return document_expected(reader, "a number from 0.05 to 20: times as fast as others",
                                 value);
    *(uint32_t *)target = (uint32_t)lround(speed * 1000);
    return 0;
}

int scenario_copy_name(struct document_reader *reader, const char *name, char ret[])
{
    size_t length = strlen(name);

    if (length == 0 || length > SCENARIO_NAME_MAX ||
        name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-")] != '\0' || name[0] == '-') {
        (void)document_enter(reader, "name");
        return document_refuse(reader, "\"%.64s\" is not a name of a-z, 0-9 and '-'", name);
    }
    (void)snprintf(ret, SCENARIO_NAME_MAX + 1, "%s", name);
    return 0;
}

int scenario_read_list(struct document_reader *reader, const json_t *array, size_t max,
                       int (*entry)(struct document_reader *reader, const json_t *value))
{
    if (json_array_size(array) > max)
        return document_refuse(reader, "%zu entries are more than the %zu that are allowed",
                               json_array_size(array), max);
    for (size_t i = 0; i < json_array_size(array); i++) {
        size_t length = document_enter_index(reader, i);
        int r = entry(reader, json_array_get(array, i));

        if (r < 0)
            return r;
        document_leave(reader, length);
    }
    return 0;
}
