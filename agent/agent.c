/* SPDX-License-Identifier: Apache-2.0 */
/* agent.c - the root object of edl-agent
 *
 * Orders come from the link, changes from the runtime; both lead to reconcile(), whose plan is
 * carried out here. Everything that happens to a process is told to the link, which reports it at
 * once. A crash at any point loses nothing: processes live under their supervisors, their folders
 * say what they are, and the next agent adopts them before it speaks to anybody. */
#include "agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <utlist.h>

#include "agent/environment.h"
#include "agent/inventory.h"
#include "agent/layout.h"
#include "agent/lease.h"
#include "agent/link.h"
#include "agent/logs.h"
#include "agent/options.h"
#include "agent/orders.h"
#include "agent/process.h"
#include "agent/process_dir.h"
#include "agent/proxy.h"
#include "agent/core/reconcile.h"
#include "agent/runtime_direct.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"

#define SAMPLE_LEAST_US (500 * USEC_PER_MSEC)
#define GOODBYE_US (3 * USEC_PER_SEC) /* for the last report when the scheduler does not answer */
#define ROOT_REASON                                                                                \
    "the agent runs as root; run it under an account of its own or give --allow-root"

struct agent {
    const struct agent_options *options; /* borrowed */
    sd_event *event;
    struct layout layout;
    char boot_id[BOOT_ID_SIZE];
    int lock_fd; /* flock on the state folder */
    struct lease_map lease;
    uint64_t lease_us; /* as the scheduler gives it; 0 before the first report */
    struct inventory inventory;
    uint64_t sampled_us;
    struct runtime *runtime;
    struct process_table table;
    struct link *link;
    struct logs *logs;
    struct proxy *proxy;
    struct orders orders;
    bool have_orders; /* before the first ones nothing is started or stopped */
    bool stopping;    /* SIGTERM with --stop-processes-on-exit */
    sd_event_source *reconcile_source;
    sd_event_source *goodbye_timer;
};

/* ---- carrying out orders ---- */

static void start(struct agent *a, size_t idx_order)
{
    const struct reconcile_order *order = &a->orders.list[idx_order];
    const struct environment_facts facts = { .boot_id = a->boot_id, .lease_us = a->lease_us };

    if (geteuid() == 0 && !a->options->allow_root)
        process_add_ended(&a->table, &order->id, ROOT_REASON);
    else
        process_start(&a->table, &order->id, order->grace_us, a->orders.documents[idx_order],
                      &facts);
}

static void carry_out(struct agent *a, const struct reconcile_action *action,
                      struct process *const *processes)
{
    switch (action->kind) {
    case RECONCILE_START:
        start(a, action->idx_order);
        break;
    case RECONCILE_REFUSE_STALE:
        process_add_ended(&a->table, &a->orders.list[action->idx_order].id,
                          "stale incarnation: a newer one is known here");
        break;
    case RECONCILE_NEVER_STARTED:
        process_add_ended(&a->table, &a->orders.list[action->idx_order].id, "never started");
        break;
    case RECONCILE_STOP:
        process_stop(processes[action->idx_process], action->grace_us);
        break;
    case RECONCILE_FORGET:
        process_forget(processes[action->idx_process]);
        link_changed(a->link);
        break;
    }
}

static void reconcile(struct agent *a)
{
    size_t n = a->table.n;
    _cleanup_free_ struct process **processes = xcalloc(n, sizeof *processes);
    _cleanup_free_ struct reconcile_process *observed = xcalloc(n, sizeof *observed);
    _cleanup_free_ struct reconcile_action *actions = xcalloc(n + a->orders.n, sizeof *actions);
    bool may_start = !a->stopping && lease_map_read(&a->lease) > clock_read_us(CLOCK_BOOTTIME);
    struct process *p;
    size_t n_actions;
    size_t i = 0;

    if (!a->have_orders)
        return;
    DL_FOREACH(a->table.list, p)
    {
        processes[i] = p;
        observed[i++] =
            (struct reconcile_process){ .id = p->id, .state = p->state, .grace_us = p->grace_us };
    }
    n_actions = reconcile_plan(a->orders.list, a->orders.n, observed, n, may_start, actions);
    for (i = 0; i < n_actions; i++)
        carry_out(a, &actions[i], processes);
}

static int on_reconcile(sd_event_source *source, void *userdata)
{
    (void)source;
    reconcile(userdata);
    return 0;
}

