/* SPDX-License-Identifier: Apache-2.0 */
/* agent.c - the root object of edl-agent
 *
 * The core (core/agent_core.h) is told the news of the link and of the runtime, and its actions are
 * carried out here. A crash at any point loses nothing: processes live under their supervisors,
 * their folders say what they are, and the next agent adopts them before it speaks to anybody. */
#include "agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <unistd.h>
#include <utlist.h>

#include "agent/agent_internal.h"
#include "agent/core/agent_core.h"
#include "agent/environment.h"
#include "agent/files/file_reads.h"
#include "agent/link/link.h"
#include "agent/logs/log_bound.h"
#include "agent/logs/log_keep.h"
#include "agent/logs/logs.h"
#include "agent/machine/open_files.h"
#include "agent/options.h"
#include "agent/machine/probe.h"
#include "agent/processes/folder_remover.h"
#include "agent/processes/process_dir.h"
#include "agent/link/proxy.h"
#include "agent/runtime.h"
#include "agent/session/sessions.h"
#include "agent/processes/spawner.h"
#include "agent/link/subject.h"
#include "agent/groups/unit_launcher.h"
#include "agent/workspace/workspace_cache.h"
#include "agent/workspace/workspaces.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"

#define TIMER_ACCURACY_US 1000
/* The agent carries out decisions for so long at a time: reports, the lease and calls of processes
 * come between. */
#define SLICE_US (10 * USEC_PER_MSEC)

/* ---- carrying out what the core decided ---- */

/* agent_decided - the core was told something: what it decided is carried out after what is being
 * done, never from inside a callback of a process that it may drop */
void agent_decided(struct agent *a)
{
    (void)sd_event_source_set_enabled(a->carry_out_source, SD_EVENT_ONESHOT);
}

static void on_removed(bool has_copy, void *userdata)
{
    struct agent *a = userdata;

    if (has_copy)
        workspaces_sweep_soon(a->workspaces);
    else
        workspaces_sweep_later(a->workspaces);
}

static void forget(struct agent *a, struct process *p)
{
    log_bound_forget(a->log_bound, p);
    process_forget(p);
}

static enum message message_of(const struct agent_unit *unit)
{
    if (unit->state == UNIT_RUNNING)
        return MESSAGE_AGENT_PROCESS_RUNNING;
    if (unit->state != UNIT_EXITED)
        return MESSAGE_NONE;
    if (!unit->started)
        return MESSAGE_AGENT_PROCESS_NOT_STARTED;
    return unit->exit_signal != 0 ? MESSAGE_AGENT_PROCESS_KILLED : MESSAGE_AGENT_PROCESS_EXITED;
}

/* tell - the state of a unit changed: a line in the log, and its output is there or complete now */
static void tell(struct agent *a, const struct process_id *id)
{
    const struct agent_unit *unit = agent_core_unit(a->core, id);
    struct log_subject subject;
    char name[PROCESS_KEY_SIZE];

    if (unit == NULL)
        return;
    (void)process_id_key(id, name);
    subject = subject_of(id, message_of(unit));
    if (unit->state == UNIT_EXITED)
        log_entry(LOG_LEVEL_INFO, &subject, "process %s exited: code %d%s%s", name, unit->exit_code,
                  unit->reason[0] != '\0' ? ", " : "", unit->reason);
    else if (unit->frozen)
        log_entry(LOG_LEVEL_INFO, &subject,
                  "process %s stands still: the lease of this node ran out", name);
    else
        log_entry(LOG_LEVEL_INFO, &subject, "process %s is %s", name, unit_state_name(unit->state));
    logs_kick(a->logs);
    log_bound_kick(a->log_bound);
}

/* send_tail - the report of its end says as well that there is none, unless it is out already */
static void send_tail(struct agent *a, const struct process_id *id)
{
    const struct agent_unit *unit = agent_core_unit(a->core, id);

    if (unit != NULL)
        logs_send_tail(a->logs, id, unit->exit_public);
}

static void leave(struct agent *a)
{
    if (!agent_core_is_all_told(a->core))
        log_warning("the scheduler did not take the last report; leaving without");
    (void)sd_event_exit(a->event, 0);
}

