/* SPDX-License-Identifier: Apache-2.0 */
/* test_nvml.c - GPUs as a management library tells of them: none, some, broken */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/layout.h"
#include "agent/machine/nvml.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

static char file[64];

static int setup(void **state)
{
    int fd;

    (void)state;
    (void)snprintf(file, sizeof file, "/tmp/edl-test-nvml-XXXXXX");
    fd = mkstemp(file);
    if (fd == -1)
        return -1;
    (void)safe_close(fd);
    return setenv("EDL_TEST_NVML", file, 1);
}

static int teardown(void **state)
{
    (void)state;
    return unlink(file);
}

static void machine_is(const char *text)
{
    FILE *f = fopen(file, "we");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static struct nvml *open_fake(void)
{
    _cleanup_free_ char *library =
        text_format("%s/tests/lib/libnvidia-ml.so.1", getenv("EDL_BUILD_DIR"));
    struct edl_error error = { 0 };
    struct nvml *nvml;

    if (nvml_open(library, &nvml, &error) < 0)
        fail_msg("%s", error.text);
    assert_non_null(nvml);
    return nvml;
}

static void gpus_are(struct nvml *nvml, const char *expected)
{
    struct edl_error error = { 0 };
    json_t *json;
    _cleanup_free_ char *text = NULL;

    if (nvml_gpus(nvml, &json, &error) < 0)
        fail_msg("%s", error.text);
    text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
    assert_string_equal(text, expected);
    json_decref(json);
}

TEST(test_no_library)
{
    struct nvml *nvml;

    assert_int_equal(nvml_open("/no/such/library", &nvml, NULL), 0);
    assert_null(nvml);
}

TEST(test_not_that_library)
{
    struct edl_error error = { 0 };
    struct nvml *nvml;

    assert_int_equal(nvml_open("libc.so.6", &nvml, &error), -EIO);
    assert_null(nvml);
    assert_non_null(strstr(error.text, "has no nvmlInit_v2"));
}

TEST_EACH(setup, teardown);

TEST(test_gpus_in_the_order_of_the_bus)
{
    struct nvml *nvml;

    machine_is("gpu 00000000:AF:00.0 GPU-b 80000 500 101\ngpu 00000000:3B:00.0 GPU-a 40000 0 7\n");
    nvml = open_fake();
    gpus_are(
        nvml,
        "[{\"memory_total_bytes\":40000,\"memory_used_bytes\":0,\"minor\":1,\"name\":\"Test GPU\","
        "\"pci_bus_id\":\"00000000:3B:00.0\",\"processes\":[],\"utilisation_ppm\":70000,"
        "\"uuid\":\"GPU-a\"},"
        "{\"memory_total_bytes\":80000,\"memory_used_bytes\":500,\"minor\":0,\"name\":\"Test GPU\","
        "\"pci_bus_id\":\"00000000:AF:00.0\",\"processes\":[],\"uuid\":\"GPU-b\"}]");
    machine_is("");
    gpus_are(nvml, "[]");
    free(nvml);
}

TEST(test_processes_with_their_users)
{
    struct nvml *nvml;
    _cleanup_free_ char *text = NULL;

    machine_is("gpu 00000000:3B:00.0 GPU-a 40000 9 0\nprocess GPU-a 1 18446744073709551615\n"
               "process GPU-a 4194303 9\nprocess GPU-other 1 5\n");
    nvml = open_fake();
    gpus_are(
        nvml,
        "[{\"memory_total_bytes\":40000,\"memory_used_bytes\":9,\"minor\":0,\"name\":\"Test GPU\","
        "\"pci_bus_id\":\"00000000:3B:00.0\",\"processes\":["
        "{\"pid\":1,\"user\":\"root\"},{\"memory_bytes\":9,\"pid\":4194303,\"user\":\"\"}],"
        "\"utilisation_ppm\":0,\"uuid\":\"GPU-a\"}]");
    free(nvml);
}

TEST(test_many_processes)
{
    char text[2048] = "gpu 00000000:3B:00.0 GPU-a 40000 9 0\n";
    struct edl_error error = { 0 };
    struct nvml *nvml;
    json_t *json;

    for (unsigned i = 0; i < 30; i++)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "process GPU-a %u 1\n",
                       4194000 + i);
    machine_is(text);
    nvml = open_fake();
    assert_int_equal(nvml_gpus(nvml, &json, &error), 0);
    assert_int_equal(json_array_size(json_object_get(json_array_get(json, 0), "processes")), 30);
    json_decref(json);
    free(nvml);
}

TEST(test_breaks)
{
    struct edl_error error = { 0 };
    struct nvml *nvml;
    json_t *json;

    machine_is("");
    nvml = open_fake();
    machine_is("broken\n");
    assert_int_equal(nvml_gpus(nvml, &json, &error), -EIO);
    assert_string_equal(error.text, "NVML cannot tell of the GPUs: Unknown Error");
    free(nvml);
}
