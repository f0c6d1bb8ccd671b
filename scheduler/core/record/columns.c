/* SPDX-License-Identifier: Apache-2.0 */
/* columns.c - the tables of columns, and what the core takes from them */
#include "scheduler/core/record/columns.h"

#include "scheduler/core/model/notices.h"
#include "scheduler/core/model/recovered.h"
#include "scheduler/core/model/rendezvous.h"
#include "shared/macro.h"

/* a member of the record alone; one that the live object has as well, by the same name */
#define RECORD(object, member) COLUMN_RECORD(struct object##_record, member)
#define BOTH(object, member)                                                                       \
    RECORD(object, member), .live = offsetof(struct object, member),                               \
                            .live_size = sizeof(((struct object *)NULL)->member)

/* one of a record that is the live object of a comparison */
#define ITSELF(object, member)                                                                     \
    RECORD(object, member), .live = offsetof(struct object##_record, member),                      \
                            .live_size = sizeof(((struct object##_record *)NULL)->member)

/* --- lists --- */

#define MEMBER(type, member) COLUMN_RECORD(struct type, member)
#define LENGTH(object, member)                                                                     \
    .length = offsetof(struct object##_record, member),                                            \
    .length_size = sizeof(((struct object##_record *)NULL)->member)

static const struct column a_byte[] = { { .kind = COLUMN_NUMBER, .size = sizeof(uint8_t) } };
static const struct column a_port[] = { { .kind = COLUMN_NUMBER, .size = sizeof(uint16_t) } };
static const struct column a_number[] = { { .kind = COLUMN_NUMBER, .size = sizeof(uint32_t) } };
static const struct column a_slot[] = {
    { "role", COLUMN_NUMBER, MEMBER(slot_record, role), .most = JOB_ROLES_MAX - 1 },
    { "index", COLUMN_NUMBER, MEMBER(slot_record, index), .most = ROLE_INSTANCES_MAX - 1 },
    { "failures", COLUMN_NUMBER, MEMBER(slot_record, failures) },
    { "finished", COLUMN_BOOL, MEMBER(slot_record, finished) },
    { "due", COLUMN_BOOL, MEMBER(slot_record, due) },
};
static const struct column a_time[] = {
    { "cpu", COLUMN_NUMBER, MEMBER(resource_time, cpu_millicore_ms) },
    { "gpu", COLUMN_NUMBER, MEMBER(resource_time, gpu_ms) },
    { "memory", COLUMN_NUMBER, MEMBER(resource_time, memory_mib_ms) },
};
static const struct column a_member[] = {
    { "index", COLUMN_NUMBER, MEMBER(rendezvous_member, index), .most = ROLE_INSTANCES_MAX - 1 },
    { "incarnation", COLUMN_NUMBER, MEMBER(rendezvous_member, incarnation) },
    { "note", COLUMN_BORROWED, MEMBER(rendezvous_member, note) },
};

#define LIST(array, element)                                                                       \
    .members = (array), .n = ELEMENTS(array), .element_size = sizeof(element)

static const struct column_list gpu_numa = { LIST(a_byte, uint8_t), LENGTH(node, offer.gpus),
                                             .length_told = true };
static const struct column_list targets = { LIST(a_number, uint32_t), LENGTH(job, n_targets) };
static const struct column_list slots = { LIST(a_slot, struct slot_record), LENGTH(job, n_slots) };
static const struct column_list usage = { LIST(a_time, struct resource_time) };
static const struct column_list ports = { LIST(a_port, uint16_t), LENGTH(process, n_ports) };
static const struct column_list members = { LIST(a_member, struct rendezvous_member),
                                            LENGTH(rendezvous, n_members) };

/* --- records --- */

static const struct column node_columns[] = {
    { "name", COLUMN_TEXT, BOTH(node, name), .flags = COLUMN_KEY },
    { "state", COLUMN_NODE_STATE, BOTH(node, state) },
    { "ever_reported", COLUMN_BOOL, BOTH(node, ever_reported) },
    { "address", COLUMN_TEXT, RECORD(node, offer.address) },
    { "cpu_millicores", COLUMN_NUMBER, RECORD(node, offer.cpu_millicores) },
    { "memory_bytes", COLUMN_NUMBER, RECORD(node, offer.memory_bytes) },
    { "gpus", COLUMN_NUMBER, RECORD(node, offer.gpus), .most = NODE_GPUS_MAX },
    { "port_first", COLUMN_NUMBER, RECORD(node, offer.port_first) },
    { "port_last", COLUMN_NUMBER, RECORD(node, offer.port_last) },
    { "port_next", COLUMN_NUMBER, BOTH(node, port_next), .loose = true },
    { "foreign_cpu_millicores", COLUMN_NUMBER, BOTH(node, foreign_cpu_millicores), .loose = true },
    { "foreign_memory_bytes", COLUMN_NUMBER, BOTH(node, foreign_memory_bytes), .loose = true },
    { "last_report_wall_us", COLUMN_NUMBER, BOTH(node, last_report_wall_us), .loose = true },
    { "boot_id", COLUMN_TEXT, BOTH(node, boot_id) },
    { "credential_hash", COLUMN_TEXT, BOTH(node, credential_hash) },
    { "admin_state", COLUMN_NODE_STATE, BOTH(node, admin_state) },
    { "set_aside", COLUMN_TEXT, BOTH(node, set_aside) },
    { "labels", COLUMN_LABELS, RECORD(node, offer.labels) },
    { "numa_nodes", COLUMN_NUMBER, RECORD(node, offer.numa_nodes) },
    { "gpu_numa", COLUMN_LIST, RECORD(node, offer.gpu_numa), .list = &gpu_numa }, /* behind gpus */
};
const struct record_table node_table = RECORD_TABLE(node, struct node_record);

static const struct column job_columns[] = {
    { "id", COLUMN_NUMBER, BOTH(job, id), .flags = COLUMN_KEY },
    { "name", COLUMN_JOB_NAME, RECORD(job, spec), .flags = COLUMN_ONCE },
    { "array_name", COLUMN_ARRAY_NAME, RECORD(job, spec), .flags = COLUMN_ONCE },
    { "state", COLUMN_JOB_STATE, BOTH(job, state) },
    { "reason_code", COLUMN_TEXT, BOTH(job, reason_code) },
    { "reason", COLUMN_TEXT, RECORD(job, reason) },
    { "user", COLUMN_TEXT, BOTH(job, user), .flags = COLUMN_ONCE },
    { "spec", COLUMN_SPEC, RECORD(job, spec), .flags = COLUMN_SELDOM },
    { "next_incarnation", COLUMN_NUMBER, BOTH(job, next_incarnation) },
    { "targets", COLUMN_LIST, RECORD(job, target), .list = &targets },
    { "slots", COLUMN_LIST, RECORD(job, slots), .list = &slots,
      .most = (uint64_t)JOB_ROLES_MAX * ROLE_INSTANCES_MAX },
    { "resizes", COLUMN_NUMBER, BOTH(job, resizes) },
    { "finishing", COLUMN_BOOL, BOTH(job, finishing) },
    { "submitted_wall_us", COLUMN_NUMBER, BOTH(job, submitted_wall_us), .flags = COLUMN_ONCE },
    { "started_wall_us", COLUMN_NUMBER, BOTH(job, started_wall_us) },
    { "ended_wall_us", COLUMN_NUMBER, BOTH(job, ended_wall_us) },
    { "dataset_digest", COLUMN_TEXT, RECORD(job, dataset_digest) },
    { "metrics", COLUMN_BORROWED, RECORD(job, metrics) },
    { "usage", COLUMN_LIST, RECORD(job, usage.kinds), .list = &usage },
    { "turn_wall_us", COLUMN_NUMBER, BOTH(job, turn_wall_us), .loose = true },
    { "served", COLUMN_NUMBER, BOTH(job, served), .loose = true },
    { "charged", COLUMN_NUMBER, BOTH(job, charged), .loose = true },
    { "n_parked", COLUMN_NUMBER, BOTH(job, n_parked), .most = UINT32_MAX },
    { "parked_wall_us", COLUMN_NUMBER, BOTH(job, parked_wall_us) },
    { "parked_for", COLUMN_NUMBER, BOTH(job, parked_for) },
    { "goes_first", COLUMN_BOOL, BOTH(job, goes_first) },
    { "servers_min", COLUMN_NUMBER, BOTH(job, servers_min), .most = ROLE_INSTANCES_MAX },
    { "servers_max", COLUMN_NUMBER, BOTH(job, servers_max), .most = ROLE_INSTANCES_MAX },
    { "updates_lost", COLUMN_NUMBER, BOTH(job, updates_lost), .most = RECOVERED_MOST },
    { "updates_lost_of", COLUMN_NUMBER, BOTH(job, updates_lost_of), .most = RECOVERED_MOST },
    { "runs_from_wall_us", COLUMN_NUMBER, BOTH(job, runs_from_wall_us) },
    { "ran_us", COLUMN_NUMBER, BOTH(job, ran_us) },
    { "secret", COLUMN_SECRET, BOTH(job, secret) },
    { "cause", COLUMN_JOB_CAUSE, BOTH(job, cause) }, /* behind state and reason_code, as the next */
    { "intent", COLUMN_INTENT, BOTH(job, intent) },
    { "n_slots", COLUMN_PART, RECORD(job, n_slots) },
    { "n_targets", COLUMN_PART, RECORD(job, n_targets) },
};
const struct record_table job_table = RECORD_TABLE(job, struct job_record);

static const struct column process_columns[] = {
    { "job_id", COLUMN_NUMBER, RECORD(process, job_id), .flags = COLUMN_KEY },
    { "role", COLUMN_NUMBER, BOTH(process, role), .flags = COLUMN_KEY, .most = JOB_ROLES_MAX - 1 },
    { "idx", COLUMN_NUMBER, BOTH(process, index), .flags = COLUMN_KEY,
      .most = ROLE_INSTANCES_MAX - 1 },
    { "incarnation", COLUMN_NUMBER, BOTH(process, incarnation), .flags = COLUMN_KEY },
    { "state", COLUMN_PROCESS_STATE, BOTH(process, state) },
    { "node", COLUMN_TEXT, BOTH(process, node_name) },
    { "ports", COLUMN_LIST, BOTH(process, ports), .list = &ports },
    { "pid", COLUMN_SIGNED, BOTH(process, pid) },
    { "exit_code", COLUMN_SIGNED, BOTH(process, exit_code) },
    { "exit_signal", COLUMN_SIGNED, BOTH(process, exit_signal) },
    { "stop_wanted", COLUMN_BOOL, BOTH(process, stop_wanted) },
    { "reason", COLUMN_TEXT, BOTH(process, reason) },
    { "assigned_wall_us", COLUMN_NUMBER, BOTH(process, assigned_wall_us) },
    { "started_wall_us", COLUMN_NUMBER, BOTH(process, started_wall_us) },
    { "ended_wall_us", COLUMN_NUMBER, BOTH(process, ended_wall_us) },
    { "cpu_used_us", COLUMN_NUMBER, BOTH(process, cpu_used_us), .loose = true },
    { "memory_used_bytes", COLUMN_NUMBER, BOTH(process, memory_used_bytes), .loose = true },
    { "gpus", COLUMN_DEVICES, BOTH(process, gpu_mask) },
    { "start_failed", COLUMN_BOOL, BOTH(process, start_failed) },
    { "frozen_us", COLUMN_NUMBER, BOTH(process, frozen_us), .loose = true },
    { "cause", COLUMN_PROCESS_CAUSE, BOTH(process, cause) }, /* behind reason */
    { "n_ports", COLUMN_PART, BOTH(process, n_ports) },
};
const struct record_table process_table = RECORD_TABLE(process, struct process_record);

/* The sums of a task queue that is closed have a row of their own. */
static const struct column queue_columns[] = {
    { "job_id", COLUMN_NUMBER, RECORD(queue, job_id), .flags = COLUMN_KEY },
    { "pass", COLUMN_NUMBER, ITSELF(queue, pass) },
    { "passes", COLUMN_NUMBER, ITSELF(queue, passes) },
    { "records_total", COLUMN_NUMBER, RECORD(queue, counts.records_total) },
    { "records_discarded_total", COLUMN_NUMBER, RECORD(queue, counts.records_discarded_total) },
    { "tasks_discarded_total", COLUMN_NUMBER, RECORD(queue, counts.tasks_discarded_total) },
    { "tasks_deadly_total", COLUMN_NUMBER, RECORD(queue, counts.tasks_deadly_total) },
    { "retries_total", COLUMN_NUMBER, RECORD(queue, counts.retries_total) },
    { "records_lost_total", COLUMN_NUMBER, RECORD(queue, counts.records_lost_total) },
    { "chunks_lost_total", COLUMN_NUMBER, RECORD(queue, counts.chunks_lost_total) },
    { "save_asked", COLUMN_BOOL, ITSELF(queue, save_asked) },
    { "model_saved", COLUMN_BOOL, ITSELF(queue, model_saved) },
    { "model_path", COLUMN_BORROWED, ITSELF(queue, model_path) },
    { "saver", COLUMN_NUMBER, ITSELF(queue, saver) },
    { "counts", COLUMN_PART, ITSELF(queue, counts) },
    { "closed", COLUMN_PART, ITSELF(queue, closed) }, /* there is a row of queue_end */
};
const struct record_table queue_table = RECORD_TABLE(queue, struct queue_record);

static const struct column queue_end_columns[] = {
    { "job_id", COLUMN_NUMBER, RECORD(queue, job_id), .flags = COLUMN_KEY },
    { "todo", COLUMN_NUMBER, RECORD(queue, counts.todo) },
    { "done", COLUMN_NUMBER, RECORD(queue, counts.done) },
    { "discarded", COLUMN_NUMBER, RECORD(queue, counts.discarded) },
    { "records_done", COLUMN_NUMBER, RECORD(queue, counts.records_done) },
    { "records_pass", COLUMN_NUMBER, RECORD(queue, counts.records_pass) },
    { "records_lost", COLUMN_NUMBER, RECORD(queue, counts.records_lost) },
    { "chunks_lost", COLUMN_NUMBER, RECORD(queue, counts.chunks_lost) },
};
const struct record_table queue_end_table = RECORD_TABLE(queue_end, struct queue_record);

static const struct column task_columns[] = {
    { "job_id", COLUMN_GIVEN, .flags = COLUMN_KEY },
    { "id", COLUMN_NUMBER, BOTH(task, id), .flags = COLUMN_KEY },
    { "state", COLUMN_NUMBER, BOTH(task, state), .most = TASK_DISCARDED },
    { "lease", COLUMN_NUMBER, BOTH(task, lease) },
    { "failures", COLUMN_NUMBER, BOTH(task, failures) },
    { "holder", COLUMN_NUMBER, BOTH(task, holder), .loose = true },
    { "pass", COLUMN_NUMBER, RECORD(task, pass) },
    { "lost_records", COLUMN_NUMBER, BOTH(task, lost_records) },
    { "lost_chunks", COLUMN_NUMBER, BOTH(task, lost_chunks) },
    { "deaths", COLUMN_NUMBER, BOTH(task, deaths) },
    { "outlived", COLUMN_NUMBER, BOTH(task, outlived) },
    { "died_slot", COLUMN_NUMBER, BOTH(task, died_slot) },
    { "died_before", COLUMN_NUMBER, BOTH(task, died_before) },
    { "chunks", COLUMN_GIVEN, .flags = COLUMN_SELDOM },
};
const struct record_table task_table = RECORD_TABLE(task, struct task_record);

static const struct column rendezvous_columns[] = {
    { "job_id", COLUMN_NUMBER, RECORD(rendezvous, job_id), .flags = COLUMN_KEY },
    { "role", COLUMN_NUMBER, RECORD(rendezvous, role), .flags = COLUMN_KEY,
      .most = JOB_ROLES_MAX - 1 },
    { "generation", COLUMN_NUMBER, RECORD(rendezvous, generation) },
    { "members", COLUMN_LIST, RECORD(rendezvous, members), .list = &members,
      .most = ROLE_INSTANCES_MAX },
    { "n_members", COLUMN_PART, RECORD(rendezvous, n_members) },
};
const struct record_table rendezvous_table = RECORD_TABLE(rendezvous, struct rendezvous_record);

static const struct column array_notice_columns[] = {
    { "first_id", COLUMN_NUMBER, BOTH(array_notice, first_id), .flags = COLUMN_KEY },
    { "n_jobs", COLUMN_NUMBER, BOTH(array_notice, n_jobs), .flags = COLUMN_ONCE,
      .most = JOB_ARRAY_MAX },
    { "n_succeeded", COLUMN_NUMBER, BOTH(array_notice, n_succeeded), .most = JOB_ARRAY_MAX },
    { "n_failed", COLUMN_NUMBER, BOTH(array_notice, n_failed), .most = JOB_ARRAY_MAX },
    { "n_killed", COLUMN_NUMBER, BOTH(array_notice, n_killed), .most = JOB_ARRAY_MAX },
    { "told", COLUMN_NUMBER, BOTH(array_notice, told) },
    { "first_failed", COLUMN_NUMBER, BOTH(array_notice, first_failed) },
};
const struct record_table array_notice_table =
    RECORD_TABLE(array_notice, struct array_notice_record);

void columns_take(const struct record_table *table, const void *live, void *record)
{
    for (const struct column *c = table->columns; c < table->columns + table->n; c++)
        memcpy((char *)record + c->at, (const char *)live + c->live, c->live_size);
}

void columns_give(const struct record_table *table, const void *record, void *live)
{
    for (const struct column *c = table->columns; c < table->columns + table->n; c++)
        memcpy((char *)live + c->live, (const char *)record + c->at, c->live_size);
}

static bool is_same(const struct column *column, const void *a, const void *b)
{
    const char *x = (const char *)a + column->live;
    const char *y = (const char *)b + column->live;

    if (column->live_size == 0)
        return true;
    if (column->kind == COLUMN_BORROWED) { /* of which none is NULL */
        x = *(const char *const *)x;
        y = *(const char *const *)y;
    }
    return column->kind == COLUMN_TEXT || column->kind == COLUMN_BORROWED
               ? streq(x, y)
               : memcmp(x, y, column->live_size) == 0;
}

const char *columns_differ(const struct record_table *table, const void *a, const void *b)
{
    for (const struct column *c = table->columns; c < table->columns + table->n; c++)
        if (!c->loose && !is_same(c, a, b))
            return c->name;
    return NULL;
}
