/* SPDX-License-Identifier: Apache-2.0 */
/* test_log_chunks.c - a log with times is taken apart as it comes, and nothing else is believed */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/log_chunks.h"
#include "client/job_view.h"
#include "client/log_missing.h"
#include "client/log_source.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define ANSWER "5 4 1000\none\n9 0 0\n20 3 2000\n5 4"

/* say - "offset.time:text|..." of what came; new string */
static char *say(const struct log_chunks *chunks)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    for (const struct log_chunk *chunk = chunks->list; chunk != NULL; chunk = chunk->next)
        (void)fprintf(out, "%d.%d:%.*s|", (int)chunk->offset, (int)chunk->time_us, (int)chunk->size,
                      chunk->data);
    (void)fclose(out);
    return text;
}

TEST_PLAIN(pieces_of_any_length_make_the_same)
{
    for (size_t step = 1; step <= strlen(ANSWER); step++) {
        struct log_chunks chunks = { .next = 5 };
        char *text;

        for (size_t at = 0; at < strlen(ANSWER); at += step)
            assert_int_equal(log_chunks_feed(&chunks, ANSWER + at,
                                             MIN_OF(step, strlen(ANSWER) - at)),
                             0);
        text = say(&chunks);
        assert_string_equal(text, "5.1000:one\n|9.0:|20.2000:5 4|");
        assert_int_equal(chunks.missing, 0);
        assert_int_equal(chunks.next, 23);
        free(text);
        log_chunks_clear(&chunks);
    }
}

TEST_PLAIN(what_no_node_says_is_refused)
{
    static const char *const answers[] = {
        "\n",
        "x\n",
        "5 4\n",
        "5 4 1000 \n",
        "4 1 0\n",
        "-5 1 0\n",
        "5 65537 0\n",
        "5 1 0\na4 1 0\n",
        "5 1 0\na5 1 0\n",
        " 5 1 0\n",
        "55555555555555555555555555555555555555555555555555555555555555555555555555555555555555 1 "
        "0\n",
    };

    for (size_t i = 0; i < ELEMENTS(answers); i++) {
        struct log_chunks chunks = { .next = 5 };

        if (log_chunks_feed(&chunks, answers[i], strlen(answers[i])) != -EINVAL)
            fail_msg("it takes \"%s\"", answers[i]);
        log_chunks_clear(&chunks);
    }
}

TEST_PLAIN(missing_bytes_are_told_in_one_sentence)
{
    json_t *process = json_pack("{s:s,s:i,s:i,s:s}", "role", "trainer", "index", 0, "incarnation",
                                1, "node", "n1");
    struct log_source *source = log_source_new(process);
    char text[640];

    log_missing_say(source, 0, 1048576, text, sizeof text);
    assert_string_equal(text, "bytes 0 to 1,048,575 of trainer-0 are gone: node n1 keeps the newest"
                              " (log-max)");
    (void)snprintf(source->why, sizeof source->why, "on node n1, which is lost");
    log_missing_say(source, 0, 1000, text, sizeof text);
    assert_string_equal(text, "bytes 0 to 999 of trainer-0 are on node n1, which is lost");
    log_missing_say(source, 7, 8, text, sizeof text);
    assert_string_equal(text, "byte 7 of trainer-0 is on node n1, which is lost");
    log_missing_say(source, 1000, LOG_NO_END, text, sizeof text);
    assert_string_equal(text, "bytes from 1,000 on of trainer-0, if it wrote more, are on node n1,"
                              " which is lost");
    (void)log_source_free(source);
    json_decref(process);
}

/* end_of - up to where the log of a process in this state is read, of which 4 bytes are kept */
static uint64_t end_of(const char *state, bool ended)
{
    const struct log_request request = { .job = "j" };
    struct log_reading reading = { .request = &request, .ended = ended };
    json_t *process = json_pack("{s:s,s:s,s:i,s:i,s:i}", "role", "trainer", "state", state, "index",
                                0, "incarnation", 1, "started_us", 5);
    json_t *entry = json_pack("{s:s,s:i,s:i}", "text", "one\n", "time_us", 5, "next_offset", 4);
    struct log_source *source = log_source_new(process);
    uint64_t end;

    log_source_add(source, entry);
    log_source_begin(&reading, source);
    end = source->end;
    (void)log_source_free(source);
    json_decref(entry);
    json_decref(process);
    return end;
}

TEST_PLAIN(a_kept_end_is_the_last_one_when_the_server_says_so)
{
    assert_int_equal(end_of("exited", true), 4);
    assert_int_equal(end_of("exited", false), LOG_NO_END);
    assert_int_equal(end_of("lost", true), LOG_NO_END);
    assert_int_equal(end_of("running", false), LOG_NO_END);
}
