/* SPDX-License-Identifier: Apache-2.0 */
/* test_checkpoint_next.c - what waits beside a checkpoint until it may take its place */
#include "tests/unit/test.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/macro.h"
#include "tests/unit/trainer_fixture.h"
#include "trainer/server/checkpoint.h"

static void touch(const char *path, const char *end)
{
    char name[PATH_MAX];

    (void)snprintf(name, sizeof name, "%s%s", path, end);
    assert_int_equal(safe_close(open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644)), -1);
}

static bool is_there(const char *path, const char *end)
{
    char name[PATH_MAX];

    (void)snprintf(name, sizeof name, "%s%s", path, end);
    return access(name, F_OK) == 0;
}

/* Each writer has a name of its own for what waits to be the checkpoint: a former writer takes
 * nothing away from the next one, which removes what others left. */
TEST(test_each_writer_has_a_next_of_its_own)
{
    static const char *const swept[] = { ".next", ".next-0123456789abcdef",
                                         ".next.tmp-0123456789abcdef",
                                         ".next-0123456789abcdef.tmp-0123456789abcdef" },
                             *const others[] = { "", ".tmp-0123456789abcdef", ".next-0123",
                                                 ".nextdoor", ".next-0123456789abcdef.bak" };
    char folder[64], path[128], one[PATH_MAX], other[PATH_MAX];

    folder_make(folder, sizeof folder);
    (void)snprintf(path, sizeof path, "%s/collective.ckpt", folder);
    assert_int_equal(checkpoint_next(path, one, sizeof one, NULL), 0);
    assert_int_equal(checkpoint_next(path, other, sizeof other, NULL), 0);
    assert_string_not_equal(one, other);
    touch(one, "");
    touch(other, "");
    for (size_t i = 0; i < ELEMENTS(swept); i++)
        touch(path, swept[i]);

    for (size_t i = 0; i < ELEMENTS(others); i++)
        touch(path, others[i]);

    checkpoint_next_sweep(path, other);
    assert_int_equal(is_there(one, ""), false);
    assert_int_equal(is_there(other, ""), true);
    for (size_t i = 0; i < ELEMENTS(swept); i++)
        assert_int_equal(is_there(path, swept[i]), false);

    for (size_t i = 0; i < ELEMENTS(others); i++)
        assert_int_equal(is_there(path, others[i]), true);

    folder_remove(folder);
}
