/* SPDX-License-Identifier: Apache-2.0 */
/* teach_fixture.c - a saved model of two weights and a bias */
#include "tests/unit/teach_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "trainer/model/model_file.h"
#include "trainer/model/model_tar.h"

static const char network[] =
    "{\"name\": \"two\", \"inputs\": [{\"name\": \"x\", \"type\": \"dense\", \"size\": 2}, "
    "{\"name\": \"y\", \"type\": \"dense\", \"size\": 1}], \"layers\": [{\"kind\": \"fc\", "
    "\"name\": \"sum\", \"input\": \"x\", \"size\": 1, \"activation\": \"linear\"}, "
    "{\"kind\": \"addition\", \"name\": \"soft\", \"inputs\": [\"sum\"], \"activation\": "
    "\"softmax\"}], \"outputs\": [\"sum\", \"soft\"], "
    "\"cost\": {\"kind\": \"square_error\", \"input\": \"sum\", \"label\": \"y\"}}";

static const char *const files[] = { "model/_sum.w0", "model/_sum.wbias", "model/done",
                                     "model",         "model.tar",        "two.json" };

static void save(const struct teach_fixture *f)
{
    static const struct param_spec weight = { "_sum.w0", 2, 1, .learning_rate = 1 };
    static const struct param_spec bias = { "_sum.wbias", 1, 1, .learning_rate = 1 };
    const struct param_spec *const specs[] = { &weight, &bias };
    float w[] = { 2, 3 }, b[] = { 1 };
    float *const values[] = { w, b };
    const struct model_contents contents = { .specs = specs, .values = values, .n = 2 };
    struct edl_error error = { 0 };

    if (model_file_save_contents(f->model, &contents, &error) < 0 ||
        model_tar_save(f->tar, &contents, &error) < 0)
        fail_msg("%s", error.text);
}

void teach_fixture_make(struct teach_fixture *f)
{
    _cleanup_fclose_ FILE *file = NULL;

    (void)snprintf(f->folder, sizeof f->folder, "/tmp/edl-teach-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    (void)snprintf(f->network, sizeof f->network, "%s/two.json", f->folder);
    (void)snprintf(f->model, sizeof f->model, "%s/model", f->folder);
    (void)snprintf(f->tar, sizeof f->tar, "%s/model.tar", f->folder);
    file = fopen(f->network, "we");
    assert_non_null(file);
    (void)fputs(network, file);
    save(f);
}

void teach_fixture_remove(const struct teach_fixture *f)
{
    char path[256];

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", f->folder, files[i]);
        (void)remove(path);
    }
    (void)rmdir(f->folder);
}

void teach_fixture_spoil_tar(const struct teach_fixture *f)
{
    static const uint8_t nan_bytes[] = { 0, 0, 0xc0, 0x7f };
    _cleanup_fclose_ FILE *file = fopen(f->tar, "r+e");

    assert_non_null(file);
    assert_int_equal(fseek(file, 512 + 16, SEEK_SET), 0); /* behind both heads */
    assert_int_equal(fwrite(nan_bytes, 1, sizeof nan_bytes, file), sizeof nan_bytes);
}

struct teach_model_config teach_fixture_config(const struct teach_fixture *f, const char *model)
{
    return (struct teach_model_config){
        .config = f->network, .init_model = model, .device = "cpu", .max_batch = 4
    };
}
