/* SPDX-License-Identifier: Apache-2.0 */
/* test_one_writer.c - of two processes that write to one place the second is refused by the name
 * of the first; a newer incarnation does not wait */
#include "trainer_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "tests/unit/test.h"
#include "trainer/files/one_writer.h"

static char folder[64], path[128];

static void setup(void)
{
    folder_make(folder, sizeof folder);
    (void)snprintf(path, sizeof path, "%s/saves/.writer", folder);
}

static struct writer_name named(const char *job, uint64_t incarnation)
{
    struct writer_name ret = { .incarnation = incarnation };

    (void)snprintf(ret.job, sizeof ret.job, "%s", job);
    (void)snprintf(ret.place, sizeof ret.place, "pserver 0");
    return ret;
}

/* claimed_by_child - what another process gets */
static int claimed_by_child(const struct writer_name *who)
{
    char words[64];
    int status;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        struct one_writer writer = { 0 };
        struct edl_error error = { 0 };
        int r = one_writer_claim(&writer, path, who, &error);

        (void)snprintf(words, sizeof words, "process %ld (", (long)getppid());
        if (r == -EBUSY && strstr(error.text, words) != NULL && error.remedy[0] != '\0')
            _exit(2);
        _exit(r == 0 ? 0 : 3);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

TEST(test_the_second_is_told_the_name_of_the_first)
{
    const struct writer_name alone = { 0 };
    struct one_writer writer = { 0 };

    setup();
    assert_int_equal(one_writer_claim(&writer, path, &alone, NULL), 0);
    assert_int_equal(one_writer_claim(&writer, path, &alone, NULL), 0);
    assert_int_equal(claimed_by_child(&alone), 2);
    one_writer_release(&writer);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(claimed_by_child(&alone), 0);
    assert_int_equal(one_writer_claim(&writer, path, &alone, NULL), 0); /* of one that is dead */
    one_writer_release(&writer);
    folder_remove(folder);
}

TEST(test_a_newer_incarnation_does_not_wait)
{
    const struct writer_name three = named("job", 3), four = named("job", 4),
                             other = named("other", 4);
    struct one_writer old = { 0 }, new = { 0 };
    struct edl_error error = { 0 };

    setup();
    assert_int_equal(one_writer_claim(&old, path, &three, NULL), 0);
    assert_int_equal(claimed_by_child(&three), 2);
    assert_int_equal(claimed_by_child(&other), 2);
    assert_int_equal(one_writer_claim(&new, path, &four, NULL), 0);
    assert_int_equal(one_writer_claim(&old, path, &three, &error), -EBUSY); /* it goes on, late */
    assert_non_null(strstr(error.text, "writes to"));
    one_writer_release(&old);
    assert_int_equal(one_writer_claim(&new, path, &four, NULL), 0);
    one_writer_release(&new);
    folder_remove(folder);
}

TEST(test_a_name_that_somebody_else_wrote)
{
    static const char *const texts[] = {
        "", "[]", "{", "{\"name\": 3}", "{\"incarnation\": -1}", "{\"name\": \"\\u001b[31mx\"}"
    };
    const struct writer_name alone = { 0 };

    setup();
    assert_int_equal(claimed_by_child(&alone), 0);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        _cleanup_close_ int fd = open(path, O_RDWR | O_TRUNC | O_CLOEXEC);
        struct one_writer writer = { 0 };
        struct edl_error error = { 0 };

        assert_int_equal(write(fd, texts[i], strlen(texts[i])), strlen(texts[i]));
        assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
        assert_int_equal(one_writer_claim(&writer, path, &alone, &error), -EBUSY);
        assert_null(strchr(error.text, '\033'));
    }
    folder_remove(folder);
}
