/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_defaults.c - what a job asks for that does not say */
#include <stdio.h>
#include <string.h>

#include "shared/error.h"
#include "shared/job_spec.h"
#include "shared/label.h"
#include "shared/macro.h"
#include "tests/unit/document_fixture.h"
#include "tests/unit/test.h"

static struct job_spec *read_good(const char *text)
{
    struct edl_error error;
    char ignored[16];
    struct job_spec *spec = read_spec(text, strlen(text), ignored, sizeof ignored, &error);

    if (spec == NULL)
        fail_msg("%s: %s (%s)", text, error.text, error.pointer);
    return spec;
}

#define DEFAULTS                                                                                   \
    "name: a\nroles:\n"                                                                            \
    "- {role: small, command: [x]}\n"                                                              \
    "- {role: large, command: [x], cpu: 2500m, gpus: 1}\n"                                         \
    "- {role: devices, command: [x], gpus: 4}\n"                                                   \
    "- {role: says, command: [x], cpu: 8, memory: 4Mi}\n"

/* A document that says nothing of CPU or memory asks for some all the same. */
TEST(test_amounts_by_default)
{
    static const struct role_share nodes[] = {
        { .cpu_millicores = 4000, .memory_bytes = UINT64_C(6) << 30 },
        { .cpu_millicores = 8000, .memory_bytes = UINT64_C(64) << 30, .gpus = 4 },
        { .cpu_millicores = 500, .memory_bytes = UINT64_C(1) << 20 }, /* too small for any */
    };
    static const struct {
        struct role_defaults defaults;
        size_t n_nodes;
        uint64_t small_millicores, mib[4];
    } rows[] = {
        { { 1000, 0 }, 0, 1000, { 1024, 2560, 4096, 4 } },
        { { 1000, 0 },
          3,
          1000,
          { 1440, 19200, 61440, 4 } },                    /* a fourth of 15/16 of the first node */
        { { 100, 0 }, 2, 100, { 256, 19200, 61440, 4 } }, /* the least */
        { { 2000, UINT64_C(3) << 29 }, 3, 2000, { 3072, 3840, 6144, 4 } },
        { { 9000, 0 }, 2, 8000, { 61440, 19200, 61440, 4 } },       /* the largest node has 8 */
        { { 1000, UINT64_C(8) << 20 }, 3, 1000, { 8, 20, 32, 4 } }, /* as the operator wants it */
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct job_spec *spec = read_good(DEFAULTS);
        uint32_t cpu, memory;

        job_spec_ask_by_default(spec, &rows[i].defaults, nodes, rows[i].n_nodes, &cpu, &memory);
        assert_int_equal(cpu, 1U << 0 | 1U << 2);
        assert_int_equal(memory, 7);
        assert_int_equal(spec->roles[0].cpu_millicores, rows[i].small_millicores);
        assert_int_equal(spec->roles[1].cpu_millicores, 2500);
        for (size_t role = 0; role < ELEMENTS(rows[i].mib); role++)
            assert_int_equal(spec->roles[role].memory_bytes, rows[i].mib[role] << 20);
        job_spec_ask_by_default(spec, &rows[i].defaults, nodes, rows[i].n_nodes, &cpu, &memory);
        assert_int_equal(cpu | memory, 0);
        (void)job_spec_free(spec);
    }
}

/* One that is away tells how large nodes are, but its memory counts only where it is alone. */
TEST(test_amounts_by_default_of_nodes_that_are_away)
{
    const struct role_share nodes[] = {
        { .cpu_millicores = 500, .memory_bytes = UINT64_C(1) << 30, .away = true },
        { .cpu_millicores = 4000, .memory_bytes = UINT64_C(8) << 30, .away = true },
        { .cpu_millicores = 2000, .memory_bytes = UINT64_C(8) << 30 },
    };
    static const struct {
        size_t n_nodes;
        uint64_t millicores, mib;
    } rows[] = { { 1, 500, 960 }, { 2, 1000, 1920 }, { 3, 1000, 3840 } };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct job_spec *spec = read_good("name: a\nroles: [{role: w, command: [x]}]\n");
        uint32_t cpu, memory;

        job_spec_ask_by_default(spec, &(struct role_defaults){ 1000, 0 }, nodes, rows[i].n_nodes,
                                &cpu, &memory);
        assert_int_equal(spec->roles[0].cpu_millicores, rows[i].millicores);
        assert_int_equal(spec->roles[0].memory_bytes, rows[i].mib << 20);
        (void)job_spec_free(spec);
    }
}

/* Where it does not say how much it needs, a gang without devices spreads. */
TEST(test_who_spreads_by_default)
{
    static const struct {
        const char *keys;
        bool spreads;
    } rows[] = {
        { "", true },
        { ", cpu: 1", false },
        { ", gpus: 1", false },
        { ", spread: false", false },
        { ", cpu: 1, spread: true", true },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        char text[128];
        struct job_spec *spec;
        uint32_t cpu, memory;

        (void)snprintf(text, sizeof text, "name: a\nroles: [{role: w, command: [x]%s}]\n",
                       rows[i].keys);
        spec = read_good(text);
        job_spec_ask_by_default(spec, &(struct role_defaults){ 1000, 0 }, NULL, 0, &cpu, &memory);
        assert_int_equal(spec->roles[0].spread, rows[i].spreads);
        (void)job_spec_free(spec);
    }
}

/* Of the nodes that its document excludes nothing counts. */
TEST(test_amounts_by_default_of_the_nodes_that_may_run_it)
{
    struct labels fast = { 0 };
    const struct role_share nodes[] = {
        { .cpu_millicores = 8000, .memory_bytes = UINT64_C(1) << 30, .name = "old" },
        { .cpu_millicores = 500,
          .memory_bytes = UINT64_C(4) << 30,
          .name = "new",
          .labels = &fast },
    };
    static const char *const texts[] = {
        "name: a\nroles: [{role: w, command: [x], nodeSelector: {disk: fast}}]\n",
        "name: a\nroles: [{role: w, command: [x], nodes: [new]}]\n",
    };

    assert_int_equal(labels_set(&fast, "disk", "fast", NULL), 0);
    for (size_t i = 0; i < ELEMENTS(texts); i++) {
        struct job_spec *spec = read_good(texts[i]);
        uint32_t cpu, memory;

        job_spec_ask_by_default(spec, &(struct role_defaults){ 1000, 0 }, nodes, ELEMENTS(nodes),
                                &cpu, &memory);
        assert_int_equal(spec->roles[0].cpu_millicores, 500);
        assert_int_equal(spec->roles[0].memory_bytes, UINT64_C(3840) << 20);
        (void)job_spec_free(spec);
    }
}
