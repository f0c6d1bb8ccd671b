/* SPDX-License-Identifier: Apache-2.0 */
/* test_gpus.c - an agent's conclusions from the news of its GPUs: how many it offers, which are
 * free */
#include <stdint.h>

#include "agent/machine/gpus.h"
#include "agent/options.h"
#include "shared/label.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define DEVICE(uuid, minor, processes)                                                             \
    "{\"uuid\":\"" uuid "\",\"minor\":" minor ",\"numa\":1,\"processes\":[" processes "]}"
#define PROCESS(pid, user) "{\"pid\":" pid ",\"user\":\"" user "\"}"

/* Ours: pid 10 on device 0, pid 11 on device 1. */
static bool is_ours(pid_t pid, unsigned device, void *userdata)
{
    ++*(int *)userdata;
    return pid == (pid_t)device + 10;
}

static bool take_at(struct gpus *gpus, const char *answer, uint64_t now_us)
{
    json_t *json = json_loads(answer, 0, NULL);
    int asked = 0;
    bool changed;

    assert_non_null(json);
    changed = gpus_take(gpus, json, now_us, is_ours, &asked);
    json_decref(json);
    return changed;
}

static bool take(struct gpus *gpus, const char *answer)
{
    return take_at(gpus, answer, 1);
}

TEST(test_machine_without)
{
    struct agent_options options = { .gpus = 2, .gpus_given = true };
    struct gpus gpus;

    gpus_init(&gpus, &options);
    assert_false(take(&gpus, "{}"));
    assert_int_equal(gpus.n, 2);
    assert_false(gpus_are_watched(&gpus));
    assert_int_equal(gpus_foreign(&gpus, false), 0);
    gpus_done(&gpus);
}

TEST(test_what_there_is_is_offered)
{
    static const struct {
        struct agent_options options;
        uint64_t n;
        uint8_t numa;
    } rows[] = {
        { { .gpus = 0 }, 2, 1 },
        { { .gpus = 0, .gpus_given = true }, 0, 0 },
        { { .gpus = 1, .gpus_given = true, .n_gpu_numa = 1, .gpu_numa = { 3 } }, 1, 3 },
        { { .gpus = 9, .gpus_given = true }, 2, 1 },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct gpus gpus;

        gpus_init(&gpus, &rows[i].options);
        assert_int_equal(take(&gpus,
                              "{\"gpus\":[" DEVICE("a", "0", "") "," DEVICE("b", "1", "") "]}"),
                         rows[i].n != rows[i].options.gpus);
        assert_int_equal(gpus.n, rows[i].n);
        assert_int_equal(gpus.numa[0], rows[i].numa);
        assert_int_equal(gpus_missing(&gpus, 0x7), 0x7 & ~((UINT64_C(1) << rows[i].n) - 1));
        gpus_done(&gpus);
    }
}

#define NAMED(uuid, name) "{\"uuid\":\"" uuid "\",\"name\":\"" name "\",\"processes\":[]}"

TEST(test_type_is_a_label)
{
    static const struct {
        const char *answer;
        uint64_t most;
        const char *type;
    } rows[] = {
        { "{\"gpus\":[" NAMED("a", "NVIDIA H200") "]}", 9, "NVIDIA-H200" },
        { "{\"gpus\":[" NAMED("a", " X (Ti) / 4 ") "," NAMED("b", " X (Ti) / 4 ") "]}", 9,
          "X-Ti-4" },
        { "{\"gpus\":[" NAMED("a", "X") "," NAMED("b", "Y") "]}", 9, NULL },
        { "{\"gpus\":[" NAMED("a", "X") "," NAMED("b", "Y") "]}", 1, "X" }, /* of what is offered */
        { "{\"gpus\":[" NAMED("a", "()") "]}", 9, NULL },
        { "{\"gpus\":[" DEVICE("a", "0", "") "]}", 9, NULL },
        { "{\"gpus\":[]}", 9, NULL },
        { "{\"gpus\":[" NAMED("a", "0123456789012345678901234567890123456789012345678901234567890"
                                   "123456789") "]}",
          9, "01234567890123456789012345678901234567890123456789012345678901" },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct agent_options options = { .gpus = rows[i].most, .gpus_given = true };
        struct labels labels = { 0 };
        struct gpus gpus;
        const char *type;

        gpus_init(&gpus, &options);
        (void)take(&gpus, rows[i].answer);
        gpus_label(&gpus, &labels);
        type = labels_get(&labels, LABEL_GPU_TYPE);
        if (rows[i].type == NULL)
            assert_null(type);
        else
            assert_string_equal(type, rows[i].type);
        gpus_done(&gpus);
    }
}

