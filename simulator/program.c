/* SPDX-License-Identifier: Apache-2.0 */
/* program.c - what the processes of a job do: work off tasks, train in steps, live for a while, or
 * serve
 *
 * A trainer talks to the scheduler through its agent and tries again until it is answered. It is an
 * honest one: it says that a task is finished only when it worked through it. */
#include "simulator/internal.h"

#define CALL_TIMEOUT_US (6 * USEC_PER_SEC)
#define LEASE_WAIT_US (20 * USEC_PER_SEC)
#define RETRY_LEAST_US (100 * USEC_PER_MSEC)
#define RETRY_MOST_US (2 * USEC_PER_SEC)
#define RETURNS_PPM 700000 /* of trainers that hand their task back when told to stop */
#define EXIT_CRASHED 139
#define TELL_EACH_US USEC_PER_SEC

static const struct sim_work *work_of(const struct sim *sim, const struct unit *unit)
{
    return &sim->submissions[unit->job->submission].work;
}

bool program_works_on_data(const struct unit *unit)
{
    return unit->job->n_roles == 1 || !streq(unit->id.role, "pserver");
}

static void wait_until(struct sim *sim, struct unit *unit, uint64_t at_us)
{
    unit->program_at = at_us;
    sim_at(sim, at_us, EVENT_PROGRAM, unit->node->number, unit->serial, NULL);
}

static void retry_later(struct sim *sim, struct unit *unit)
{
    uint64_t most_us = MIN_OF(RETRY_LEAST_US << MIN_OF(unit->failures, 6U), RETRY_MOST_US);

    unit->failures++;
    unit->call = 0;
    wait_until(sim, unit, sim->now_us + most_us / 2 + random_below(&unit->random, most_us / 2));
}

/* natural logarithm and exponential by series: the same bits on every machine */
static double series_log(double x)
{
    double y;
    double power;
    double sum = 0;
    int halvings = 0;

    for (; x > 1.5; x /= 2)
        halvings++;
    y = power = (x - 1) / (x + 1);
    for (int i = 1; i < 40; i += 2, power *= y * y)
        sum += power / i;
    return 2 * sum + halvings * 0.69314718055994530942;
}

static double series_exp(double x)
{
    double sum = 1;
    double term = 1;
    double scaled = x / 64;

    for (int i = 1; i < 20; i++)
        sum += term *= scaled / i;
    for (int i = 0; i < 6; i++)
        sum *= sum;
    return sum;
}

static double step_s(const double step[SIM_STEP_TERMS], double w, double p)
{
    return step[0] / w + step[1] + step[2] * w / p + step[3] * w + step[4] * p;
}

/* How long one of n takes for what one alone, with one server, does in task_us: n / n^a times as
 * long, or as long as n steps of all together. */
static uint64_t task_us(const struct sim_work *work, uint32_t n, uint32_t servers)
{
    double one = step_s(work->step, 1, 1);

    if (one > 0)
        return (uint64_t)((double)work->task_us * n * step_s(work->step, n, servers) / one);
    if (work->speedup_permille == 0 || work->speedup_permille == 1000 || n < 2)
        return work->task_us;
    return (uint64_t)((double)work->task_us *
                      series_exp(series_log(n) * (1000.0 - work->speedup_permille) / 1000.0));
}

uint32_t program_count_running(const struct unit *unit, bool servers)
{
    uint32_t n = 0;

    for (uint32_t r = 0; r < unit->job->n_roles; r++)
        if ((unit->job->n_roles > 1 && streq(unit->job->roles[r].name, "pserver")) == servers)
            n += unit->job->roles[r].n_running;
    return MAX_OF(n, 1U);
}

/* Of a machine that offers it, so fast as this program is on its GPUs. */
static uint32_t gpu_permille(const struct sim_work *work, const struct unit *unit)
{
    const char *type = labels_get(&unit->node->offer.labels, LABEL_GPU_TYPE);

    for (uint32_t i = 0; type != NULL && i < work->n_gpu_speeds; i++)
        if (streq(work->gpu_speeds[i].type, type))
            return work->gpu_speeds[i].permille;
    return 1000;
}

