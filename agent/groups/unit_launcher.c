/* SPDX-License-Identifier: Apache-2.0 */
/* unit_launcher.c - see unit_launcher.h
 *
 * A launch: StartTransientUnit answers with a job of the manager, JobRemoved says how that went.
 * "done" means that the supervisor holds the lock on its folder (Type=notify); its pid is asked for
 * then, and a pidfd opened. Should it have ended meanwhile, the number may be another's by now: it
 * is believed only while the lock is held, which is looked at last.
 *
 * When the bus is lost, calls without an answer are made again on the next connection, once. A unit
 * that exists already then comes from the first call. */
#include "agent/groups/unit_launcher.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>
#include <utlist.h>

#include "agent/processes/process_dir.h"
#include "agent/groups/unit_plan.h"
#include "agent/groups/unit_readback.h"
#include "agent/groups/unit_slices.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"

#define MANAGER                                                                                    \
    "org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager"
#define UNIT_EXISTS "org.freedesktop.systemd1.UnitExists"
#define NAMES_MAX 3 /* of the unit of one process */
#define TRIES 2     /* connections that a launch may outlive */
/* Launches that are asked for at a time, the others wait. The bus lets a connection wait for 128
 * answers and refuses what goes beyond; each launch has one, and its read-back six. */
#define ASKED_MAX 12

struct unit_launcher {
    struct launcher base; /* first */
    sd_event *event;      /* ref */
    char *program, *state_dir;
    sd_bus *bus;           /* NULL: not connected */
    sd_event_source *next; /* owned; asks for those that wait */
    size_t n_asked;
    sd_event_source *weights;   /* owned; tells what slices weigh */
    struct unit_slices *slices; /* owned */
    struct launch *launches;    /* in the order they came */
};

struct launch {
    struct unit_launcher *launcher; /* borrowed */
    char *path;                     /* of the process folder */
    char unit[UNIT_NAME_SIZE];
    struct unit_plan plan; /* what was asked for last */
    char *job;             /* of the manager; NULL: it did not answer yet */
    sd_bus_slot *call;     /* what it has to answer next */
    bool asked;            /* counted in n_asked; else it waits */
    bool with_slice;       /* the slice of its job is made along with it */
    unsigned names;        /* that were taken already, by what an earlier agent asked for */
    unsigned tries;
    launched_fn launched;
    void *userdata;
    struct launch *prev, *next; /* utlist */
};

static int ask(struct launch *launch, struct edl_error *error);

static void launch_free(struct launch *launch)
{
    DL_DELETE(launch->launcher->launches, launch);
    if (launch->asked) {
        launch->launcher->n_asked--;
        (void)sd_event_source_set_enabled(launch->launcher->next, SD_EVENT_ONESHOT);
    }
    sd_bus_slot_unref(launch->call);
    free(launch->job);
    free(launch->path);
    free(launch);
}

/* tell_weights_soon - and all at once: the processes of a job come and go together */
static void tell_weights_soon(const struct unit_launcher *launcher)
{
    (void)sd_event_source_set_enabled(launcher->weights, SD_EVENT_ONESHOT);
}

static void finish(struct launch *launch, pid_t pid, int take_pidfd, const struct edl_error *why)
{
    launched_fn launched = launch->launched;
    void *userdata = launch->userdata;

    tell_weights_soon(launch->launcher); /* its slice is there now */
    launch_free(launch);
    launched(pid, take_pidfd, why, userdata);
}

static void fail(struct launch *launch, const char *what, const char *how)
{
    struct edl_error why = { 0 };

    (void)edl_error_set(&why, -EIO, "systemd %s %s: %.160s", what, launch->unit, how);
    finish(launch, 0, -1, &why);
}

/* ---- the steps of a launch ---- */

static bool has_supervisor(const char *path)
{
    _cleanup_close_ int fd = process_dir_open(path, NULL);

    return fd >= 0 && process_dir_lock(fd) < 0;
}