/* It pushes no other label out, and what the owner calls them stays. */
TEST(test_type_comes_after_all_other_labels)
{
    struct agent_options options = { .gpus = 1, .gpus_given = true };
    struct labels labels = { 0 };
    struct gpus gpus;
    char name[16];

    gpus_init(&gpus, &options);
    (void)take(&gpus, "{\"gpus\":[" NAMED("a", "X") "]}");
    for (int i = 0; i < LABELS_MAX; i++) {
        (void)snprintf(name, sizeof name, "l%d", i);
        assert_int_equal(labels_set(&labels, name, "v", NULL), 0);
    }
    gpus_label(&gpus, &labels);
    assert_int_equal(labels.n, LABELS_MAX);
    assert_null(labels_get(&labels, LABEL_GPU_TYPE));
    labels = (struct labels){ 0 };
    assert_int_equal(labels_set(&labels, LABEL_GPU_TYPE, "mine", NULL), 0);
    gpus_label(&gpus, &labels);
    assert_string_equal(labels_get(&labels, LABEL_GPU_TYPE), "mine");
    gpus_done(&gpus);
}

TEST(test_who_is_on_them)
{
    struct agent_options options = { 0 };
    struct gpus gpus;
    char text[96];

    gpus_init(&gpus, &options);
    assert_true(take(&gpus, "{\"gpus\":[" DEVICE("a", "0", PROCESS("10", "us")) "," DEVICE(
                                "b", "1", PROCESS("10", "us") "," PROCESS("7", "alice")) "]}"));
    assert_int_equal(gpus_foreign(&gpus, true), 2); /* ours as well, where it was granted nothing */
    gpus_say(&gpus, 1, text, sizeof text);
    assert_string_equal(text, "");
    gpus_say(&gpus, UINT64_MAX, text, sizeof text);
    assert_string_equal(text, "GPU 1 is held by pid 10 of us");
    assert_true(gpus_are_alive(&gpus, 2));
    assert_false(gpus_are_alive(&gpus, 1));
    assert_true(take(&gpus, "{\"gpus\":[" DEVICE("a", "0", PROCESS("4", "")) "," DEVICE(
                                "b", "1", PROCESS("11", "us")) "]}"));
    assert_int_equal(gpus_foreign(&gpus, true), 1);
    assert_false(gpus_are_alive(&gpus, 1)); /* it ended: nobody knows whose it was */
    assert_false(take(&gpus, "{\"gpus\":[" DEVICE("a", "0", PROCESS("5", "")) "," DEVICE("b", "1",
                                                                                         "") "]}"));
    gpus_done(&gpus);
}

TEST(test_driver_that_does_not_tell)
{
    struct agent_options options = { 0 };
    struct gpus gpus;

    gpus_init(&gpus, &options);
    assert_true(take(&gpus, "{\"gpus\":[" DEVICE("a", "0", "") "," DEVICE("b", "1", "") "]}"));
    assert_int_equal(gpus_foreign(&gpus, true), 0);
    assert_int_equal(gpus_foreign(&gpus, false), 3);
    assert_true(take(&gpus, "{}"));
    assert_int_equal(gpus.n, 2); /* what runs there is not to look as if it were too much */
    assert_int_equal(gpus_foreign(&gpus, true), 3);
    assert_true(take(&gpus, "{\"gpus\":[" DEVICE("a", "0", "") "]}"));
    assert_int_equal(gpus.n, 1);
    assert_int_equal(gpus_foreign(&gpus, true), 0);
    gpus_done(&gpus);
}

