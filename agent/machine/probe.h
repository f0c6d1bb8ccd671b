/* SPDX-License-Identifier: Apache-2.0 */
/* probe.h - the agent's end of edl-prober: the questions to the machine that nobody waits for
 *
 * One question is under way at a time. One that does not answer is killed. When a prober is gone,
 * another one is started with the next question, not more often than every PROBE_PATIENCE_US. One
 * that hangs in the kernel may never be gone. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#define PROBE_PATIENCE_US (UINT64_C(10) * 1000000)

struct edl_error;
struct probe;

struct probe_config { /* text is copied */
    const char *program;
    const char *state_dir, *output_dir; /* NULL: it tells what processes use (usage_question.h) */
    const char *node;                   /* of which its entries in the journal are */
    /* on_answer - to question `number`; json is borrowed */
    void (*on_answer)(uint64_t number, const json_t *json, void *userdata);
    void *userdata;
};

struct probe *probe_new(sd_event *event, const struct probe_config *config);
struct probe *probe_free(struct probe *probe);

/* probe_ask - the number of the question whose answer tells what is true from now on: the next one,
 * or while one is under way the one after it, which is asked as soon as that is answered
 * now_us: boot time. */
uint64_t probe_ask(struct probe *probe, uint64_t now_us);

/* probe_ask_for - with the words of the question; false: one is under way, or there is no prober */
bool probe_ask_for(struct probe *probe, const char *question, size_t size, uint64_t now_us);

/* probe_is_well - whether what it told last still counts: there is a prober, and it answers */
bool probe_is_well(const struct probe *probe, uint64_t now_us);

/* probe_wait - for the answer that is under way, before the loop runs; false: none in patience_us
 */
bool probe_wait(struct probe *probe, uint64_t patience_us);