uint64_t program_step_us(const struct sim_work *work, uint32_t n, uint32_t servers)
{
    double one = step_s(work->step, 1, 1);

    if (one > 0)
        return (uint64_t)((double)work->task_us * step_s(work->step, n, servers) / one);
    return task_us(work, n, servers) / n;
}

static uint64_t task_us_there(const struct sim_work *work, const struct unit *unit)
{
    uint64_t us =
        task_us(work, program_count_running(unit, false), program_count_running(unit, true)) *
        1000 / unit->node->speed_permille;

    return MAX_OF(us * 1000 / gpu_permille(work, unit), 1U);
}

static struct message *request_new(struct sim *sim, const struct unit *unit, enum call_kind kind)
{
    struct message *message = message_new(sim, kind);

    message->node = unit->node->number;
    message->process = unit->serial;
    message->credential = unit->node->credential;
    message->who = (struct process_key){ .job_id = unit->id.job_id,
                                         .incarnation = unit->id.incarnation,
                                         .role = unit->role,
                                         .index = unit->id.index };
    message->ref = unit->ref;
    return message;
}

uint32_t program_lost(uint32_t damaged_each, uint64_t records, const struct task_ref *ref)
{
    if (damaged_each == 0 || ref->task % damaged_each != 0)
        return 0;
    return (uint32_t)((UINT64_C(7) * ref->task + ref->lease) % (records + 1));
}

static void call(struct sim *sim, struct unit *unit, enum call_kind kind)
{
    const struct sim_work *work = work_of(sim, unit);
    struct message *message;
    uint64_t limit_us = CALL_TIMEOUT_US;

    if (!agent_can_call(unit->node) || unit->node->agent_frozen) {
        retry_later(sim, unit);
        return;
    }
    message = request_new(sim, unit, kind);
    message->call = unit->call = ++sim->call_serial;
    if (kind == CALL_FINISH)
        message->ref.lost = program_lost(work->damaged_each, work->records_per_task, &unit->ref);
    if (kind == CALL_LEASE) {
        message->wait_us = LEASE_WAIT_US;
        limit_us += LEASE_WAIT_US;
    }
    send_request(sim, message);
    wait_until(sim, unit, sim->now_us + limit_us);
}

static void step(struct sim *sim, struct unit *unit, enum step next)
{
    const struct sim_work *work = work_of(sim, unit);

    unit->step = next;
    unit->failures = 0;
    unit->call = 0;
    switch (next) {
    case STEP_PREPARE:
        wait_until(sim, unit,
                   sim->now_us + (unit->job->has_data ? 0 : draw(&unit->random, work->prepare)));
        break;
    case STEP_DATASET:
        call(sim, unit, CALL_DATASET);
        break;
    case STEP_LEASE:
        unit->has_task = false;
        call(sim, unit, CALL_LEASE);
        break;
    case STEP_WORK:
        wait_until(sim, unit, sim->now_us + task_us_there(work, unit));
        break;
    case STEP_FINISH:
        call(sim, unit, CALL_FINISH);
        break;
    case STEP_FAIL:
        call(sim, unit, CALL_FAIL);
        break;
    case STEP_SAVE:
        wait_until(sim, unit, sim->now_us + work->save_us);
        break;
    case STEP_SAVED:
        call(sim, unit, CALL_SAVED);
        break;
    case STEP_TRAIN:
        program_train_begin(sim, unit);
        wait_until(sim, unit, sim->now_us + TELL_EACH_US);
        break;
    case STEP_SERVE:
        program_serve(sim, unit);
        wait_until(sim, unit, sim->now_us + TELL_EACH_US);
        break;
    case STEP_LIVE:
    case STEP_TELL:
    case STEP_HANG:
    case STEP_LEAVE:
    case STEP_NONE:
        break;
    }
}

