/* SPDX-License-Identifier: Apache-2.0 */
/* test_journal.c - entries with fields where the journal reads stderr, lines everywhere else; each
 * number is explained */
#define TEST_OWN_MAIN

#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/journal.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

int sd_journal_sendv(const struct iovec *iov, int n);

static char sent[4096]; /* each field on a line; the last entry */
static unsigned n_sent;
static int journal_answer;

/* in the place of libsystemd's */
int sd_journal_sendv(const struct iovec *iov, int n)
{
    size_t used = 0;

    n_sent++;
    for (int i = 0; i < n; i++) {
        memcpy(sent + used, iov[i].iov_base, iov[i].iov_len);
        used += iov[i].iov_len;
        sent[used++] = '\n';
    }
    sent[used] = '\0';
    return journal_answer;
}

/* stderr is a file, and JOURNAL_STREAM says what it is told to */
struct world {
    int before;
    int file_fd;
};

static struct world begin(bool is_stream)
{
    struct world world = { .before = dup(STDERR_FILENO) };
    char stream[64];
    struct stat st;

    world.file_fd = memfd_create("stderr", MFD_CLOEXEC);
    assert_true(world.file_fd >= 0);
    assert_int_equal(dup2(world.file_fd, STDERR_FILENO), STDERR_FILENO);
    assert_int_equal(fstat(STDERR_FILENO, &st), 0);
    (void)snprintf(stream, sizeof stream, "%ju:%ju", (uintmax_t)st.st_dev,
                   (uintmax_t)st.st_ino + !is_stream);
    (void)setenv("JOURNAL_STREAM", stream, 1);
    n_sent = 0;
    sent[0] = '\0';
    journal_answer = 0;
    log_node("");
    log_to(NULL);
    log_init("test_journal");
    journal_open();
    return world;
}

static const char *end(const struct world *world)
{
    static char text[4096];
    ssize_t n = pread(world->file_fd, text, sizeof text - 1, 0);

    (void)dup2(world->before, STDERR_FILENO);
    (void)safe_close(world->before);
    (void)safe_close(world->file_fd);
    assert_true(n >= 0);
    text[n] = '\0';
    return text;
}

static const struct log_subject process = { .message = MESSAGE_PROCESS_EXITED,
                                            .job = 7,
                                            .role = "trainer",
                                            .index = 0,
                                            .incarnation = 3,
                                            .node = "n2" };

TEST(test_an_entry_says_what_it_is_about)
{
    struct world world = begin(true);
    char expected[400];

    log_entry(LOG_LEVEL_WARNING, &process, "it %s", "ended");
    assert_string_equal(end(&world), "");
    assert_int_equal(n_sent, 1);
    (void)snprintf(expected, sizeof expected,
                   "PRIORITY=4\nSYSLOG_IDENTIFIER=test_journal\nMESSAGE=it ended\nMESSAGE_ID=%s\n"
                   "EDL_JOB=7\nEDL_ROLE=trainer\nEDL_INDEX=0\nEDL_INCARNATION=3\nEDL_NODE=n2\n",
                   message_id(MESSAGE_PROCESS_EXITED));
    assert_string_equal(sent, expected);
}

TEST(test_who_did_it_is_a_field)
{
    struct world world = begin(true);

    log_entry(LOG_LEVEL_INFO,
              &(struct log_subject){ .message = MESSAGE_AUDIT, .user = "ann", .request = "r-1" },
              "audit");
    (void)end(&world);
    assert_non_null(strstr(sent, "\nEDL_USER=ann\nEDL_REQUEST=r-1\n"));
    assert_non_null(strstr(sent, message_id(MESSAGE_AUDIT)));
}

TEST(test_what_is_about_nothing_has_no_fields)
{
    struct world world = begin(true);

    log_info("one");
    assert_string_equal(end(&world), "");
    assert_string_equal(sent, "PRIORITY=6\nSYSLOG_IDENTIFIER=test_journal\nMESSAGE=one\n");
}

TEST(test_a_job_has_no_index)
{
    struct world world = begin(true);

    log_entry(LOG_LEVEL_INFO, &(struct log_subject){ .job = 7, .node = "" }, "job");
    (void)end(&world);
    assert_string_equal(sent,
                        "PRIORITY=6\nSYSLOG_IDENTIFIER=test_journal\nMESSAGE=job\nEDL_JOB=7\n");
}

TEST(test_an_agent_speaks_of_its_own_node)
{
    struct world world = begin(true);

    log_node("n1");
    log_info("one");
    assert_non_null(strstr(sent, "\nEDL_NODE=n1\n"));
    log_entry(LOG_LEVEL_INFO, &process, "two");
    assert_non_null(strstr(sent, "\nEDL_NODE=n2\n"));
    (void)end(&world);
}

TEST(test_a_supervisor_speaks_of_its_own_process)
{
    struct world world = begin(true);
    struct edl_error error = { 0 };

    log_about(&(struct log_subject){ .job = 9, .role = "trainer", .index = 3, .incarnation = 4 });
    (void)edl_error_set(&error, -EBUSY, "it has one");
    (void)log_failure(&error, "folder");
    assert_non_null(strstr(sent, "\nEDL_JOB=9\nEDL_ROLE=trainer\nEDL_INDEX=3\n"
                                 "EDL_INCARNATION=4\n"));
    log_entry(LOG_LEVEL_INFO, &process, "another");
    assert_null(strstr(sent, "EDL_JOB=9"));
    log_about(NULL);
    log_info("nobody");
    assert_null(strstr(sent, "EDL_JOB"));
    (void)end(&world);
}

