/* SPDX-License-Identifier: Apache-2.0 */
/* job_document_roles.c - the roles of a job document: upstream's trainer and pserver objects, and
 * `roles`
 *
 * Upstream counts CPU and memory from requests and GPUs from limits; replicas of pserver are its
 * min-instance whatever max-instance says. Both are kept. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "shared/document_reader.h"
#include "shared/error.h"
#include "shared/job_draft.h"
#include "shared/macro.h"
#include "shared/printable.h"
#include "shared/workspace_id.h"

#define GPUS_REMEDY "a process runs on one node, which has at most 64 GPUs: ask for more processes"
#define PASSES_MAX 1000000
#define ARGUMENTS_MAX 1024
#define ARGUMENT_BYTES_MAX 65536 /* the kernel refuses more than 128 KiB in one argument */
#define CPU_DEFAULT_MILLICORES 1000
#define AT(field) offsetof(struct role_draft, field)

#define GPU_KEY(name, field)                                                                       \
    {                                                                                              \
        .key = (name), .kind = DOCUMENT_COUNT, .offset = AT(field), .max = ROLE_GPUS_MAX,          \
        .remedy = GPUS_REMEDY                                                                      \
    }
#define GPU_KEYS(field)                                                                            \
    GPU_KEY("alpha.kubernetes.io/nvidia-gpu", field), GPU_KEY("nvidia.com/gpu", field),            \
        GPU_KEY("gpu", field)

static const struct document_rule request_rules[] = {
    CPU_RULE("cpu", cpu),
    MEMORY_RULE("memory", memory),
    GPU_KEYS(gpus_requested),
};

static const struct document_rule limit_rules[] = {
    CPU_RULE("cpu", cpu_limit),
    MEMORY_RULE("memory", memory_limit),
    GPU_KEYS(gpus),
};

static const struct document_rule resource_rules[] = {
    { .key = "requests",
      .kind = DOCUMENT_NESTED,
      .nested = request_rules,
      .n_nested = ELEMENTS(request_rules) },
    { .key = "limits",
      .kind = DOCUMENT_NESTED,
      .nested = limit_rules,
      .n_nested = ELEMENTS(limit_rules) },
};

#define COMMAND_KEYS                                                                               \
    { .key = "entrypoint",                                                                         \
      .kind = DOCUMENT_TEXT,                                                                       \
      .offset = AT(entrypoint),                                                                    \
      .max = ARGUMENT_BYTES_MAX },                                                                 \
        { .key = "command", .kind = DOCUMENT_ARRAY, .offset = AT(command) },                       \
        { .key = "workspace", .kind = DOCUMENT_TEXT, .offset = AT(workspace) },                    \
        { .key = "nodes", .kind = DOCUMENT_ARRAY, .offset = AT(nodes) },                           \
        { .key = "spread", .kind = DOCUMENT_BOOLEAN, .offset = AT(spread) },                       \
        { .key = "stdin", .kind = DOCUMENT_BOOLEAN, .offset = AT(takes_input) },                   \
        { .key = "node-selector", .kind = DOCUMENT_OBJECT, .offset = AT(selector) },               \
    {                                                                                              \
        .key = "nodeSelector", .kind = DOCUMENT_OBJECT, .offset = AT(selector_kubernetes)          \
    }

static const struct role_keys upstream_keys = { "entrypoint", "min-instance", "max-instance" };
static const struct role_keys listed_keys = { "entrypoint", "min", "max" };

static const struct document_rule upstream_rules[] = {
    COMMAND_KEYS,
    { .key = "min-instance",
      .kind = DOCUMENT_INTEGER,
      .offset = AT(min),
      .min = 1,
      .max = ROLE_INSTANCES_MAX },
    { .key = "max-instance",
      .kind = DOCUMENT_INTEGER,
      .offset = AT(max),
      .min = 1,
      .max = ROLE_INSTANCES_MAX },
    { .key = "resources",
      .kind = DOCUMENT_NESTED,
      .nested = resource_rules,
      .n_nested = ELEMENTS(resource_rules) },
    { .key = "passes",
      .kind = DOCUMENT_INTEGER,
      .offset = AT(passes),
      .min = 1,
      .max = PASSES_MAX },
    { .key = "ports", .kind = DOCUMENT_INTEGER, .offset = AT(ports), .max = ROLE_PORTS_MAX },
    { .key = "etcd-endpoint", .kind = DOCUMENT_IGNORED },
    { .key = "replicaSpec", .kind = DOCUMENT_IGNORED },
    { .kind = DOCUMENT_MORE, .more = &container_keys },
};