/* Only what did nothing at every look since then; what tells nothing of its use counts as used. */
TEST(test_who_does_nothing)
{
    static const char quiet[] =
        "{\"gpus\":[{\"uuid\":\"a\",\"utilisation_ppm\":0},{\"uuid\":\"b\"}]}";
    static const char works[] =
        "{\"gpus\":[{\"uuid\":\"a\",\"utilisation_ppm\":10000},{\"uuid\":\"b\"}]}";
    static const char other[] = "{\"gpus\":[{\"uuid\":\"c\",\"utilisation_ppm\":0}]}";
    struct agent_options options = { 0 };
    struct gpus gpus;

    gpus_init(&gpus, &options);
    (void)take_at(&gpus, quiet, 100);
    (void)take_at(&gpus, quiet, 200);
    assert_int_equal(gpus_idle(&gpus, true, 99), 0);
    assert_int_equal(gpus_idle(&gpus, true, 100), 1);
    assert_int_equal(gpus_idle(&gpus, false, 100), 0);
    (void)take_at(&gpus, works, 300);
    assert_int_equal(gpus_idle(&gpus, true, 300), 0);
    (void)take_at(&gpus, quiet, 400);
    assert_int_equal(gpus_idle(&gpus, true, 399), 0);
    assert_int_equal(gpus_idle(&gpus, true, 400), 1);
    (void)take_at(&gpus, "{}", 500); /* the driver does not answer */
    assert_int_equal(gpus_idle(&gpus, true, 500), 0);
    (void)take_at(&gpus, quiet, 600); /* and nobody saw what it did meanwhile */
    assert_int_equal(gpus_idle(&gpus, true, 599), 0);
    assert_int_equal(gpus_idle(&gpus, true, 600), 1);
    (void)take_at(&gpus, other, 700); /* another device has its place */
    assert_int_equal(gpus_idle(&gpus, true, 699), 0);
    (void)take_at(&gpus, other, 700 + UINT64_C(121000000)); /* nobody looked for long */
    assert_int_equal(gpus_idle(&gpus, true, 700 + UINT64_C(120999999)), 0);
    gpus_done(&gpus);
}

TEST(test_order_names_its_devices)
{
    struct agent_options options = { 0 };
    json_t *order =
        json_pack("{s:{s:s,s:s}}", "env", "EDL_GPUS", "0,2", "CUDA_VISIBLE_DEVICES", "0,2");
    json_t *none = json_pack("{s:{s:s}}", "env", "EDL_GPUS", "");
    struct gpus gpus;
    json_t *named;
    char *text;

    assert_int_equal(gpus_of_order(order), 5);
    assert_int_equal(gpus_of_order(none), 0);
    gpus_init(&gpus, &options);
    assert_ptr_equal(gpus_name(&gpus, order), order);
    json_decref(order);
    assert_true(take(&gpus, "{\"gpus\":[" DEVICE("GPU-a", "2", "") "," DEVICE(
                                "GPU-b", "1", "") "," DEVICE("GPU-c", "0", "") "]}"));
    named = gpus_name(&gpus, order);
    text = json_dumps(named, JSON_COMPACT);
    assert_string_equal(text, "{\"env\":{\"EDL_GPUS\":\"0,2\",\"CUDA_VISIBLE_DEVICES\":"
                              "\"GPU-a,GPU-c\"},\"gpu_minors\":[2,0]}");
    free(text);
    json_decref(named);
    assert_ptr_equal(gpus_name(&gpus, none), none);
    json_decref(none);
    json_decref(none);
    json_decref(order);
    gpus_done(&gpus);
}
