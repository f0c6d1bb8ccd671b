/* SPDX-License-Identifier: Apache-2.0 */
/* job_spec.c - a job as the scheduler understands it: names and life time */
#include "shared/job_spec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "shared/job_notify.h"
#include "shared/macro.h"

static const char *const mode_names[] = {
    [JOB_MODE_PSERVER] = "pserver",
    [JOB_MODE_COLLECTIVE] = "collective",
    [JOB_MODE_MPI] = "mpi",
    [JOB_MODE_SERVICE] = "service",
};

static void free_argv(char **argv)
{
    for (char **arg = argv; arg != NULL && *arg != NULL; arg++)
        free(*arg);
    free(argv);
}

struct job_spec *job_spec_new(size_t roles_max)
{
    struct job_spec *spec = xcalloc(1, sizeof *spec);

    spec->roles = xcalloc(roles_max, sizeof *spec->roles);
    return spec;
}

struct job_spec *job_spec_free(struct job_spec *spec)
{
    if (spec == NULL)
        return NULL;
    for (size_t i = 0; i < spec->n_roles; i++) {
        free_argv(spec->roles[i].argv);
        free(spec->roles[i].workspace);
        free(spec->roles[i].selector);
        free_argv(spec->roles[i].nodes);
    }
    for (size_t i = 0; i < spec->n_env; i++) {
        free(spec->env[i].name);
        free(spec->env[i].value);
    }
    free(spec->roles);
    free(spec->env);
    free_argv(spec->after);
    free(spec->dataset);
    (void)job_notify_free(spec->notify);
    free(spec->array.name);
    free(spec->teacher);
    free(spec->checkpoint_path);
    free(spec->workspace_folder);
    free(spec);
    return NULL;
}

const char *job_spec_array(const struct job_spec *spec)
{
    return spec->array.name != NULL ? spec->array.name : "";
}

const struct labels *role_selector(const struct role_spec *role)
{
    static const struct labels none = { .n = 0 };

    return role->selector != NULL ? role->selector : &none;
}

const char *role_node(const struct role_spec *role, uint32_t index)
{
    return index < role->n_nodes ? role->nodes[index] : NULL;
}

void role_forget_nodes(struct role_spec *role)
{
    free_argv(role->nodes);
    role->nodes = NULL;
    role->n_nodes = 0;
}

int role_select(struct role_spec *role, const char *name, const char *value,
                struct edl_error *error)
{
    if (role->selector == NULL)
        role->selector = xcalloc(1, sizeof *role->selector);
    return labels_set(role->selector, name, value, error);
}

static char **copy_argv(char *const *argv)
{
    size_t n = 0;
    char **copy;

    if (argv == NULL)
        return NULL;
    while (argv[n] != NULL)
        n++;
    copy = xcalloc(n + 1, sizeof *copy);
    for (size_t i = 0; i < n; i++)
        copy[i] = xstrdup(argv[i]);
    return copy;
}

struct job_spec *job_spec_copy(const struct job_spec *spec)
{
    struct job_spec *copy = xcalloc(1, sizeof *copy);

    *copy = *spec;
    copy->roles = xcalloc(spec->n_roles, sizeof *copy->roles);
    copy->dataset = spec->dataset != NULL ? xstrdup(spec->dataset) : NULL;
    copy->after = copy_argv(spec->after);
    copy->notify = job_notify_copy(spec->notify);
    copy->teacher = spec->teacher != NULL ? xstrdup(spec->teacher) : NULL;
    copy->checkpoint_path = spec->checkpoint_path != NULL ? xstrdup(spec->checkpoint_path) : NULL;
    copy->workspace_folder =
        spec->workspace_folder != NULL ? xstrdup(spec->workspace_folder) : NULL;
    copy->array.name = spec->array.name != NULL ? xstrdup(spec->array.name) : NULL;
    copy->env = spec->n_env > 0 ? xcalloc(spec->n_env, sizeof *copy->env) : NULL;
    for (size_t i = 0; i < spec->n_env; i++)
        copy->env[i] = (struct env_pair){ .name = xstrdup(spec->env[i].name),
                                          .value = xstrdup(spec->env[i].value) };
    for (size_t i = 0; i < spec->n_roles; i++) {
        const struct role_spec *role = &spec->roles[i];

        copy->roles[i] = *role;
        copy->roles[i].argv = copy_argv(role->argv);
        copy->roles[i].nodes = copy_argv(role->nodes);
        if (role->selector != NULL) {
            copy->roles[i].selector = xcalloc(1, sizeof *role->selector);
            *copy->roles[i].selector = *role->selector;
        }
        copy->roles[i].workspace = role->workspace != NULL ? xstrdup(role->workspace) : NULL;
    }
    return copy;
}