static const struct document_rule listed_rules[] = {
    { .key = "role", .kind = DOCUMENT_TEXT, .offset = AT(name) },
    COMMAND_KEYS,
    { .key = "min",
      .kind = DOCUMENT_INTEGER,
      .offset = AT(min),
      .min = 1,
      .max = ROLE_INSTANCES_MAX },
    { .key = "max",
      .kind = DOCUMENT_INTEGER,
      .offset = AT(max),
      .min = 1,
      .max = ROLE_INSTANCES_MAX },
    CPU_RULE("cpu", cpu),
    MEMORY_RULE("memory", memory),
    GPU_KEY("gpus", gpus),
    { .key = "ports", .kind = DOCUMENT_INTEGER, .offset = AT(ports), .max = ROLE_PORTS_MAX },
};

struct role_draft *role_draft_add(struct document_reader *reader, struct job_draft *job,
                                  const char *name, const struct role_keys *keys)
{
    struct role_draft *role = &job->roles[job->n_roles];

    if (job->n_roles == JOB_ROLES_MAX) {
        (void)document_refuse(reader, "a job has at most %d roles", JOB_ROLES_MAX);
        return NULL;
    }
    *role = (struct role_draft){
        .name = name,
        .keys = keys,
        .min = -1,
        .max = -1,
        .gpus = -1,
        .gpus_requested = -1,
        .ports = -1,
        .passes = -1,
        .spread = -1,
        .takes_input = -1,
        .cpu = DRAFT_ABSENT,
        .cpu_limit = DRAFT_ABSENT,
        .memory = DRAFT_ABSENT,
        .memory_limit = DRAFT_ABSENT,
    };
    (void)snprintf(role->pointer, sizeof role->pointer, "%.*s", (int)sizeof role->pointer - 1,
                   reader->pointer);
    job->n_roles++;
    return role;
}

static int is_role_name(const char *name)
{
    size_t length = strlen(name);

    return length >= 1 && length <= ROLE_NAME_MAX && name[0] >= 'a' && name[0] <= 'z' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == length;
}

static int check_name(struct document_reader *reader, const struct job_draft *job)
{
    const struct role_draft *role = &job->roles[job->n_roles - 1];

    if (role->name == NULL)
        return document_refuse(reader, "the role's name is missing (key \"role\")");
    if (!is_role_name(role->name)) {
        (void)document_refuse(reader, "\"%.40s\" cannot name a role", role->name);
        (void)edl_error_remedy(reader->error,
                               "use a lower-case letter, then up to %d letters, digits and '-'",
                               ROLE_NAME_MAX - 1);
        return EDL_EBADSPEC;
    }
    for (const struct role_draft *r = job->roles; r < role; r++)
        if (streq(r->name, role->name))
            return document_refuse(reader, "role %s is given twice, also as %s", role->name,
                                   r->pointer);
    return 0;
}

int role_draft_read(struct document_reader *reader, const char *key, const json_t *value,
                    void *target)
{
    struct job_draft *job = target;
    struct role_draft *role = role_draft_add(reader, job, key, &upstream_keys);
    int r;

    if (role == NULL)
        return EDL_EBADSPEC;
    r = check_name(reader, job);
    if (r < 0)
        return r;
    return document_read(reader, value, upstream_rules, ELEMENTS(upstream_rules), role);
}

int role_draft_read_list(struct document_reader *reader, const char *key, const json_t *value,
                         void *target)
{
    struct job_draft *job = target;

    (void)key;
    if (!json_is_array(value))
        return document_expected(reader, "an array", value);
    for (size_t i = 0; i < json_array_size(value); i++) {
        size_t length = document_enter_index(reader, i);
        struct role_draft *role = role_draft_add(reader, job, NULL, &listed_keys);
        int r;

        if (role == NULL)
            return EDL_EBADSPEC;
        r = document_read(reader, json_array_get(value, i), listed_rules, ELEMENTS(listed_rules),
                          role);
        if (r < 0)
            return r;
        r = check_name(reader, job);
        if (r < 0)
            return r;
        document_leave(reader, length);
    }
    return 0;
}

