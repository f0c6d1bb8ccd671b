/* SPDX-License-Identifier: Apache-2.0 */
/* rendezvous.c - the processes of a role agree on a generation: one long poll for both ends
 *
 * {"after": N} arrives, and is answered when there is a generation above N that has the caller:
 * {"generation": N} watches, and is answered when N is over. Each wait is a look at the core. It is
 * repeated whenever the core says that somebody came or went (EFFECT_MEMBERSHIP, turn.c). So
 * nothing is lost when a call is made again: by the agent after a restart of the scheduler, by the
 * caller when its wait ended without news.
 *
 * GET tells of the generation that is there now, and changes nothing: a newcomer whose arrival
 * would end it asks so, and gets its state from a member first. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/accounts/auth.h"
#include "scheduler/api/api.h"
#include "scheduler/api/process_ref.h"
#include "scheduler/calls/body.h"
#include "scheduler/core/model/rendezvous.h"
#include "scheduler/json/job_json.h"
#include "scheduler/scheduler.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"

#define WAIT_MAX_S 3600 /* more is a mistake; what is waited is POLL_WAIT_MAX_S at most */
#define MISSING_SHOWN 8
/* Each member gets the list, so all together cost the square: 256 lists of 256 are 7 MB and 40 ms
 * in which nobody else is served, or 74 MB and 0.2 s when each brought a note of 1 KiB. */
#define MEMBERS_BY_ITSELF 256

struct poll {
    struct process_ref caller;
    uint64_t generation; /* that it has used and is done with, or watches; 0: none */
    bool members_said;   /* whether the answer is to list them; else their number decides */
    bool members;
    char note[]; /* that it brings; "": none */
};

/* A generation that is not over has all its members: each is the live process of its slot. */
static const struct process *member_process(const struct job *job, uint32_t role,
                                            const struct rendezvous *agreed, uint32_t rank)
{
    return job->slots[role][agreed->members[rank].index].live;
}

static json_t *members_to_json(const struct job *job, uint32_t role,
                               const struct rendezvous *agreed)
{
    json_t *members = json_array();

    for (uint32_t rank = 0; rank < agreed->n_members; rank++) {
        const struct process *member = member_process(job, role, agreed, rank);
        const char *note = agreed->members[rank].note;

        (void)json_array_append_new(
            members,
            json_pack("{s:I,s:I,s:I,s:s,s:s,s:o,s:s}", "rank", (json_int_t)rank, "index",
                      (json_int_t)member->index, "incarnation", (json_int_t)member->incarnation,
                      "node", member->node_name, "address", process_address(member), "ports",
                      ports_to_json(member), "note", note != NULL ? note : ""));
    }
    return members;
}

void api_rendezvous_forget(struct scheduler *scheduler)
{
    json_decref(scheduler->members_told.json);
    scheduler->members_told = (struct members_told){ 0 };
}

/* A generation never changes, and all of its members ask in one turn: the list is made once, and is
 * part of all answers. Borrowed, for the caller to take a reference. */
static json_t *members_of(struct scheduler *scheduler, const struct process *caller,
                          const struct rendezvous *agreed)
{
    struct members_told *told = &scheduler->members_told;

    if (told->json != NULL && told->job_id == caller->job->id && told->role == caller->role &&
        told->generation == agreed->generation)
        return told->json;
    api_rendezvous_forget(scheduler);
    *told = (struct members_told){ .job_id = caller->job->id,
                                   .role = caller->role,
                                   .generation = agreed->generation,
                                   .json = members_to_json(caller->job, caller->role, agreed) };
    return told->json;
}

static json_t *generation_to_json(struct scheduler *scheduler, const struct process *caller,
                                  const struct rendezvous *agreed, bool members)
{
    const struct process *first = member_process(caller->job, caller->role, agreed, 0);
    json_t *json = json_pack("{s:I,s:I,s:{s:s,s:I}}", "generation", (json_int_t)agreed->generation,
                             "world_size", (json_int_t)agreed->n_members, "master", "address",
                             process_address(first), "port",
                             (json_int_t)(first->n_ports > 0 ? first->ports[0] : 0));

    if (members)
        (void)json_object_set(json, "members", members_of(scheduler, caller, agreed));
    return json;
}

static json_t *agreed_to_json(struct scheduler *scheduler, const struct process *caller,
                              const struct poll *poll)
{
    const struct rendezvous *agreed = rendezvous_of(caller->job, caller->role);
    bool members = poll->members_said ? poll->members : agreed->n_members <= MEMBERS_BY_ITSELF;
    json_t *json = generation_to_json(scheduler, caller, agreed, members);
    uint32_t rank = 0;

    while (agreed->members[rank].index != caller->index)
        rank++;
    (void)json_object_set_new(json, "rank", json_integer(rank));
    return json;
}

static json_t *wait_to_json(const struct process *caller)
{
    const struct rendezvous *rendezvous = rendezvous_of(caller->job, caller->role);
    const struct process *missing[MISSING_SHOWN];
    size_t n = rendezvous_missing(caller->job, caller->role, missing, ELEMENTS(missing));
    json_t *array = json_array();

    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(array, json_pack("{s:I,s:s,s:s}", "index",
                                                     (json_int_t)missing[i]->index, "state",
                                                     process_state_to_string(missing[i]->state),
                                                     "node", missing[i]->node_name));
    return json_pack("{s:b,s:I,s:o}", "wait", 1, "arrived", (json_int_t)rendezvous->n_arrived,
                     "missing", array);
}