/* want_reconcile - once, after what is being done: a plan is never made while another is carried
 * out */
static void want_reconcile(struct agent *a)
{
    (void)sd_event_source_set_enabled(a->reconcile_source, SD_EVENT_ONESHOT);
}

/* ---- leaving ---- */

static int on_goodbye(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct agent *a = userdata;

    (void)source;
    (void)usec;
    log_warning("the scheduler did not take the last report; leaving without");
    return sd_event_exit(a->event, 0);
}

/* leave_when_done - all processes gone and reported */
static void leave_when_done(struct agent *a)
{
    const struct process *p;

    if (!a->stopping)
        return;
    DL_FOREACH(a->table.list, p)
    if (p->state != UNIT_EXITED || !p->exit_public)
        return;
    if (link_reported(a->link))
        (void)sd_event_exit(a->event, 0);
    else if (a->goodbye_timer == NULL)
        (void)sd_event_add_time_relative(a->event, &a->goodbye_timer, CLOCK_BOOTTIME, GOODBYE_US, 0,
                                         on_goodbye, a);
}

static size_t count_alive(const struct agent *a)
{
    const struct process *p;
    size_t n = 0;

    DL_FOREACH(a->table.list, p)
    n += p->state != UNIT_EXITED;
    return n;
}

static int on_stop_signal(sd_event_source *source, const struct signalfd_siginfo *info,
                          void *userdata)
{
    struct agent *a = userdata;
    bool again = a->stopping;
    struct process *p;

    (void)source;
    if (!a->options->stop_processes_on_exit) {
        log_info("%s: leaving, %zu processes go on", strsignal((int)info->ssi_signo),
                 count_alive(a));
        return sd_event_exit(a->event, 0);
    }
    log_info("%s: stopping %zu processes%s", strsignal((int)info->ssi_signo), count_alive(a),
             again ? " at once" : "");
    (void)sd_notify(0, "STOPPING=1");
    a->stopping = true;
    DL_FOREACH(a->table.list, p)
    process_stop(p, again ? 0 : p->grace_us);
    leave_when_done(a);
    return 0;
}

/* ---- what happens to processes ---- */

static void on_process_changed(struct process *p, void *userdata)
{
    struct agent *a = userdata;

    if (p->state == UNIT_EXITED && !p->exit_public)
        logs_send_tail(a->logs, &p->id); /* the end is reported after it, see on_tail */
    logs_kick(a->logs);                  /* its log is there now, or is complete now */
    link_changed(a->link);
    want_reconcile(a);
    leave_when_done(a);
}

static void on_tail(const struct process_id *id, bool sent, void *userdata)
{
    struct agent *a = userdata;
    struct process *p = process_find(&a->table, id);

    if (p == NULL)
        return;
    p->tail_sent = p->tail_sent || sent;
    if (p->exit_public)
        return;
    p->exit_public = true;
    link_changed(a->link);
    leave_when_done(a);
}

static bool process_ended(const struct process_id *id, void *userdata)
{
    const struct agent *a = userdata;
    const struct process *p = process_find(&a->table, id);

    return p == NULL || p->state == UNIT_EXITED;
}

static bool process_of_supervisor(pid_t supervisor_pid, void *userdata, void **ret)
{
    const struct agent *a = userdata;
    struct process *p;

    DL_FOREACH(a->table.list, p)
    {
        if (p->supervisor_pid != supervisor_pid || p->handle == NULL)
            continue;
        *ret = p;
        return true;
    }
    return false;
}

/* ---- what the link asks and tells ---- */

static json_t *offer(struct agent *a)
{
    const struct agent_options *o = a->options;

    return json_pack("{s:s, s:I, s:I, s:I, s:i, s:i}", "address", o->address, "cpu_millicores",
                     (json_int_t)a->inventory.cpu_millicores, "memory_bytes",
                     (json_int_t)a->inventory.memory_bytes, "gpus", (json_int_t)o->gpus,
                     "port_first", (int)o->port_first, "port_last", (int)o->port_last);
}

static json_t *join_body(void *userdata)
{
    struct agent *a = userdata;
    json_t *body = offer(a);

    (void)json_object_set_new(body, "node", json_string(a->layout.node));
    return body;
}

