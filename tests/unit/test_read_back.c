/* SPDX-License-Identifier: Apache-2.0 */
/* test_read_back.c - a disk that keeps other bytes than were written: what is there stays until the
 * new one reads back */
#include "trainer_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "tests/unit/test.h"
#include "trainer/server/checkpoint.h"
#include "trainer/files/file_write.h"
#include "trainer/model/model_file.h"
#include "trainer/exchange/table.h"

static bool lies;

/* In place of libc's: the last byte of a long write is another one. */
ssize_t write(int fd, const void *data, size_t size)
{
    char block[65536];

    if (!lies || size < 40 || size > sizeof block)
        return syscall(SYS_write, fd, data, size);
    memcpy(block, data, size);
    block[size - 1] ^= 1;
    return syscall(SYS_write, fd, block, size);
}

static char folder[64], path[128];

static struct declaration declaration(void)
{
    struct declaration d = {
        .seed = 5,
        .optimizer = { .method = OPTIMIZER_ADAGRAD, .learning_rate = 0.1f, .epsilon = 1e-6f },
        .n_params = 1
    };

    d.params[0] = (struct param_spec){ "weight", 6, 3, .initial_std = 0.2f, .learning_rate = 1.0f };
    return d;
}

TEST(test_a_checkpoint_stays)
{
    const struct declaration d = declaration();
    struct table *table, *back;
    struct edl_error error = { 0 };

    folder_make(folder, sizeof folder);
    (void)snprintf(path, sizeof path, "%s/c/pserver-0.ckpt", folder);
    assert_int_equal(table_new(&d, 0, 1, &table, NULL), 0);
    table_set_updates(table, 1);
    assert_int_equal(checkpoint_write(path, 7, table, NULL, NULL, NULL), 0);
    table_set_updates(table, 2);
    lies = true;
    assert_int_equal(checkpoint_write(path, 7, table, NULL, NULL, &error), -EIO);
    lies = false;
    assert_non_null(strstr(error.text, "the one before stays"));
    assert_int_equal(checkpoint_read(path, 7, 0, &back, NULL, NULL), 0);
    assert_int_equal(table_updates(back), 1);
    (void)table_free(back);
    (void)table_free(table);
    folder_remove(folder);
}

TEST(test_a_saved_model_stays)
{
    const struct declaration d = declaration();
    float values[18] = { 1 }, found[18], *params[] = { values };
    char file[256];

    folder_make(folder, sizeof folder);
    (void)snprintf(path, sizeof path, "%s/pass-00000", folder);
    (void)snprintf(file, sizeof file, "%s/weight", path);
    assert_int_equal(model_file_save(path, &d, params, NULL, NULL), 0);
    values[0] = 2;
    lies = true;
    assert_int_equal(model_file_save(path, &d, params, NULL, NULL), -EIO);
    lies = false;
    assert_int_equal(model_file_read(file, found, 18, NULL), 0);
    assert_true(found[0] == 1);
    assert_int_equal(model_file_save(path, &d, params, NULL, NULL), 0);
    assert_int_equal(model_file_read(file, found, 18, NULL), 0);
    assert_true(found[0] == 2);
    folder_remove(folder);
}

TEST(test_each_difference_is_seen)
{
    const struct file_piece pieces[] = { { "abc", 3 }, { "", 0 }, { "defg", 4 } };
    static const struct {
        const char *text;
        int want;
    } cases[] = { { "abcdefg", 0 },   { "abcdefx", -EIO },  { "xbcdefg", -EIO },
                  { "abcdef", -EIO }, { "abcdefgh", -EIO }, { "", -EIO } };
    int at;

    folder_make(folder, sizeof folder);
    at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct file_piece all = { cases[i].text, strlen(cases[i].text) };
        int fd = openat(at, "file", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

        assert_int_equal(file_write_pieces(fd, &all, 1), 0);
        assert_int_equal(file_reads_back(at, "file", pieces, 3), cases[i].want);
        (void)safe_close(fd);
    }
    assert_int_equal(file_reads_back(at, "none", pieces, 3), -ENOENT);
    (void)safe_close(at);
    folder_remove(folder);
}