TEST(test_an_error_is_of_something)
{
    struct world world = begin(true);
    struct edl_error error = { 0 };

    (void)edl_error_set(&error, -EIO, "the disk is gone");
    (void)edl_error_remedy(&error, "look at it");
    assert_int_equal(log_failure_of(&process, &error, "process %d", 1), -EIO);
    assert_non_null(strstr(sent, "PRIORITY=3\n"));
    assert_non_null(strstr(sent, "MESSAGE=process 1: the disk is gone; look at it\n"));
    assert_non_null(strstr(sent, "EDL_JOB=7\n"));
    (void)end(&world);
}

TEST(test_other_peoples_words_stay_one_line)
{
    struct world world = begin(true);

    log_info("%s", "x\nEDL_JOB=8");
    assert_non_null(strstr(sent, "MESSAGE=x\\nEDL_JOB=8\n"));
    (void)end(&world);
}

TEST(test_what_the_journal_does_not_take_is_a_line)
{
    struct world world = begin(true);

    journal_answer = -ENOENT;
    log_entry(LOG_LEVEL_INFO, &process, "one");
    assert_string_equal(end(&world), "<6>one\n");
}

TEST(test_another_stderr_gets_lines)
{
    struct world world = begin(false);
    const char *text;

    log_entry(LOG_LEVEL_INFO, &process, "one");
    text = end(&world);
    assert_int_equal(n_sent, 0);
    assert_non_null(strstr(text, " info test_journal: one\n"));
}

/* --- catalogs --- */

static char *read_catalog(const char *name)
{
    static char text[2][64 * 1024];
    static unsigned n;
    char *into = text[n++ % 2];
    char path[512];
    _cleanup_fclose_ FILE *file = NULL;
    size_t used;

    (void)snprintf(path, sizeof path, "%s/%s", UNITS_DIR, name);
    file = fopen(path, "re");
    assert_non_null(file);
    used = fread(into, 1, sizeof text[0] - 1, file);
    into[used] = '\0';
    return into;
}

static bool is_agents(enum message message)
{
    return strncmp(message_name(message), "agent-", 6) == 0;
}

TEST(test_each_number_is_explained_where_it_belongs)
{
    const char *catalogs[] = { read_catalog("edl-scheduler.catalog"),
                               read_catalog("edl-agent.catalog") };

    for (unsigned i = MESSAGE_NONE + 1; i < _MESSAGE_MAX; i++) {
        const char *id = message_id((enum message)i);
        char begins[160];

        (void)snprintf(begins, sizeof begins,
                       "\n# %s\n-- %s\nSubject: ", message_name((enum message)i), id);
        if (strlen(id) != 32 || strspn(id, "0123456789abcdef") != 32)
            fail_msg("%s is no number of a message", id);
        if (strstr(catalogs[is_agents((enum message)i)], begins) == NULL)
            fail_msg("%s is not in the catalog of its program", message_name((enum message)i));
        for (unsigned k = MESSAGE_NONE + 1; k < i; k++)
            assert_string_not_equal(id, message_id((enum message)k));
        assert_int_equal(message_by_name(message_name((enum message)i)), i);
    }
    assert_null(message_id(MESSAGE_NONE));
    assert_int_equal(message_by_name("job-queued"), MESSAGE_NONE);
}

TEST(test_each_explanation_has_its_number)
{
    const char *names[] = { "edl-scheduler.catalog", "edl-agent.catalog" };
    unsigned n = 0;

    for (size_t i = 0; i < ELEMENTS(names); i++)
        for (const char *at = read_catalog(names[i]); (at = strstr(at, "\n-- ")) != NULL; at++) {
            bool known = false;

            for (unsigned k = MESSAGE_NONE + 1; k < _MESSAGE_MAX; k++)
                known = known || strncmp(at + 4, message_id((enum message)k), 32) == 0;
            if (!known)
                fail_msg("%s explains %.32s, which no program writes", names[i], at + 4);
            n++;
        }
    assert_int_equal(n, _MESSAGE_MAX - 1);
}

TEST(test_explanations_name_fields_that_are_there)
{
    static const char *const fields[] = { "@EDL_JOB@", "@EDL_ROLE@", "@EDL_INDEX@", "@EDL_NODE@" };
    const char *names[] = { "edl-scheduler.catalog", "edl-agent.catalog" };

    for (size_t i = 0; i < ELEMENTS(names); i++) {
        const char *at = read_catalog(names[i]);

        while ((at = strchr(at, '@')) != NULL) {
            size_t k = 0;

            while (k < ELEMENTS(fields) && strncmp(at, fields[k], strlen(fields[k])) != 0)
                k++;
            if (k == ELEMENTS(fields))
                fail_msg("%s: no field %.20s", names[i], at);
            at += strlen(fields[k]);
        }
    }
}

int main(int argc, char **argv)
{
    (void)unsetenv("EDL_LOG_LEVEL");
    return tests_main(argc, argv);
}