void program_begin(struct sim *sim, struct unit *unit)
{
    const struct sim_work *work = work_of(sim, unit);

    if (unit->told)
        return;
    if (work->useless) {
        step(sim, unit, STEP_LIVE);
        wait_until(sim, unit, sim->now_us + random_below(&unit->random, USEC_PER_SEC));
        return;
    }
    if (!program_works_on_data(unit) || work->kind == SIM_WORK_FOREVER) {
        step(sim, unit, STEP_LIVE);
    } else if (work->kind == SIM_WORK_STEPS) {
        step(sim, unit, STEP_TRAIN);
    } else if (work->kind == SIM_WORK_SERVE) {
        step(sim, unit, STEP_SERVE);
    } else if (work->kind == SIM_WORK_LIFETIME) {
        step(sim, unit, STEP_LIVE);
        wait_until(sim, unit, sim->now_us + draw(&unit->random, work->lifetime));
    } else {
        step(sim, unit, STEP_PREPARE);
    }
}

/* stay - in spite of SIGTERM; half of those have saved a moment later, and do not end all the same
 */
static void stay(struct sim *sim, struct unit *unit)
{
    if (unit->serial % 2 == 0)
        return;
    unit->call = 0;
    unit->step = STEP_TELL;
    wait_until(sim, unit, sim->now_us + draw(&unit->random, work_of(sim, unit)->stop));
}

void program_terminate(struct sim *sim, struct unit *unit)
{
    if (unit->ignores) {
        stay(sim, unit);
        return;
    }
    if (unit->has_task && agent_can_call(unit->node) && chance(&unit->random, RETURNS_PPM)) {
        struct message *message = request_new(sim, unit, CALL_FAIL);

        message->returned = true;
        message->call = ++sim->call_serial;
        send_request(sim, message);
    }
    unit->has_task = false;
    unit->call = 0;
    unit->step = STEP_LEAVE;
    wait_until(sim, unit, sim->now_us + draw(&unit->random, work_of(sim, unit)->stop));
}

/* A record in it, say, that cannot be read: for each who tries, in every pass. */
static bool is_bad(const struct sim *sim, const struct unit *unit)
{
    uint64_t random = stream(sim, "bad-task", unit->job->submission, unit->ref.task);

    return chance(&random, work_of(sim, unit)->bad_task_ppm);
}

static void worked(struct sim *sim, struct unit *unit)
{
    const struct sim_work *work = work_of(sim, unit);
    bool bad = is_bad(sim, unit);

    if (chance(&unit->random, work->crash_ppm) || (bad && work->bad_tasks_crash))
        unit_exit(sim, unit, EXIT_CRASHED, 0, NULL);
    else if (bad || chance(&unit->random, work->task_failure_ppm))
        step(sim, unit, STEP_FAIL);
    else
        step(sim, unit, STEP_FINISH);
}

/* Its lifetime is over, or its last step. */
static void lived(struct sim *sim, struct unit *unit)
{
    bool crashes =
        work_of(sim, unit)->useless || chance(&unit->random, work_of(sim, unit)->crash_ppm);

    unit_exit(sim, unit, crashes ? 1 : 0, 0, NULL);
}

/* As the library does it: told once a second. */
static void trained(struct sim *sim, struct unit *unit)
{
    bool is_last = program_train(sim, unit);

    if (!work_of(sim, unit)->silent)
        program_tell_steps(sim, unit);
    if (is_last)
        lived(sim, unit);
    else
        wait_until(sim, unit, sim->now_us + TELL_EACH_US);
}