/* sample - figures of all trees; not more often than they can change visibly */
static void sample(struct agent *a)
{
    _cleanup_free_ struct inventory_tree *trees = xcalloc(a->table.n, sizeof *trees);
    uint64_t now_us = clock_read_us(CLOCK_BOOTTIME);
    struct process *p;
    size_t n = 0;

    if (a->sampled_us != 0 && now_us - a->sampled_us < SAMPLE_LEAST_US)
        return;
    a->sampled_us = now_us;
    DL_FOREACH(a->table.list, p)
    if (p->supervisor_pid > 0)
        trees[n++].root = p->supervisor_pid;
    inventory_sample(&a->inventory, trees, n, a->table.ended_cpu_us, now_us);
    n = 0;
    DL_FOREACH(a->table.list, p)
    {
        if (p->supervisor_pid <= 0)
            continue;
        p->cpu_used_us = MAX_OF(p->cpu_used_us, trees[n].cpu_used_us);
        p->memory_used_bytes = trees[n++].memory_used_bytes;
    }
}

static json_t *report_body(void *userdata)
{
    struct agent *a = userdata;
    json_t *body = offer(a);
    json_t *processes = json_array();
    const struct process *p;

    sample(a);
    DL_FOREACH(a->table.list, p)
    (void)json_array_append_new(processes, process_json(p));
    (void)json_object_set_new(body, "boot_id", json_string(a->boot_id));
    (void)json_object_set_new(body, "version", json_string(EDL_VERSION));
    (void)json_object_set_new(body, "foreign_cpu_millicores",
                              json_integer((json_int_t)a->inventory.foreign_cpu_millicores));
    (void)json_object_set_new(body, "foreign_memory_bytes",
                              json_integer((json_int_t)a->inventory.foreign_memory_bytes));
    (void)json_object_set_new(body, "complete", json_true());
    (void)json_object_set_new(body, "processes", processes);
    return body;
}

/* on_reported - also the beat of everything that is looked at again and again */
static void on_reported(uint64_t deadline_us, uint64_t lease_us, void *userdata)
{
    struct agent *a = userdata;
    struct process *p, *next;

    a->lease_us = lease_us;
    lease_map_extend(&a->lease, deadline_us);
    DL_FOREACH_SAFE(a->table.list, p, next)
    {
        if (p->state != UNIT_EXITED && p->supervisor_pid <= 0)
            process_refresh(p); /* its supervisor was not found yet, or its end was not clear */
        else if (p->state == UNIT_EXITED && p->exit_public && !p->tail_sent) {
            p->tail_sent = true; /* one more try; its end is reported already */
            logs_send_tail(a->logs, &p->id);
        }
    }
    logs_kick(a->logs);
    want_reconcile(a);
    leave_when_done(a);
}

static bool on_orders(const json_t *answer, void *userdata)
{
    struct agent *a = userdata;
    struct edl_error error = { 0 };
    struct orders orders;

    if (orders_parse(answer, &orders, &error) < 0) {
        (void)log_failure(&error, "orders are not understood and not followed");
        return false;
    }
    orders_clear(&a->orders);
    a->orders = orders;
    a->have_orders = true;
    logs_follow(a->logs, a->orders.logs, a->orders.n_logs);
    want_reconcile(a);
    return true;
}

/* ---- start ---- */