static void carry_out_one(struct agent *a, const struct agent_action *action)
{
    /* NULL: a unit of which nothing ever lay on this machine */
    struct process *p = process_find(&a->table, &action->id);

    switch (action->kind) {
    case AGENT_START:
        agent_start(a, action);
        break;
    case AGENT_STOP:
        agent_stop(a, action);
        break;
    case AGENT_SILENT:
        if (p != NULL)
            process_end_silent(p, action->grace_us);
        break;
    case AGENT_THAW:
        if (p != NULL)
            process_thaw(p, action->epoch);
        break;
    case AGENT_FORGET:
        if (p != NULL)
            forget(a, p);
        break;
    case AGENT_SEND_TAIL:
        send_tail(a, &action->id);
        break;
    case AGENT_EPILOG:
        agent_run_epilog(a, &action->id);
        break;
    case AGENT_REFRESH:
        if (p != NULL)
            process_refresh(p);
        break;
    case AGENT_REPORT:
        link_changed(a->link);
        break;
    case AGENT_MOVED:
        tell(a, &action->id);
        break;
    case AGENT_UNLISTED:
        log_error("a fault of this program: %s; it is ignored", agent_core_unlisted(a->core));
        break;
    case AGENT_LEAVE:
        leave(a);
        break;
    }
}

/* carry_out_slice - false: there is more to do */
static bool carry_out_slice(struct agent *a)
{
    uint64_t until_us = clock_read_us(CLOCK_BOOTTIME) + SLICE_US;
    struct agent_action action;

    while (agent_core_take(a->core, &action)) {
        carry_out_one(a, &action);
        if (clock_read_us(CLOCK_BOOTTIME) >= until_us)
            return false;
    }
    return agent_start_some_late(a, until_us);
}

static void carry_out(struct agent *a)
{
    uint64_t next_us;

    if (!carry_out_slice(a)) {
        agent_decided(a);
        return;
    }
    if (a->has_next) {
        agent_take_next_orders(a);
        agent_decided(a);
    }
    next_us = agent_core_next_us(a->core);
    if (next_us != NEVER_US)
        (void)sd_event_source_set_time(a->core_timer, next_us);
    (void)sd_event_source_set_enabled(a->core_timer,
                                      next_us != NEVER_US ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
    link_eager(a->link, agent_core_any_frozen(a->core));
}

static int on_carry_out(sd_event_source *source, void *userdata)
{
    (void)source;
    carry_out(userdata);
    return 0;
}

static int on_core_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct agent *a = userdata;

    (void)source;
    (void)usec;
    agent_core_timer(a->core, clock_read_us(CLOCK_BOOTTIME));
    agent_decided(a);
    return 0;
}

/* ---- what is told to the core ---- */

static int on_stop_signal(sd_event_source *source, const struct signalfd_siginfo *info,
                          void *userdata)
{
    struct agent *a = userdata;
    bool again = agent_core_is_stopping(a->core);

    (void)source;
    if (!a->now->stop_processes_on_exit) {
        log_info("%s: leaving; processes that go on: %zu", strsignal((int)info->ssi_signo),
                 agent_core_count_alive(a->core));
        return sd_event_exit(a->event, 0);
    }
    log_info("%s: processes being stopped%s: %zu", strsignal((int)info->ssi_signo),
             again ? " at once" : "", agent_core_count_alive(a->core));
    (void)sd_notify(0, "STOPPING=1");
    agent_core_stop(a->core, clock_read_us(CLOCK_BOOTTIME));
    agent_decided(a);
    return 0;
}

static void on_adopted(const struct process *p, uint64_t grace_us, const struct agent_facts *facts,
                       void *userdata)
{
    struct agent *a = userdata;

    agent_core_adopt(a->core, &p->id, grace_us, facts);
    if (p->promised_us > 0) /* anew: nobody listened meanwhile */
        (void)agent_core_promised(a->core, &p->id, p->promised_us, clock_read_us(CLOCK_BOOTTIME));
}

static void on_observed(const struct process *p, const struct agent_facts *facts, void *userdata)
{
    struct agent *a = userdata;

    if (facts->phase == AGENT_GONE && p->gpus != 0) /* whether it has left its devices */
        (void)probe_ask(a->probe, clock_read_us(CLOCK_BOOTTIME));
    agent_core_observed(a->core, &p->id, facts, clock_read_us(CLOCK_BOOTTIME));
    agent_decided(a);
}

static void on_tail(const struct process_id *id, enum logs_tail tail, void *userdata)
{
    struct agent *a = userdata;
    struct process *p = process_find(&a->table, id);

    if (p != NULL)
        p->silent = tail == LOGS_TAIL_NONE;
    agent_core_tail_offered(a->core, id, tail != LOGS_TAIL_NOT_SENT, clock_read_us(CLOCK_BOOTTIME));
    agent_decided(a);
}