static int on_main_pid(sd_bus_message *reply, void *userdata, sd_bus_error *unused)
{
    struct launch *launch = userdata;
    uint32_t pid = 0;
    int pidfd = -1;

    (void)unused;
    if (sd_bus_message_is_method_error(reply, NULL) <= 0 &&
        sd_bus_message_read(reply, "v", "u", &pid) >= 0 && pid > 0)
        pidfd = pidfd_open((pid_t)pid, 0);
    if (pidfd >= 0 && !has_supervisor(launch->path))
        pidfd = safe_close(pidfd);
    if (pidfd >= 0)
        unit_readback(launch->launcher->bus, launch->unit, &launch->plan);
    finish(launch, pidfd >= 0 ? (pid_t)pid : 0, pidfd, NULL);
    return 0;
}

/* Of a unit that is gone the answer is an error: it ended, how stands in its folder. */
static void ask_main_pid(struct launch *launch)
{
    _cleanup_free_ char *object = NULL;
    int r = sd_bus_path_encode("/org/freedesktop/systemd1/unit", launch->unit, &object);

    if (r >= 0)
        r = sd_bus_call_method_async(launch->launcher->bus, &launch->call,
                                     "org.freedesktop.systemd1", object,
                                     "org.freedesktop.DBus.Properties", "Get", on_main_pid, launch,
                                     "ss", "org.freedesktop.systemd1.Service", "MainPID");
    if (r < 0)
        finish(launch, 0, -1, NULL);
}

static int on_job_removed(sd_bus_message *message, void *userdata, sd_bus_error *unused)
{
    struct unit_launcher *launcher = userdata;
    const char *job, *unit, *result;
    struct launch *launch;
    uint32_t id;

    (void)unused;
    if (sd_bus_message_read(message, "uoss", &id, &job, &unit, &result) < 0)
        return 0;
    DL_FOREACH(launcher->launches, launch)
    if (launch->job != NULL && streq(launch->job, job))
        break;
    if (launch == NULL)
        return 0;
    free(launch->job);
    launch->job = NULL;
    if (streq(result, "done"))
        ask_main_pid(launch);
    else
        fail(launch, "did not start", result);
    return 0;
}

/* Another process of its job came first. */
static void ask_without_slice(struct launch *launch)
{
    struct edl_error why = { 0 };

    unit_slices_untold(launch->launcher->slices, launch->plan.job_id);
    launch->with_slice = false;
    if (ask(launch, &why) < 0)
        finish(launch, 0, -1, &why);
}

/* That unit finds another supervisor at work, or none to be: it starts nothing, and goes. */
static void ask_by_another_name(struct launch *launch)
{
    struct edl_error why = { 0 };

    launch->names++;
    if (ask(launch, &why) < 0)
        finish(launch, 0, -1, &why);
}

static int on_answer(sd_bus_message *reply, void *userdata, sd_bus_error *unused)
{
    struct launch *launch = userdata;
    const sd_bus_error *error = sd_bus_message_get_error(reply);
    const char *job;

    (void)unused;
    launch->call = sd_bus_slot_unref(launch->call);
    if (error != NULL && sd_bus_error_has_name(error, UNIT_EXISTS) > 0 && launch->with_slice)
        ask_without_slice(launch);
    else if (error != NULL && sd_bus_error_has_name(error, UNIT_EXISTS) > 0 && launch->tries > 0)
        ask_main_pid(launch);
    else if (error != NULL && sd_bus_error_has_name(error, UNIT_EXISTS) > 0 &&
             launch->names < NAMES_MAX)
        ask_by_another_name(launch);
    else if (error != NULL)
        fail(launch, "refused", error->message != NULL ? error->message : error->name);
    else if (sd_bus_message_read(reply, "o", &job) < 0)
        fail(launch, "answered without a job about", "this is no systemd that is known");
    else
        launch->job = xstrdup(job);
    return 0;
}

/* ---- the question ---- */

static int append_texts(sd_bus_message *call, const struct unit_property *property)
{
    int r = sd_bus_message_open_container(call, 'r', "sv");

    if (r >= 0)
        r = sd_bus_message_append(call, "s", property->name);
    if (r >= 0)
        r = sd_bus_message_open_container(call, 'v', "as");
    if (r >= 0)
        r = sd_bus_message_append_strv(call, (char **)(uintptr_t)property->texts);
    if (r >= 0)
        r = sd_bus_message_close_container(call);
    return r < 0 ? r : sd_bus_message_close_container(call);
}