int role_draft_refuse(struct document_reader *reader, const struct role_draft *draft,
                      const char *key, const char *text)
{
    char pointer[160];

    (void)snprintf(pointer, sizeof pointer, "%s/%s", draft->pointer, key);
    return edl_error_at(reader->error, EDL_EBADSPEC, pointer, "%s", text);
}

static int finish_command(struct document_reader *reader, const struct role_draft *draft,
                          struct role_spec *role)
{
    size_t n = json_array_size(draft->command), length;

    if (n == 0 || n > ARGUMENTS_MAX)
        return role_draft_refuse(reader, draft, "command", "1 to 1024 arguments are expected");
    role->argv = xcalloc(n + 1, sizeof *role->argv);
    (void)snprintf(reader->pointer, sizeof reader->pointer, "%s/command", draft->pointer);
    for (size_t i = 0; i < n; i++) {
        const char *text = NULL;
        int r;

        length = document_enter_index(reader, i);
        r = document_text(reader, json_array_get(draft->command, i), ARGUMENT_BYTES_MAX, &text);
        if (r < 0)
            return r;
        if (i == 0 && *text == '\0')
            return document_refuse(reader, "the program's name is empty");
        role->argv[i] = xstrdup(text);
        document_leave(reader, length);
    }
    return 0;
}

static int finish_argv(struct document_reader *reader, const struct role_draft *draft,
                       struct role_spec *role)
{
    bool entrypoint = draft->entrypoint != NULL && *draft->entrypoint != '\0';

    if (entrypoint && draft->command != NULL)
        return role_draft_refuse(reader, draft, "command", "entrypoint and command are both given");
    if (draft->command != NULL)
        return finish_command(reader, draft, role);
    if (!entrypoint && !streq(draft->name, "pserver")) {
        (void)role_draft_refuse(reader, draft, draft->keys->entrypoint,
                                "the command to run is missing");
        (void)edl_error_remedy(reader->error, "add %s: \"COMMAND\"%s%s", draft->keys->entrypoint,
                               draft->pointer[0] != '\0' ? " to " : "", draft->pointer);
        return EDL_EBADSPEC;
    }
    role->argv = xcalloc(4, sizeof *role->argv);
    if (!entrypoint) {
        role->argv[0] = xstrdup("edl-pserver");
        return 0;
    }
    role->argv[0] = xstrdup("/bin/sh");
    role->argv[1] = xstrdup("-c");
    role->argv[2] = xstrdup(draft->entrypoint);
    return 0;
}

/* As many as have a node each, where nodes are named: an elastic role may begin with fewer. Of
 * parameter servers there is one number then. */
static void set_bounds(const struct role_draft *draft, struct role_spec *role)
{
    uint32_t n = role->n_nodes;
    uint32_t min = n == 0 ? 1 : draft->max > 0 ? MIN_OF(n, (uint32_t)draft->max) : n;

    role->min = draft->min > 0 ? (uint32_t)draft->min : min;
    role->max = n > role->min && !streq(draft->name, "pserver") ? n : role->min;
    if (draft->max > 0)
        role->max = (uint32_t)draft->max;
}

static int check_mpi(struct document_reader *reader, const struct role_draft *draft,
                     const struct role_spec *role)
{
    const char *max_key = draft->keys->max;

    if (reader->stored || role->max == role->min) /* a version before took it */
        return 0;
    (void)role_draft_refuse(reader, draft, max_key,
                            "mode mpi cannot lose or gain processes: MPI ends all of a program "
                            "when one is lost");
    (void)edl_error_remedy(reader->error, "set %s to %" PRIu32 " as well, or leave it out", max_key,
                           role->min);
    return EDL_EBADSPEC;
}