/* Its change has a turn, in which those that wait for it look again. */
static void touch(struct scheduler *scheduler)
{
    if (!scheduler_skip_turn(scheduler))
        scheduler_touch(scheduler);
}

static bool poll_arrive(struct scheduler *scheduler, struct held *held, void *data, bool last)
{
    const struct poll *poll = data;
    struct edl_error error = { 0 };
    struct process *caller = process_ref_find(scheduler, &poll->caller, &error);
    enum rendezvous_result result = RENDEZVOUS_WAIT;

    if (caller == NULL || cluster_arrive(scheduler->cluster, caller, poll->generation, poll->note,
                                         clock_instant(), &result, &error) < 0) {
        held_reply_error(held, &error);
        return true;
    }
    touch(scheduler);
    if (result == RENDEZVOUS_AGREED)
        held_after_commit(scheduler, held, 200, agreed_to_json(scheduler, caller, poll));
    else if (result == RENDEZVOUS_LEAVING)
        held_after_commit(scheduler, held, 200, json_pack("{s:b}", "leaving", 1));
    else if (last)
        held_after_commit(scheduler, held, 200, wait_to_json(caller));
    else
        return false;
    return true;
}

static bool poll_watch(struct scheduler *scheduler, struct held *held, void *data, bool last)
{
    const struct poll *poll = data;
    struct edl_error error = { 0 };
    const struct process *caller = process_ref_find(scheduler, &poll->caller, &error);
    bool over = false;

    if (caller == NULL || rendezvous_is_over(caller, poll->generation, &over, &error) < 0)
        held_reply_error(held, &error);
    else if (over || last)
        held_after_commit(scheduler, held, 200,
                          json_pack("{s:I,s:b}", "generation", (json_int_t)poll->generation, "over",
                                    (int)over));
    else
        return false;
    return true;
}

/* ret_note: borrowed from the body */
static int read_poll(const json_t *body, const struct process *process, struct poll *ret,
                     const char **ret_note, bool *ret_watch, uint64_t *ret_wait_s,
                     struct edl_error *error)
{
    struct body_field may = { .object = body, .at = "" };
    bool watch = body_has(&may, "generation");
    int r;

    *ret = (struct poll){ .caller = process_ref_of(process),
                          .members_said = body_has(&may, "members") };
    if (watch && body_has(&may, "after")) {
        (void)edl_error_at(error, -EINVAL, "/after",
                           "generation watches one, after arrives for"
                           " another: both at once cannot be");
        return edl_error_remedy(error, "give one of them");
    }
    r = body_u64(&may, watch ? "generation" : "after", INT64_MAX, &ret->generation, error);
    if (r == 0)
        r = body_bool(&may, "members", &ret->members, error);
    if (r == 0)
        r = body_u64(&may, "wait", WAIT_MAX_S, ret_wait_s, error);
    if (r == 0) /* how long a text may be is the core's to say */
        r = body_verbatim(&may, "note",
                          MAX_OF(json_string_length(json_object_get(body, "note")),
                                 (size_t)RENDEZVOUS_NOTE_MAX),
                          ret_note, error);
    *ret_watch = watch;
    return r;
}

void api_rendezvous(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    struct edl_error error = { 0 };
    struct process *process;
    struct poll poll, *kept;
    const char *note = "";
    json_t *body = NULL;
    char topic[TOPIC_MAX];
    uint64_t wait_s = POLL_WAIT_MAX_S;
    bool watch = false;
    int r = auth_process(scheduler, request, &process, &error);

    if (r == 0)
        r = body_object(request, &body, &error);
    if (r == 0)
        r = read_poll(body, process, &poll, &note, &watch, &wait_s, &error);
    if (r < 0) {
        json_decref(body);
        refuse_after_commit(scheduler, request, &error);
        return;
    }
    kept = xcalloc(1, sizeof *kept + strlen(note) + 1);
    *kept = poll;
    memcpy(kept->note, note, strlen(note) + 1);
    json_decref(body);
    (void)snprintf(topic, sizeof topic, "rendezvous/%" PRIu64, process->job->id);
    waiters_add(scheduler, held_new(request), topic,
                clock_read_us(CLOCK_BOOTTIME) +
                    MIN_OF(wait_s, (uint64_t)POLL_WAIT_MAX_S) * USEC_PER_SEC,
                watch ? poll_watch : poll_arrive, kept);
}

void api_rendezvous_now(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    struct edl_error error = { 0 };
    const struct rendezvous *agreed = NULL;
    struct process *process = NULL;
    int r = auth_process(scheduler, request, &process, &error);

    if (r == 0) {
        agreed = rendezvous_of(process->job, process->role);
        if (agreed == NULL || agreed->over)
            r = edl_error_set(&error, -ENOENT, "no generation of role %s is there now",
                              process->job->spec->roles[process->role].name);
    }
    if (r < 0) {
        refuse_after_commit(scheduler, request, &error);
        return;
    }
    tell_after_commit(scheduler, request, 200,
                      generation_to_json(scheduler, process, agreed,
                                         agreed->n_members <= MEMBERS_BY_ITSELF));
}