void program_on_event(struct sim *sim, struct unit *unit)
{
    if (sim->now_us < unit->program_at)
        return;
    if (unit->life == LIFE_STARTING && unit->step == STEP_LEAVE) {
        unit_exit(sim, unit, 143, 15, NULL);
        return;
    }
    if (unit->life != LIFE_RUNNING)
        return;
    unit->program_at = NEVER_US;
    if (unit->call != 0) {
        retry_later(sim, unit);
        return;
    }
    switch (unit->step) {
    case STEP_PREPARE:
        step(sim, unit, STEP_DATASET);
        break;
    case STEP_WORK:
        worked(sim, unit);
        break;
    case STEP_SAVE:
        step(sim, unit, STEP_SAVED);
        break;
    case STEP_TRAIN:
        trained(sim, unit);
        break;
    case STEP_SERVE:
        step(sim, unit, STEP_SERVE);
        break;
    case STEP_LIVE:
        lived(sim, unit);
        break;
    case STEP_LEAVE:
        unit_exit(sim, unit, 0, 0, NULL);
        break;
    case STEP_TELL:
        unit->step = STEP_HANG;
        agent_checkpoint_done(sim, unit);
        break;
    case STEP_DATASET:
        call(sim, unit, CALL_DATASET);
        break;
    case STEP_LEASE:
        call(sim, unit, CALL_LEASE);
        break;
    case STEP_FINISH:
        call(sim, unit, CALL_FINISH);
        break;
    case STEP_FAIL:
        call(sim, unit, CALL_FAIL);
        break;
    case STEP_SAVED:
        call(sim, unit, CALL_SAVED);
        break;
    case STEP_HANG:
    case STEP_NONE:
        break;
    }
}

void program_call_failed(struct sim *sim, struct unit *unit)
{
    if (unit->life == LIFE_RUNNING)
        retry_later(sim, unit);
}

/* In a read that never returns, say; half of them do not hear SIGTERM any more. One of a job. */
static bool hangs(struct sim *sim, struct unit *unit)
{
    struct submission *submission = &sim->submissions[unit->job->submission];

    if (submission->hung || !chance(&unit->random, submission->work.hang_ppm))
        return false;
    TRACE(sim, "%s: %s-%u.%llu of job %llu hangs", unit->node->name, unit->id.role, unit->id.index,
          (unsigned long long)unit->id.incarnation, (unsigned long long)unit->id.job_id);
    sim->seen[SIM_SEEN_TRAINERS_HUNG]++;
    submission->hung = true;
    unit->ignores = unit->ignores || random_below(&unit->random, 2) == 0;
    return true;
}

static void on_lease(struct sim *sim, struct unit *unit, const struct message *answer)
{
    if (answer->finished && answer->save_model) {
        step(sim, unit, hangs(sim, unit) ? STEP_HANG : STEP_SAVE);
    } else if (answer->finished) {
        unit_exit(sim, unit, 0, 0, NULL);
    } else if (answer->wait) {
        step(sim, unit, STEP_LEASE);
    } else {
        unit->ref = answer->ref;
        unit->has_task = true;
        step(sim, unit, hangs(sim, unit) ? STEP_HANG : STEP_WORK);
    }
}

void program_answer(struct sim *sim, struct unit *unit, const struct message *answer)
{
    bool taken = answer->status == 200;
    bool stale = answer->status == 409;

    if (unit->life != LIFE_RUNNING)
        return;
    unit->call = 0;
    if (!taken && !(stale && (unit->step == STEP_FINISH || unit->step == STEP_FAIL ||
                              unit->step == STEP_SAVED))) {
        retry_later(sim, unit);
        return;
    }
    switch (unit->step) {
    case STEP_DATASET:
    case STEP_FINISH:
    case STEP_FAIL:
        step(sim, unit, STEP_LEASE);
        break;
    case STEP_LEASE:
        on_lease(sim, unit, answer);
        break;
    case STEP_SAVED:
        if (taken)
            unit_exit(sim, unit, 0, 0, NULL);
        else
            step(sim, unit, STEP_LEASE);
        break;
    default:
        break;
    }
}