static int finish_instances(struct document_reader *reader, const struct role_draft *draft,
                            const struct job_spec *spec, struct role_spec *role)
{
    bool fault_tolerant = spec->fault_tolerant;
    const char *min_key = draft->keys->min;
    const char *max_key = draft->keys->max;

    set_bounds(draft, role);
    if (streq(draft->name, "pserver") && role->max != role->min &&
        (!fault_tolerant || role->max < role->min)) {
        role->max = role->min;
        (void)snprintf(reader->pointer, sizeof reader->pointer, "%s", draft->pointer);
        document_ignore(reader, max_key);
    }
    if (role->max < role->min) {
        char text[120];

        (void)snprintf(text, sizeof text, "%s.%s is %" PRIu32 " but %s is %" PRIu32, draft->name,
                       min_key, role->min, max_key, role->max);
        (void)role_draft_refuse(reader, draft, max_key, text);
        (void)edl_error_remedy(reader->error, "make %s at least %" PRIu32, max_key, role->min);
        return EDL_EBADSPEC;
    }
    if (spec->mode == JOB_MODE_MPI && check_mpi(reader, draft, role) < 0)
        return EDL_EBADSPEC;
    if (role->max > role->min && !fault_tolerant) {
        (void)
            role_draft_refuse(reader, draft, max_key,
                              "max-instances should equal to min-instances when fault_tolerant is "
                              "disabled");
        (void)edl_error_remedy(reader->error,
                               "set fault_tolerant: true to let %s change size, or %s to %" PRIu32,
                               draft->name, max_key, role->min);
        return EDL_EBADSPEC;
    }
    return 0;
}

/* finish_amount - request, else limit, else the default; a limit of its own is reported as ignored
 */
static int finish_amount(struct document_reader *reader, const struct role_draft *draft,
                         const char *name, const uint64_t request_limit_default[3], uint64_t *ret)
{
    uint64_t request = request_limit_default[0], limit = request_limit_default[1];
    char key[48];

    (void)snprintf(key, sizeof key, "resources/limits/%s", name);
    if (request != DRAFT_ABSENT && limit != DRAFT_ABSENT && limit < request)
        return role_draft_refuse(reader, draft, key, "the limit is smaller than the request");
    *ret = request != DRAFT_ABSENT ? request : limit;
    if (*ret == DRAFT_ABSENT)
        *ret = request_limit_default[2];
    if (limit != DRAFT_ABSENT && limit != *ret) {
        (void)snprintf(reader->pointer, sizeof reader->pointer, "%s/resources/limits",
                       draft->pointer);
        document_ignore(reader, name);
    }
    return 0;
}

/* finish_label - at the pointer of its value. Numbers and booleans are not taken: YAML reads 007
 * and 7, or True and true, as the same, and a node's label is text. */
static int finish_label(struct document_reader *reader, const char *name, const json_t *value,
                        struct role_spec *role)
{
    struct edl_error why = { 0 };
    const char *text = NULL;
    int r = document_text(reader, value, LABEL_VALUE_MAX, &text);

    if (r < 0) {
        if (json_is_number(value) || json_is_boolean(value))
            (void)edl_error_remedy(reader->error, "put the value in quotes");
        return r;
    }
    r = role_select(role, name, text, &why);
    if (r == 0)
        return 0;
    (void)document_refuse(reader, "%s", why.text);
    (void)edl_error_remedy(reader->error, r == -E2BIG
                                              ? "ask for fewer labels"
                                              : "edl nodes lists the labels that nodes carry");
    return EDL_EBADSPEC;
}

/* finish_selector - labels that its nodes must carry */
static int finish_selector(struct document_reader *reader, const struct role_draft *draft,
                           struct role_spec *role)
{
    bool kubernetes = draft->selector_kubernetes != NULL;
    const json_t *selector = kubernetes ? draft->selector_kubernetes : draft->selector;
    const char *name;
    json_t *value;

    if (kubernetes && draft->selector != NULL) {
        (void)role_draft_refuse(reader, draft, "nodeSelector",
                                "node-selector and nodeSelector are both given");
        return edl_error_remedy(reader->error, "keep one of them");
    }
    (void)snprintf(reader->pointer, sizeof reader->pointer, "%s", draft->pointer);
    (void)document_enter(reader, kubernetes ? "nodeSelector" : "node-selector");
    /* why: iterating wants one that is not const; nothing writes to it */
    json_object_foreach((json_t *)(uintptr_t)selector, name, value)
    {
        size_t length = document_enter(reader, name);
        int r = finish_label(reader, name, value, role);

        if (r < 0)
            return r;
        document_leave(reader, length);
    }
    return 0;
}