static int lock_state(struct agent *a, struct edl_error *error)
{
    a->lock_fd = open(a->layout.state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (a->lock_fd == -1)
        return edl_error_errno(error, -errno, "cannot open %s", a->layout.state_dir);
    if (flock(a->lock_fd, LOCK_EX | LOCK_NB) == -1)
        return edl_error_set(error, -EBUSY, "another agent uses %s", a->layout.state_dir);
    return 0;
}

/* open_lease - a deadline of an earlier boot is on another clock and worth nothing */
static int open_lease(struct agent *a, struct edl_error *error)
{
    _cleanup_close_ int fd = openat(a->lock_fd, "boot", O_RDONLY | O_CLOEXEC);
    char seen[BOOT_ID_SIZE] = "";
    bool same = fd != -1 && read(fd, seen, sizeof seen - 1) > 0 && streq(seen, a->boot_id);
    int r = lease_map_open(a->layout.lease_path, true, !same, &a->lease, error);

    if (r < 0 || same)
        return r;
    return file_write_atomic(a->lock_fd, "boot", a->boot_id, strlen(a->boot_id), 0600, error);
}

static int open_event(struct agent *a, struct edl_error *error)
{
    sigset_t set;
    int r = sd_event_default(&a->event);

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    if (r >= 0)
        r = sd_event_add_signal(a->event, NULL, SIGTERM, on_stop_signal, a);
    if (r >= 0)
        r = sd_event_add_signal(a->event, NULL, SIGINT, on_stop_signal, a);
    if (r >= 0)
        r = sd_event_add_defer(a->event, &a->reconcile_source, on_reconcile, a);
    if (r >= 0)
        r = sd_event_set_watchdog(a->event, 1); /* does nothing when no watchdog was asked for */
    return r < 0 ? edl_error_errno(error, r, "cannot make an event loop") : 0;
}

static int open_link(struct agent *a, struct edl_error *error)
{
    const struct link_config link_config = {
        .scheduler = a->options->scheduler,
        .node = a->layout.node,
        .join_token_file = a->options->join_token_file,
        .state_dir = a->layout.state_dir,
        .heartbeat_us = a->options->heartbeat_us,
        .join_body = join_body,
        .report_body = report_body,
        .on_reported = on_reported,
        .on_orders = on_orders,
        .userdata = a,
    };
    int r = link_new(a->event, &link_config, &a->link, error);

    if (r < 0)
        return r;
    a->logs = logs_new(&(struct logs_config){ .event = a->event,
                                              .link = a->link,
                                              .layout = &a->layout,
                                              .on_tail = on_tail,
                                              .ended = process_ended,
                                              .userdata = a });
    return proxy_new(&(struct proxy_config){ .event = a->event,
                                             .link = a->link,
                                             .socket_path = a->layout.socket_path,
                                             .lookup = process_of_supervisor,
                                             .userdata = a },
                     &a->proxy, error);
}

static int open_runtime(struct agent *a, struct edl_error *error)
{
    _cleanup_free_ char *supervisor = text_format("%s/edl-supervisor", a->layout.program_dir);
    int r = runtime_direct_new(a->event, supervisor, &a->runtime, error);

    a->table = (struct process_table){
        .runtime = a->runtime, .layout = &a->layout, .changed = on_process_changed, .userdata = a
    };
    return r < 0 ? r : process_table_adopt(&a->table, error);
}

/* release_ends - of those that ended while no agent was there: reported at once, on_reported sends
 * what they wrote last, because the link is not up yet */
static void release_ends(struct agent *a)
{
    struct process *p;

    DL_FOREACH(a->table.list, p)
    p->exit_public = p->state == UNIT_EXITED;
}

int agent_new(const struct agent_options *options, struct agent **ret, struct edl_error *error)
{
    struct agent *a = xcalloc(1, sizeof *a);
    int r;

    a->options = options;
    a->lock_fd = -1;
    r = layout_init(options, &a->layout, error);
    if (r == 0)
        r = lock_state(a, error);
    if (r == 0 && procfs_boot_id(a->boot_id) < 0)
        r = edl_error_set(error, -ENOENT, "cannot read the boot id");
    if (r == 0)
        r = open_lease(a, error);
    if (r == 0)
        r = inventory_init(&a->inventory, options->cpu_millicores, options->memory_bytes,
                           options->no_foreign, error);
    if (r == 0)
        r = open_event(a, error);
    if (r == 0)
        r = open_runtime(a, error);
    if (r == 0)
        r = open_link(a, error);
    if (r < 0) {
        (void)agent_free(a);
        return r;
    }
    release_ends(a);
    *ret = a;
    return 0;
}

int agent_run(struct agent *agent, struct edl_error *error)
{
    int r;

    if (geteuid() == 0 && !agent->options->allow_root)
        log_warning("every start will fail: %s", ROOT_REASON);
    (void)sd_notify(0, "READY=1");
    log_info("node %s, %zu processes adopted", agent->layout.node, agent->table.n);
    r = sd_event_loop(agent->event);
    return r < 0 ? edl_error_errno(error, r, "the event loop failed") : 0;
}

struct agent *agent_free(struct agent *a)
{
    if (a == NULL)
        return NULL;
    (void)proxy_free(a->proxy);
    (void)logs_free(a->logs);
    (void)link_free(a->link);
    process_table_done(&a->table);
    if (a->runtime != NULL)
        (void)a->runtime->ops->free(a->runtime);
    orders_clear(&a->orders);
    sd_event_source_disable_unref(a->reconcile_source);
    sd_event_source_disable_unref(a->goodbye_timer);
    sd_event_unref(a->event);
    lease_map_close(&a->lease);
    layout_done(&a->layout);
    (void)safe_close(a->lock_fd);
    free(a);
    return NULL;
}