static int append_property(sd_bus_message *call, const struct unit_property *property)
{
    const char type[] = { (char)property->type, '\0' };

    switch (property->type) {
    case UNIT_TEXT:
        return sd_bus_message_append(call, "(sv)", property->name, type, property->text);
    case UNIT_TEXTS:
        return append_texts(call, property);
    case UNIT_BOOL:
    case UNIT_INT:
        return sd_bus_message_append(call, "(sv)", property->name, type, (int)property->number);
    case UNIT_NUMBER:
        return sd_bus_message_append(call, "(sv)", property->name, type,
                                     (uint64_t)property->number);
    }
    return -EINVAL;
}

static int append_devices(sd_bus_message *call, const struct unit_plan *plan)
{
    int r = 0;

    for (size_t i = 0; r >= 0 && i < plan->n_devices; i++)
        r = sd_bus_message_append(call, "(sv)", "DeviceAllow", "a(ss)", 1, plan->devices[i], "rw");
    return r;
}

static int append_cpus(sd_bus_message *call, const struct unit_plan *plan)
{
    int r;

    if (plan->n_cpu_bytes == 0)
        return 0;
    r = sd_bus_message_open_container(call, 'r', "sv");
    if (r >= 0)
        r = sd_bus_message_append(call, "s", "AllowedCPUs");
    if (r >= 0)
        r = sd_bus_message_open_container(call, 'v', "ay");
    if (r >= 0)
        r = sd_bus_message_append_array(call, 'y', plan->cpus, plan->n_cpu_bytes);
    if (r >= 0)
        r = sd_bus_message_close_container(call);
    return r < 0 ? r : sd_bus_message_close_container(call);
}

/* The slice goes with the last process of its job: implicit ones would stay for ever. */
static int append_slice(sd_bus_message *call, const struct unit_plan *plan, uint64_t cpu_weight)
{
    return sd_bus_message_append(call, "a(sa(sv))", 1, plan->slice, 2, "StopWhenUnneeded", "b", 1,
                                 "CPUWeight", "t", cpu_weight);
}

static int append(sd_bus_message *call, const struct unit_plan *plan, const struct launch *launch)
{
    const char *program = launch->launcher->program;
    /* replace: the slice of its job may be about to go with the last process before */
    int r = sd_bus_message_append(call, "ss", plan->name, "replace");

    if (r >= 0)
        r = sd_bus_message_open_container(call, 'a', "(sv)");
    for (size_t i = 0; r >= 0 && i < plan->n_properties; i++)
        r = append_property(call, &plan->properties[i]);
    if (r >= 0)
        r = append_devices(call, plan);
    if (r >= 0)
        r = append_cpus(call, plan);
    if (r >= 0)
        r = sd_bus_message_append(call, "(sv)", "ExecStart", "a(sasb)", 1, program, 2, program,
                                  launch->path, 0);
    if (r >= 0)
        r = sd_bus_message_close_container(call);
    if (r >= 0)
        r = launch->with_slice
                ? append_slice(call, plan, unit_slices_made(launch->launcher->slices, plan->job_id))
                : sd_bus_message_append(call, "a(sa(sv))", 0);
    return r;
}

static int plan_of(const struct launch *launch, struct unit_plan *ret, struct edl_error *error)
{
    const struct unit_launcher *launcher = launch->launcher;
    _cleanup_close_ int fd = process_dir_open(launch->path, error);
    json_t *order = NULL;
    int r = fd < 0 ? fd : process_dir_read_order(fd, &order, error);

    if (r == 0) {
        const char *workspace = json_string_value(json_object_get(order, "workspace"));
        const char *output =
            json_string_value(json_object_get(json_object_get(order, "env"), "EDL_OUTPUT_DIR"));
        const char *paths[] = { launch->path,        launcher->program,
                                launcher->state_dir, output != NULL ? output : "",
                                workspace,           NULL };

        r = unit_plan(strrchr(launch->path, '/') + 1, order, paths, ret, error);
    }
    json_decref(order);
    return r;
}

/* ---- the connection ---- */