struct job_spec *job_spec_array_element(const struct job_spec *spec, uint32_t place)
{
    struct job_spec *element = job_spec_copy(spec);

    element->array.name = xstrdup(spec->name);
    element->array.first = spec->array.first + place;
    /* the document has left room for the index */
    (void)snprintf(element->name, sizeof element->name, "%.*s-%" PRIu32, JOB_NAME_MAX - 11,
                   spec->name, element->array.first);
    return element;
}

/* NULL is the same as "" */
static bool text_equal(const char *a, const char *b)
{
    return streq(a != NULL ? a : "", b != NULL ? b : "");
}

static bool argv_equal(char *const *a, char *const *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    while (*a != NULL && *b != NULL && streq(*a, *b)) {
        a++;
        b++;
    }
    return *a == NULL && *b == NULL;
}

static bool roles_equal(const struct role_spec *a, const struct role_spec *b)
{
    return streq(a->name, b->name) && argv_equal(a->argv, b->argv) &&
           text_equal(a->workspace, b->workspace) && a->min == b->min && a->max == b->max &&
           a->cpu_millicores == b->cpu_millicores && a->memory_bytes == b->memory_bytes &&
           a->gpus == b->gpus && a->n_ports == b->n_ports && a->spread == b->spread &&
           a->takes_input == b->takes_input && labels_equal(role_selector(a), role_selector(b)) &&
           argv_equal(a->nodes, b->nodes);
}

bool job_spec_equal(const struct job_spec *a, const struct job_spec *b)
{
    if (!streq(a->name, b->name) || !streq(a->user, b->user) || a->mode != b->mode ||
        a->priority != b->priority || a->fault_tolerant != b->fault_tolerant ||
        a->keep_remains != b->keep_remains || a->keep_cut_off != b->keep_cut_off ||
        a->parking != b->parking || a->passes != b->passes || a->port != b->port ||
        a->ports_num != b->ports_num || a->ports_num_for_sparse != b->ports_num_for_sparse ||
        job_spec_umask(a) != job_spec_umask(b) || a->grace_us != b->grace_us ||
        a->restart_max != b->restart_max || a->tries_at_once != b->tries_at_once ||
        a->restart_backoff_us != b->restart_backoff_us || a->deadline_us != b->deadline_us ||
        a->deadline_wall_us != b->deadline_wall_us || a->expected_us != b->expected_us ||
        a->time_limit_us != b->time_limit_us || !text_equal(a->array.name, b->array.name) ||
        a->array.first != b->array.first || a->array.n != b->array.n ||
        a->array.most != b->array.most || !job_notify_equal(a->notify, b->notify) ||
        !argv_equal(a->after, b->after) || !text_equal(a->teacher, b->teacher) ||
        !text_equal(a->checkpoint_path, b->checkpoint_path) ||
        !text_equal(a->workspace_folder, b->workspace_folder) ||
        a->checkpoint_period_us != b->checkpoint_period_us || !text_equal(a->dataset, b->dataset) ||
        a->shuffled != b->shuffled || a->shuffle_seed != b->shuffle_seed ||
        a->task_records != b->task_records || a->task_tries != b->task_tries ||
        a->n_env != b->n_env || a->n_roles != b->n_roles)
        return false;
    for (size_t i = 0; i < a->n_env; i++)
        if (!streq(a->env[i].name, b->env[i].name) || !streq(a->env[i].value, b->env[i].value))
            return false;
    for (size_t i = 0; i < a->n_roles; i++)
        if (!roles_equal(&a->roles[i], &b->roles[i]))
            return false;
    return true;
}

int job_spec_role(const struct job_spec *spec, const char *name)
{
    for (size_t i = 0; i < spec->n_roles; i++)
        if (streq(spec->roles[i].name, name))
            return (int)i;
    return -ENOENT;
}

uint32_t job_spec_umask(const struct job_spec *spec)
{
    return spec->has_umask ? spec->umask : JOB_UMASK;
}

static const char *const parking_names[] = {
    [JOB_PARKING_UNSAID] = "", [JOB_PARKING_ALLOWED] = "allowed", [JOB_PARKING_NEVER] = "never"
};

const char *job_parking_to_string(enum job_parking parking)
{
    return parking_names[parking];
}

int job_parking_from_string(const char *text)
{
    for (int i = JOB_PARKING_ALLOWED; i <= JOB_PARKING_NEVER; i++)
        if (streq(parking_names[i], text))
            return i;
    return -EINVAL;
}

const char *job_mode_to_string(enum job_mode mode)
{
    return mode_names[mode];
}

int job_mode_from_string(const char *text)
{
    for (size_t i = 0; i < ELEMENTS(mode_names); i++)
        if (streq(mode_names[i], text))
            return (int)i;
    return -EINVAL;
}