static void on_reported(uint64_t sent_us, uint64_t lease_us, bool all_told, uint64_t now_us,
                        void *userdata)
{
    struct agent *a = userdata;
    uint64_t deadline_us = agent_core_lease_deadline_us(a->core);

    if (deadline_us > 0 && now_us >= deadline_us)
        log_entry(LOG_LEVEL_WARNING, &(struct log_subject){ .message = MESSAGE_AGENT_LEASE_OVER },
                  "the lease was over for %" PRIu64 " ms before the scheduler took a report: "
                  "processes that are not to be kept stood still, or have ended",
                  (now_us - deadline_us) / USEC_PER_MSEC);
    agent_aside_told(a);
    agent_core_reported(a->core, sent_us, lease_us, all_told, now_us);
    lease_map_extend(&a->lease, agent_core_lease(a->core));
    logs_kick(a->logs);
    log_keep_look(a->log_keep, now_us);
    agent_decided(a);
    client_files_once(a->options, &a->member, &a->told_clients);
    if (a->options->join_only) /* taken, with the credential that is kept now */
        (void)sd_event_exit(a->event, 0);
}

static void on_renewed(uint64_t sent_us, uint64_t lease_us, uint64_t now_us, void *userdata)
{
    struct agent *a = userdata;

    agent_core_renewed(a->core, sent_us, lease_us, now_us);
    lease_map_extend(&a->lease, agent_core_lease(a->core));
}

static void on_refused(void *userdata)
{
    struct agent *a = userdata;

    agent_drop_next_orders(a);
    agent_core_refused(a->core);
}

/* ---- what others ask ---- */

static bool process_ended(const struct process_id *id, void *userdata)
{
    const struct agent *a = userdata;
    const struct agent_unit *unit = agent_core_unit(a->core, id);

    return unit == NULL || unit->state == UNIT_EXITED;
}

/* ---- start ---- */

static int lock_folder(const char *path, int *ret, struct edl_error *error)
{
    *ret = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*ret == -1)
        return edl_error_errno(error, -errno, "cannot open %s", path);
    if (flock(*ret, LOCK_EX | LOCK_NB) == 0)
        return 0;
    (void)edl_error_set(error, -EBUSY, "another agent uses %s", path);
    return edl_error_remedy(error, "if that is the service: this machine is a node already; to join"
                                   " it anew, give --join-only as well");
}

static int lock_folders(struct agent *a, struct edl_error *error)
{
    int r = lock_folder(a->layout.state_dir, &a->lock_fd, error);

    if (r < 0 || !streq(a->layout.state_dir, a->layout.runtime_dir))
        return r < 0 ? r : lock_folder(a->layout.runtime_dir, &a->runtime_fd, error);
    a->runtime_fd = fcntl(a->lock_fd, F_DUPFD_CLOEXEC, 0); /* shares the lock */
    return a->runtime_fd >= 0 ? 0 : edl_error_errno(error, -errno, "cannot keep a folder open");
}

/* open_lease - a deadline of an earlier boot is on another clock and worth nothing */
static int open_lease(struct agent *a, struct edl_error *error)
{
    _cleanup_close_ int fd = openat(a->runtime_fd, "boot", O_RDONLY | O_CLOEXEC);
    char seen[BOOT_ID_SIZE] = "";
    bool same = fd != -1 && read(fd, seen, sizeof seen - 1) > 0 && streq(seen, a->boot_id);
    int r = lease_map_open(a->layout.lease_path, true, !same, &a->lease, error);

    if (r < 0 || same)
        return r;
    return file_write_atomic(a->runtime_fd, "boot", a->boot_id, strlen(a->boot_id), 0600, error);
}

static int on_reload_signal(sd_event_source *source, const struct signalfd_siginfo *info,
                            void *userdata)
{
    (void)source;
    (void)info;
    agent_reload(userdata);
    return 0;
}

static int open_event(struct agent *a, struct edl_error *error)
{
    sigset_t set;
    int r = sd_event_default(&a->event);

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    if (r >= 0)
        r = sd_event_add_signal(a->event, NULL, SIGTERM, on_stop_signal, a);
    if (r >= 0)
        r = sd_event_add_signal(a->event, NULL, SIGINT, on_stop_signal, a);
    if (r >= 0) /* who typed its command line hangs up: it ends, as others do then */
        r = sd_event_add_signal(a->event, NULL, SIGHUP,
                                isatty(STDERR_FILENO) ? on_stop_signal : on_reload_signal, a);
    if (r >= 0)
        r = sd_event_add_defer(a->event, &a->carry_out_source, on_carry_out, a);
    if (r >= 0)
        r = sd_event_add_time(a->event, &a->core_timer, CLOCK_BOOTTIME, 0, TIMER_ACCURACY_US,
                              on_core_timer, a);
    if (r >= 0)
        r = sd_event_set_watchdog(a->event, 1); /* does nothing when no watchdog was asked for */
    return r < 0 ? edl_error_errno(error, r, "cannot make an event loop") : 0;
}