static void drop_bus(struct unit_launcher *launcher)
{
    struct launch *launch;

    DL_FOREACH(launcher->launches, launch)
    {
        launch->call = sd_bus_slot_unref(launch->call);
        free(launch->job);
        launch->job = NULL;
        launch->tries += launch->asked;
        launch->asked = false;
    }
    launcher->n_asked = 0;
    launcher->bus = sd_bus_flush_close_unref(launcher->bus);
}

static int on_disconnected(sd_bus_message *message, void *userdata, sd_bus_error *unused)
{
    struct unit_launcher *launcher = userdata;
    struct launch *launch, *next;

    (void)message;
    (void)unused;
    log_warning("the connection to systemd is lost; processes are not touched by that");
    drop_bus(launcher);
    DL_FOREACH_SAFE(launcher->launches, launch, next)
    {
        struct edl_error why = { 0 };

        (void)edl_error_set(&why, -EPIPE, "the connection to systemd was lost in all of %d tries",
                            TRIES);
        if (launch->tries >= TRIES)
            finish(launch, 0, -1, &why);
    }
    (void)sd_event_source_set_enabled(launcher->next, SD_EVENT_ONESHOT);
    return 0;
}

static int connect_bus(struct unit_launcher *launcher, struct edl_error *error)
{
    int r = sd_bus_open_system(&launcher->bus);

    if (r >= 0)
        r = sd_bus_attach_event(launcher->bus, launcher->event, SD_EVENT_PRIORITY_IMPORTANT);
    if (r >= 0)
        r = sd_bus_match_signal_async(launcher->bus, NULL, MANAGER, "JobRemoved", on_job_removed,
                                      NULL, launcher);
    if (r >= 0)
        r = sd_bus_match_signal(launcher->bus, NULL, "org.freedesktop.DBus.Local",
                                "/org/freedesktop/DBus/Local", "org.freedesktop.DBus.Local",
                                "Disconnected", on_disconnected, launcher);
    if (r >= 0)
        r = sd_bus_call_method_async(launcher->bus, NULL, MANAGER, "Subscribe", NULL, NULL, NULL);
    if (r < 0) {
        drop_bus(launcher);
        (void)edl_error_errno(error, r, "cannot reach systemd over the system bus");
        return edl_error_remedy(error, "is it there? systemctl status dbus; without it start"
                                       " edl-agent with --runtime direct");
    }
    return 0;
}

static bool is_slice_there(const char *slice)
{
    char path[CGROUP_PATH_SIZE];

    (void)snprintf(path, sizeof path, "/edl.slice/%s", slice);
    return cgroup_exists(path);
}

static int ask(struct launch *launch, struct edl_error *error)
{
    struct unit_launcher *launcher = launch->launcher;
    sd_bus_message *call = NULL;
    struct unit_plan *plan = &launch->plan;
    int r = plan_of(launch, plan, error);

    if (r == 0 && launcher->bus == NULL)
        r = connect_bus(launcher, error);
    if (r < 0)
        return r;
    if (launch->names > 0) /* edl-12.trainer.0.1.service -> edl-12.trainer.0.1-2.service */
        (void)snprintf(strrchr(plan->name, '.'), UNIT_SUFFIX_SIZE, "-%u.service",
                       launch->names + 1);
    (void)snprintf(launch->unit, sizeof launch->unit, "%s", plan->name);
    launch->with_slice = launch->with_slice && !is_slice_there(plan->slice);
    r = sd_bus_message_new_method_call(launcher->bus, &call, MANAGER, "StartTransientUnit");
    if (r >= 0)
        r = append(call, plan, launch);
    if (r >= 0)
        r = sd_bus_call_async(launcher->bus, &launch->call, call, on_answer, launch, 0);
    sd_bus_message_unref(call);
    return r < 0 ? edl_error_errno(error, r, "cannot ask systemd for %s", plan->name) : 0;
}

/* ---- one after the other ---- */

static int ask_first(struct launch *launch, struct edl_error *error)
{
    int r = ask(launch, error);

    if (r == 0) {
        launch->asked = true;
        launch->launcher->n_asked++;
    }
    return r;
}

static struct launch *first_waiting(const struct unit_launcher *launcher)
{
    struct launch *launch;