/* refuse_relative - no shell stands between a document and the nodes, and none has the folder where
 * it was written */
static int refuse_relative(struct document_reader *reader, const struct role_draft *draft)
{
    char text[160];

    (void)snprintf(text, sizeof text, "\"%.*s\" is not an absolute path",
                   printable_prefix(draft->workspace, 100), draft->workspace);
    (void)role_draft_refuse(reader, draft, "workspace", text);
    if (streq(draft->workspace, "private"))
        return edl_error_remedy(reader->error, "leave workspace out, or empty: then each process "
                                               "gets a folder of its own");
    return edl_error_remedy(reader->error,
                            "write the whole path, from / on (~ and $HOME are not replaced); or "
                            "send the folder along: edl submit --upload FOLDER");
}

/* finish_workspace - a folder is looked for where the process runs; a name has to be one */
static int finish_workspace(struct document_reader *reader, const struct role_draft *draft,
                            struct role_spec *role)
{
    role->workspace = xstrdup(draft->workspace != NULL ? draft->workspace : "");
    if (!workspace_is_kept(role->workspace))
        return role->workspace[0] == '\0' || role->workspace[0] == '/' || reader->stored
                   ? 0
                   : refuse_relative(reader, draft);
    if (workspace_hash(role->workspace) != NULL)
        return 0;
    (void)role_draft_refuse(reader, draft, "workspace", "this is not the name of an archive");
    return edl_error_remedy(reader->error, "sha256: and the 64 digits, 0-9 and a-f, that"
                                           " edl submit --upload or PUT /workspaces told");
}

/* An instance of mode mpi is told what to start at its port. */
static int finish_ports(struct document_reader *reader, const struct role_draft *draft,
                        const struct job_spec *spec, struct role_spec *role)
{
    role->n_ports = spec->mode != JOB_MODE_PSERVER || streq(role->name, "pserver") ? 1 : 0;
    if (draft->ports >= 0)
        role->n_ports = (uint32_t)draft->ports;
    if (spec->mode != JOB_MODE_MPI || role->n_ports > 0 || reader->stored)
        return 0;
    (void)role_draft_refuse(reader, draft, "ports", "mode mpi needs a port for each process");
    (void)edl_error_remedy(reader->error, "leave ports out, or ask for 1");
    return EDL_EBADSPEC;
}

int role_draft_finish(struct document_reader *reader, const struct role_draft *draft,
                      const struct job_spec *spec, struct role_spec *role)
{
    int64_t gpus = draft->gpus >= 0 ? draft->gpus : draft->gpus_requested;
    int r;

    (void)snprintf(role->name, sizeof role->name, "%s", draft->name);
    r = finish_workspace(reader, draft, role);
    if (r == 0)
        r = finish_argv(reader, draft, role);
    if (r < 0)
        return r;
    r = role_draft_finish_nodes(reader, draft, role);
    if (r < 0)
        return r;
    r = finish_instances(reader, draft, spec, role);
    if (r < 0)
        return r;
    r = role_draft_check_nodes(reader, draft, role);
    if (r < 0)
        return r;
    r = finish_amount(reader, draft, "cpu",
                      (uint64_t[]){ draft->cpu, draft->cpu_limit, CPU_DEFAULT_MILLICORES },
                      &role->cpu_millicores);
    if (r < 0)
        return r;
    role->spread = draft->spread > 0;
    role->spread_unsaid = draft->spread < 0;
    role->takes_input = draft->takes_input > 0;
    role->cpu_unsaid = draft->cpu == DRAFT_ABSENT && draft->cpu_limit == DRAFT_ABSENT;
    r = finish_amount(reader, draft, "memory",
                      (uint64_t[]){ draft->memory, draft->memory_limit, 0 }, &role->memory_bytes);
    if (r < 0)
        return r;
    r = finish_selector(reader, draft, role);
    if (r < 0)
        return r;
    role->gpus = gpus > 0 ? (uint32_t)gpus : 0;
    return finish_ports(reader, draft, spec, role);
}