/* agent_on_rejected - see agent_internal.h */
void agent_on_rejected(const struct edl_error *error, void *userdata)
{
    struct agent *a = userdata;

    a->rejection = *error;
    edl_error_prefix(&a->rejection, "the cluster does not take this node: ");
    (void)sd_event_exit(a->event, 0);
}

static int open_link(struct agent *a, struct edl_error *error)
{
    const struct link_config link_config = {
        .servers = &a->member.servers,
        .node = a->layout.node,
        .ca_path = a->member.ca_path,
        .join_token = a->options->token[0] != '\0' ? a->options->token : NULL,
        .join_token_file = a->options->join_token_file,
        .join_token_once = a->options->join_token_passed,
        .state_dir = a->layout.state_dir,
        .heartbeat_us = a->options->heartbeat_us,
        .join_body = agent_join_body,
        .report_body = agent_report_body,
        .on_address = agent_on_address,
        .on_reported = on_reported,
        .on_renewed = on_renewed,
        .on_orders = agent_on_orders,
        .on_refused = on_refused,
        .on_rejected = agent_on_rejected,
        .userdata = a,
    };
    int r = link_new(a->event, &link_config, &a->link, error);

    if (r < 0)
        return r;
    a->log_keep =
        log_keep_new(a->link, &a->layout, &a->table, LOG_KEEP_BEATS * a->options->heartbeat_us);
    a->log_bound = log_bound_new(&(struct log_bound_config){
        .event = a->event,
        .layout = &a->layout,
        .processes = &a->table,
        .bounds = { a->now->log_max_bytes, a->now->old_logs_max_bytes } });
    a->logs = logs_new(&(struct logs_config){ .event = a->event,
                                              .link = a->link,
                                              .layout = &a->layout,
                                              .on_tail = on_tail,
                                              .ended = process_ended,
                                              .userdata = a });
    a->file_reads =
        file_reads_new(&(struct file_reads_config){ .event = a->event,
                                                    .link = a->link,
                                                    .layout = &a->layout,
                                                    .allow_root = a->options->allow_root });
    a->sessions = sessions_new(&(struct sessions_config){ .event = a->event,
                                                          .link = a->link,
                                                          .layout = &a->layout,
                                                          .ca = a->member.ca_path,
                                                          .boot_id = a->boot_id,
                                                          .by_systemd = a->by_systemd,
                                                          .has_processes = a->table.n > 0 });
    a->workspaces =
        workspaces_new(&(struct workspaces_config){ .event = a->event,
                                                    .link = a->link,
                                                    .layout = &a->layout,
                                                    .max_bytes = a->now->workspace_cache_bytes,
                                                    .clock = &a->clock,
                                                    .kept = a->now->kept,
                                                    .ready = agent_on_workspace,
                                                    .userdata = a });
    return proxy_new(&(struct proxy_config){ .event = a->event,
                                             .link = a->link,
                                             .socket_path = a->layout.socket_path,
                                             .limits = open_files_share(),
                                             .lookup = agent_of_supervisor,
                                             .by_group = agent_of_group,
                                             .checkpoint_done = agent_on_checkpoint_done,
                                             .alive = agent_on_alive,
                                             .userdata = a },
                     &a->proxy, error);
}

static int open_launcher(struct agent *a, const char *supervisor, struct launcher **ret,
                         struct edl_error *error)
{
    bool possible = unit_launcher_possible();

    if (a->options->runtime == AGENT_RUNTIME_SYSTEMD && !possible)
        return edl_error_set(error, EDL_ECONFIG,
                             "--runtime systemd: systemd does not run this machine, or edl-agent is"
                             " not root; use --runtime direct");
    possible = possible && a->options->runtime != AGENT_RUNTIME_DIRECT;
    agent_open_limits(a, possible);
    a->by_systemd = possible;
    *ret = possible ? unit_launcher_new(a->event, supervisor, a->layout.state_dir)
                    : spawner_new(a->event, supervisor);
    return 0;
}