    DL_FOREACH(launcher->launches, launch)
    if (!launch->asked)
        return launch;
    return NULL;
}

static int on_next(sd_event_source *source, void *userdata)
{
    struct unit_launcher *launcher = userdata;
    struct launch *launch;

    (void)source;
    while (launcher->n_asked < ASKED_MAX && (launch = first_waiting(launcher)) != NULL) {
        struct edl_error why = { 0 };

        if (ask_first(launch, &why) < 0)
            finish(launch, 0, -1, &why);
    }
    return 0;
}

/* ---- what slices weigh ---- */

/* tell_weight - of one that is not there yet systemd would make something that stays */
static bool tell_weight(uint64_t job_id, uint64_t cpu_weight, void *userdata)
{
    struct unit_launcher *launcher = userdata;
    char slice[UNIT_NAME_SIZE];

    unit_plan_slice(job_id, slice);
    return is_slice_there(slice) &&
           sd_bus_call_method_async(launcher->bus, NULL, MANAGER, "SetUnitProperties", NULL, NULL,
                                    "sba(sv)", slice, 1, 1, "CPUWeight", "t", cpu_weight) >= 0;
}

static int on_weights(sd_event_source *source, void *userdata)
{
    struct unit_launcher *launcher = userdata;
    struct edl_error error = { 0 };

    (void)source;
    if (launcher->bus != NULL || connect_bus(launcher, &error) == 0)
        unit_slices_tell(launcher->slices, tell_weight, launcher);
    return 0;
}

static void unit_weigh(struct launcher *base, uint64_t job_id, uint64_t cpu_weight)
{
    struct unit_launcher *launcher = (struct unit_launcher *)base;

    if (unit_slices_weigh(launcher->slices, job_id, cpu_weight))
        tell_weights_soon(launcher);
}

/* ---- what the runtime calls ---- */

static int unit_start(struct launcher *base, const char *path, launched_fn launched, void *userdata,
                      struct launch **ret, struct edl_error *error)
{
    struct launch *launch = xcalloc(1, sizeof *launch);
    struct unit_launcher *launcher = (struct unit_launcher *)base;
    int r = 0;

    launch->launcher = launcher;
    launch->path = xstrdup(path);
    launch->launched = launched;
    launch->userdata = userdata;
    launch->with_slice = true;
    DL_APPEND(launcher->launches, launch);
    if (launcher->n_asked < ASKED_MAX)
        r = ask_first(launch, error);
    if (r < 0)
        launch_free(launch);
    else
        *ret = launch;
    return r;
}

static void unit_cancel(struct launch *launch)
{
    launch_free(launch);
}

static void unit_launcher_free(struct launcher *base)
{
    struct unit_launcher *launcher = (struct unit_launcher *)base;

    while (launcher->launches != NULL)
        launch_free(launcher->launches);
    drop_bus(launcher);
    sd_event_source_disable_unref(launcher->next);
    sd_event_source_disable_unref(launcher->weights);
    (void)unit_slices_free(launcher->slices);
    sd_event_unref(launcher->event);
    free(launcher->program);
    free(launcher->state_dir);
    free(launcher);
}

bool unit_launcher_possible(void)
{
    return sd_booted() > 0 && geteuid() == 0;
}

struct launcher *unit_launcher_new(sd_event *event, const char *program, const char *state_dir)
{
    static const struct launcher_ops ops = {
        .start = unit_start, .cancel = unit_cancel, .weigh = unit_weigh, .free = unit_launcher_free
    };
    struct unit_launcher *launcher = xcalloc(1, sizeof *launcher);

    launcher->base.ops = &ops;
    launcher->event = sd_event_ref(event);
    launcher->program = xstrdup(program);
    launcher->state_dir = xstrdup(state_dir);
    if (sd_event_add_defer(event, &launcher->next, on_next, launcher) >= 0)
        (void)sd_event_source_set_enabled(launcher->next, SD_EVENT_OFF);
    if (sd_event_add_defer(event, &launcher->weights, on_weights, launcher) >= 0)
        (void)sd_event_source_set_enabled(launcher->weights, SD_EVENT_OFF);
    launcher->slices = unit_slices_new();
    return &launcher->base;
}