static int open_runtime(struct agent *a, struct edl_error *error)
{
    _cleanup_free_ char *supervisor = text_format("%s/edl-supervisor", a->layout.program_dir);
    struct launcher *launcher = NULL;
    int r = open_launcher(a, supervisor, &launcher, error);

    if (r == 0)
        r = runtime_new(a->event, launcher, &a->runtime, error);

    a->remover = folder_remover_new(&(struct folder_remover_config){
        .event = a->event, .layout = &a->layout, .removed = on_removed, .userdata = a });
    a->table = (struct process_table){ .runtime = a->runtime,
                                       .layout = &a->layout,
                                       .remover = a->remover,
                                       .observed = on_observed,
                                       .adopted = on_adopted,
                                       .userdata = a };
    return r < 0 ? r : process_table_adopt(&a->table, error);
}

static void take_name(struct agent *a)
{
    a->layout.node = xstrdup(a->member.node);
    log_node(a->layout.node);
}

int agent_new(const struct agent_options *options, struct agent **ret, struct edl_error *error)
{
    const struct inventory_offer offer = agent_offer_of(options);
    struct agent *a = xcalloc(1, sizeof *a);
    int r;

    a->options = a->now = options;
    a->accounts = agent_accounts_of(options);
    machine_id(a->machine_id);
    a->lock_fd = -1;
    a->runtime_fd = -1;
    a->machine_session = UINT64_MAX; /* the first report tells of the machine, too */
    r = layout_init(options, &a->layout, error);
    if (r == 0)
        r = lock_folders(a, error);
    if (r == 0)
        r = membership_open(options, a->layout.state_dir, &a->member, error);
    if (r == 0)
        take_name(a);
    if (r == 0)
        r = node_clock_open(&a->clock, a->layout.state_dir, error);
    memcpy(a->boot_id, a->clock.boot_id, sizeof a->boot_id);
    if (r == 0)
        r = open_lease(a, error);
    if (r == 0)
        r = inventory_init(&a->inventory, &offer, options->no_foreign, error);
    if (r == 0)
        r = open_event(a, error);
    if (r == 0) {
        agent_open_pins(a);
        a->core = agent_core_new(lease_map_read(&a->lease));
        r = open_runtime(a, error);
    }
    if (r == 0)
        agent_open_drop_ins(a);
    if (r == 0) /* what was adopted is known: it is no stranger on its devices */
        r = agent_open_gpus(a, error);
    if (r == 0) {
        agent_open_usage(a);
        r = open_link(a, error);
    }
    if (r < 0) {
        (void)agent_free(a);
        return r;
    }
    *ret = a;
    return 0;
}

int agent_run(struct agent *agent, struct edl_error *error)
{
    int r;

    if (geteuid() == 0 && agent->options->allow_root)
        log_warning("--allow-root: processes of jobs that name no user run as root");
    if (geteuid() == 0 && agent->options->default_user != NULL)
        log_warning(
            "default-user: everybody without an account here runs as %s: such jobs can read "
            "and end each other's processes; user-range gives each a number of its own",
            agent->options->default_user);
    (void)sd_notify(0, "READY=1");
    log_info("node %s, %zu process%s adopted", agent->layout.node, agent->table.n,
             PLURAL_ES(agent->table.n));
    r = sd_event_loop(agent->event);
    if (agent->rejection.code != 0) {
        *error = agent->rejection;
        return error->code;
    }
    return r < 0 ? edl_error_errno(error, r, "the event loop failed") : 0;
}

struct agent *agent_free(struct agent *a)
{
    if (a == NULL)
        return NULL;
    clock_keep(NULL);
    (void)proxy_free(a->proxy);
    (void)logs_free(a->logs);
    (void)file_reads_free(a->file_reads);
    (void)sessions_free(a->sessions);
    (void)log_keep_free(a->log_keep);
    (void)log_bound_free(a->log_bound);
    (void)workspaces_free(a->workspaces);
    (void)link_free(a->link);
    agent_close_drop_ins(a);
    agent_close_gpus(a);
    agent_close_usage(a);
    process_table_done(&a->table);
    (void)folder_remover_free(a->remover);
    (void)runtime_free(a->runtime);
    agent_close_limits(a);
    orders_clear(&a->orders);
    orders_clear(&a->next);
    agent_forget_late(a);
    sd_event_source_disable_unref(a->carry_out_source);
    sd_event_source_disable_unref(a->core_timer);
    (void)agent_core_free(a->core);
    sd_event_unref(a->event);
    lease_map_close(&a->lease);
    membership_done(&a->member);
    json_decref(a->accounts);
    json_decref(a->ports_foreign);
    agent_close_reload(a);
    free(a->topology);
    layout_done(&a->layout);
    (void)safe_close(a->runtime_fd);
    (void)safe_close(a->lock_fd);
    free(a);
    return NULL;
}
