/* SPDX-License-Identifier: Apache-2.0 */
/* job_document.c - TrainingJob documents (JSON or YAML) to job_spec
 *
 * Two steps: the tables below read the document into a job_draft that only borrows. Then finish_job
 * applies the defaults and the rules that concern more than one key. Three shapes share the tables:
 * upstream's {apiVersion, kind, metadata, spec}, and the flat one, where `name` and the spec's keys
 * stand at the top. The flat one of older submissions is in job_document_submit.c. */
#include "shared/job_document.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "shared/document_reader.h"
#include "shared/error.h"
#include "shared/job_draft.h"
#include "shared/macro.h"
#include "shared/parse.h"
#include "shared/rfc3339.h"

#define API_VERSION "paddlepaddle.org/v1"
#define KIND "TrainingJob"
#define KIND_OPERATOR                                                                              \
    "PaddleJob" /* what the operator of before calls documents of the same shape */
#define ENV_MAX 512
#define ENV_VALUE_BYTES_MAX 65536 /* the kernel refuses more than 128 KiB in one string */
#define CHECKPOINT_PERIOD_MAX_US ((int64_t)(24 * 3600 * USEC_PER_SEC))
#define GRACE_MAX_US ((int64_t)(24 * 3600 * USEC_PER_SEC))
#define BACKOFF_MAX_US ((int64_t)(3600 * USEC_PER_SEC))
#define DEADLINE_MAX_US ((int64_t)JOB_TIME_LIMIT_MAX_US)
#define RESTARTS_FAULT_TOLERANT 10
#define TRIES_AT_ONCE 3
#define AT(field) offsetof(struct job_draft, field)

static int read_array(struct document_reader *reader, const char *key, const json_t *value,
                      void *target);
static int read_dataset(struct document_reader *reader, const char *key, const json_t *value,
                        void *target);
static int read_deadline(struct document_reader *reader, const char *key, const json_t *value,
                         void *target);
static int read_master(struct document_reader *reader, const char *key, const json_t *value,
                       void *target);

static const struct document_rule deadline_rule = { .key = "deadline",
                                                    .kind = DOCUMENT_TIME,
                                                    .offset = AT(deadline),
                                                    .min = 1,
                                                    .max = DEADLINE_MAX_US };

static const struct document_rule files_rule = { .key = "files",
                                                 .kind = DOCUMENT_TEXT,
                                                 .offset = AT(dataset) };

static const struct document_rule dataset_rules[] = {
    { .key = "files", .kind = DOCUMENT_TEXT, .offset = AT(dataset) },
    { .key = "shuffle", .kind = DOCUMENT_INTEGER, .offset = AT(shuffle), .max = INT64_MAX },
    { .key = "task_records",
      .kind = DOCUMENT_INTEGER,
      .offset = AT(task_records),
      .min = 1,
      .max = TASK_RECORDS_MAX },
    { .key = "tries",
      .kind = DOCUMENT_INTEGER,
      .offset = AT(task_tries),
      .min = 1,
      .max = TASK_TRIES_MAX },
};

static const struct document_rule metadata_rules[] = {
    { .key = "name", .kind = DOCUMENT_TEXT, .offset = AT(name) },
    { .key = "namespace", .kind = DOCUMENT_IGNORED },
    { .key = "labels", .kind = DOCUMENT_IGNORED },
    { .key = "annotations", .kind = DOCUMENT_IGNORED },
    { .key = "creationTimestamp", .kind = DOCUMENT_IGNORED }, /* these as kubectl writes them */
    { .key = "generation", .kind = DOCUMENT_IGNORED },
    { .key = "resourceVersion", .kind = DOCUMENT_IGNORED },
    { .key = "selfLink", .kind = DOCUMENT_IGNORED },
    { .key = "uid", .kind = DOCUMENT_IGNORED },
};

/* as a job of an array is written: which one it is, and of how many */
static const struct document_rule array_rules[] = {
    { .key = "name", .kind = DOCUMENT_TEXT, .offset = AT(array_name), .max = JOB_NAME_MAX },
    { .key = "index",
      .kind = DOCUMENT_INTEGER,
      .offset = AT(array_index),
      .max = JOB_ARRAY_INDEX_MAX },
    { .key = "jobs",
      .kind = DOCUMENT_INTEGER,
      .offset = AT(array_jobs),
      .min = 1,
      .max = JOB_ARRAY_MAX },
    { .key = "most",
      .kind = DOCUMENT_INTEGER,
      .offset = AT(array_most),
      .min = 1,
      .max = JOB_ARRAY_MAX },
};

static const struct document_rule restart_rules[] = {
    { .key = "max", .kind = DOCUMENT_INTEGER, .offset = AT(restart_max), .max = 1000000 },
    { .key = "tries_at_once",
      .kind = DOCUMENT_INTEGER,
      .offset = AT(tries_at_once),
      .max = 1000000 },
    { .key = "backoff",
      .kind = DOCUMENT_TIME,
      .offset = AT(restart_backoff),
      .max = BACKOFF_MAX_US },
};

static const struct document_rule container_rules[] = {
    { .key = "image", .kind = DOCUMENT_IGNORED },
    { .key = "imagePullPolicy", .kind = DOCUMENT_IGNORED },
    { .key = "imagePullSecrets", .kind = DOCUMENT_IGNORED },
    { .key = "volumes", .kind = DOCUMENT_IGNORED },
    { .key = "VolumeMounts", .kind = DOCUMENT_IGNORED }, /* upstream's key really is this one */
    { .key = "volumeMounts", .kind = DOCUMENT_IGNORED },
    { .key = "nfsmount", .kind = DOCUMENT_IGNORED },
    { .key = "nfs", .kind = DOCUMENT_IGNORED },
    { .key = "hostNetwork", .kind = DOCUMENT_IGNORED },
    { .key = "HostNetwork", .kind = DOCUMENT_IGNORED }, /* its tag is misspelt upstream */
    { .key = "host_network", .kind = DOCUMENT_IGNORED },
    { .key = "tolerations", .kind = DOCUMENT_IGNORED },
    { .key = "affinity", .kind = DOCUMENT_IGNORED },
    { .key = "restartPolicy", .kind = DOCUMENT_IGNORED },
    { .key = "securityContext", .kind = DOCUMENT_IGNORED },
    { .key = "serviceAccountName", .kind = DOCUMENT_IGNORED },
    { .key = "serviceAccount", .kind = DOCUMENT_IGNORED },
    { .key = "secrets", .kind = DOCUMENT_IGNORED },
    { .key = "mountPath", .kind = DOCUMENT_IGNORED },
};

const struct document_table container_keys = { container_rules, ELEMENTS(container_rules) };

static const struct document_rule checkpoint_rules[] = {
    { .key = "path", .kind = DOCUMENT_TEXT, .offset = AT(checkpoint_path) },
    { .key = "period",
      .kind = DOCUMENT_TIME,
      .offset = AT(checkpoint_period),
      .max = CHECKPOINT_PERIOD_MAX_US },
};

static const struct document_rule common_rules[] = {
    { .key = "fault_tolerant", .kind = DOCUMENT_BOOLEAN, .offset = AT(fault_tolerant) },
    { .key = "autoclean", .kind = DOCUMENT_BOOLEAN, .offset = AT(autoclean) },
    { .key = "passes",
      .kind = DOCUMENT_INTEGER,
      .offset = AT(passes),
      .min = 1,
      .max = JOB_PASSES_MAX },
    { .key = "port", .kind = DOCUMENT_INTEGER, .offset = AT(port), .min = 1, .max = 65535 },
    { .key = "ports_num", .kind = DOCUMENT_INTEGER, .offset = AT(ports_num), .max = 1024 },
    { .key = "ports_num_for_sparse",
      .kind = DOCUMENT_INTEGER,
      .offset = AT(ports_num_for_sparse),
      .max = 1024 },
    { .key = "mode", .kind = DOCUMENT_TEXT, .offset = AT(mode) },
    { .key = "priority",
      .kind = DOCUMENT_INTEGER,
      .offset = AT(priority),
      .min = -JOB_PRIORITY_MAX,
      .max = JOB_PRIORITY_MAX },
    { .key = "env", .kind = DOCUMENT_OBJECT, .offset = AT(env) },
    { .key = "grace", .kind = DOCUMENT_TIME, .offset = AT(grace), .max = GRACE_MAX_US },
    { .key = "umask", .kind = DOCUMENT_TEXT, .offset = AT(umask) },
    { .key = "restart",
      .kind = DOCUMENT_NESTED,
      .nested = restart_rules,
      .n_nested = ELEMENTS(restart_rules) },
    { .key = "dataset", .kind = DOCUMENT_CALL, .call = read_dataset },
    { .key = "on_disconnect", .kind = DOCUMENT_TEXT, .offset = AT(on_disconnect) },
    { .key = "parking", .kind = DOCUMENT_TEXT, .offset = AT(parking) },
    { .key = "nodeSelector", .kind = DOCUMENT_IGNORED }, /* in a role it counts */
    { .key = "user", .kind = DOCUMENT_TEXT, .offset = AT(user) },
    { .key = "after", .kind = DOCUMENT_ARRAY, .offset = AT(after) },
    { .key = "deadline", .kind = DOCUMENT_CALL, .call = read_deadline },
    { .key = "expected",
      .kind = DOCUMENT_TIME,
      .offset = AT(expected),
      .min = 1,
      .max = DEADLINE_MAX_US },
    { .key = "time_limit",
      .kind = DOCUMENT_TIME,
      .offset = AT(time_limit),
      .min = JOB_TIME_LIMIT_MIN_US,
      .max = JOB_TIME_LIMIT_MAX_US },
    { .key = "checkpoint",
      .kind = DOCUMENT_NESTED,
      .nested = checkpoint_rules,
      .n_nested = ELEMENTS(checkpoint_rules) },
    { .key = "teacher", .kind = DOCUMENT_TEXT, .offset = AT(teacher) },
    { .key = "workspace-folder", .kind = DOCUMENT_TEXT, .offset = AT(workspace_folder) },
    { .key = "array", .kind = DOCUMENT_CALL, .call = read_array },
    { .key = "notify", .kind = DOCUMENT_CALL, .call = job_draft_read_notify },
    { .kind = DOCUMENT_MORE, .more = &container_keys },
};

const struct document_table common_keys = { common_rules, ELEMENTS(common_rules) };

/* `name` is first, so that the wrapped shape, whose name is in metadata, can leave it out */
static const struct document_rule spec_rules[] = {
    { .key = "name", .kind = DOCUMENT_TEXT, .offset = AT(name) },
    { .key = "trainer", .kind = DOCUMENT_CALL, .call = role_draft_read },
    { .key = "pserver", .kind = DOCUMENT_CALL, .call = role_draft_read },
    { .key = "roles", .kind = DOCUMENT_CALL, .call = role_draft_read_list },
    { .key = "master", .kind = DOCUMENT_CALL, .call = read_master },
    { .kind = DOCUMENT_MORE, .more = &common_keys },
};

static const struct document_rule master_rules[] = {
    { .key = "etcd-endpoint", .kind = DOCUMENT_IGNORED },
    { .key = "resources", .kind = DOCUMENT_IGNORED },
    { .key = "entrypoint", .kind = DOCUMENT_IGNORED },
    { .key = "workspace", .kind = DOCUMENT_IGNORED },
    { .key = "min-instance", .kind = DOCUMENT_IGNORED },
    { .key = "max-instance", .kind = DOCUMENT_IGNORED },
    { .key = "replicaSpec", .kind = DOCUMENT_IGNORED },
    { .kind = DOCUMENT_MORE, .more = &container_keys },
};

static const struct document_rule top_rules[] = {
    { .key = "apiVersion", .kind = DOCUMENT_TEXT, .offset = AT(api_version) },
    { .key = "kind", .kind = DOCUMENT_TEXT, .offset = AT(kind) },
    { .key = "metadata",
      .kind = DOCUMENT_NESTED,
      .nested = metadata_rules,
      .n_nested = ELEMENTS(metadata_rules) },
    { .key = "spec", .kind = DOCUMENT_OBJECT, .offset = AT(spec) },
    { .key = "status", .kind = DOCUMENT_IGNORED },
};

/* The scheduler is the master: the whole of it is ignored, which is said once; a key that upstream
 * does not know is refused there as well. */
static int read_master(struct document_reader *reader, const char *key, const json_t *value,
                       void *target)
{
    json_t *ignored = reader->ignored;
    int r;

    (void)key;
    document_ignore(reader, NULL);
    reader->ignored = NULL;
    r = document_read(reader, value, master_rules, ELEMENTS(master_rules), target);
    reader->ignored = ignored;
    return r;
}

/* Many jobs, or the one that a stored document is of. */
static int read_array(struct document_reader *reader, const char *key, const json_t *value,
                      void *target)
{
    struct job_draft *draft = target;

    (void)key;
    if (!json_is_object(value))
        return document_text(reader, value, 32, &draft->array);
    draft->array_element = value;
    return document_read(reader, value, array_rules, ELEMENTS(array_rules), target);
}

/* An instant, or a time from the submission on. */
static int read_deadline(struct document_reader *reader, const char *key, const json_t *value,
                         void *target)
{
    const char *text = json_string_value(value);
    struct job_draft *draft = target;
    int r;

    (void)key;
    if (text != NULL && strlen(text) == json_string_length(value) &&
        rfc3339_parse(text, &draft->deadline_wall) == 0)
        return 0;
    r = document_value(reader, &deadline_rule, value, target);
    if (r < 0)
        (void)edl_error_remedy(reader->error, "write an instant with its time zone, like "
                                              "2026-12-01T18:00:00Z, or a time from the "
                                              "submission on, like 8h, of at most 10 years");
    return r;
}

/* The files alone, or with what is to be done with them. */
static int read_dataset(struct document_reader *reader, const char *key, const json_t *value,
                        void *target)
{
    (void)key;
    if (json_is_object(value))
        return document_read(reader, value, dataset_rules, ELEMENTS(dataset_rules), target);
    if (json_is_string(value))
        return document_value(reader, &files_rule, value, target);
    (void)document_expected(reader, "text or an object", value);
    (void)edl_error_remedy(reader->error, "write dataset: /data/train-*, or dataset: {files: "
                                          "/data/train-*, shuffle: 7}");
    return EDL_EBADSPEC;
}

static void draft_init(struct job_draft *draft)
{
    *draft = (struct job_draft){
        .pointer = "",
        .env_key = "env",
        .priority = 0,
        .passes = -1,
        .shuffle = -1,
        .port = 7164,
        .ports_num = 1,
        .ports_num_for_sparse = 1,
        .restart_max = -1,
        .tries_at_once = -1,
        .grace = 30 * USEC_PER_SEC,
        .restart_backoff = USEC_PER_SEC,
        .fault_tolerant = 0,
        .array_index = -1,
        .array_jobs = -1,
        .autoclean = 1,
        .submit = { .parallelism = -1,
                    .min = -1,
                    .max = -1,
                    .pservers = -1,
                    .gpus = -1,
                    .cpu = DRAFT_ABSENT,
                    .memory = DRAFT_ABSENT,
                    .pserver_cpu = DRAFT_ABSENT,
                    .pserver_memory = DRAFT_ABSENT },
    };
}

static int expect_word(struct document_reader *reader, const char *pointer, const char *found,
                       const char *expected)
{
    if (found == NULL || streq(found, expected))
        return 0;
    (void)edl_error_at(reader->error, EDL_EBADSPEC, pointer, "%s \"%.60s\" is not known",
                       pointer + 1, found);
    (void)edl_error_remedy(reader->error, "write %s: %s", pointer + 1, expected);
    return EDL_EBADSPEC;
}

/* The word says nothing more than the other one does. */
static int check_kind(struct document_reader *reader, const char *kind)
{
    if (kind == NULL || !streq(kind, KIND_OPERATOR))
        return expect_word(reader, "/kind", kind, KIND);
    reader->pointer[0] = '\0';
    document_ignore(reader, "kind");
    return 0;
}

static int read_document(struct document_reader *reader, const json_t *document,
                         struct job_draft *draft)
{
    static const char *const wrapped_keys[] = { "spec", "metadata", "kind", "apiVersion" };
    bool wrapped = false;
    int r;

    for (size_t i = 0; i < ELEMENTS(wrapped_keys); i++)
        wrapped |= json_object_get(document, wrapped_keys[i]) != NULL;
    if (!wrapped && submit_draft_matches(document))
        return submit_draft_read(reader, document, draft);
    if (!wrapped)
        return document_read(reader, document, spec_rules, ELEMENTS(spec_rules), draft);
    r = document_read(reader, document, top_rules, ELEMENTS(top_rules), draft);
    if (r < 0)
        return r;
    r = check_kind(reader, draft->kind);
    if (r < 0)
        return r;
    r = expect_word(reader, "/apiVersion", draft->api_version, API_VERSION);
    if (r < 0)
        return r;
    draft->pointer = "/spec";
    if (draft->spec == NULL)
        return job_draft_refuse(reader, draft, "", "spec is missing");
    (void)document_enter(reader, "spec");
    return document_read(reader, draft->spec, spec_rules + 1, ELEMENTS(spec_rules) - 1, draft);
}

static bool has_role(const struct job_draft *draft, const char *name)
{
    for (size_t i = 0; i < draft->n_roles; i++)
        if (streq(draft->roles[i].name, name))
            return true;
    return false;
}

/* Open MPI and MPICH end all processes of a program when one is lost. A stored document, of a
 * version that took the key, is read as it is. */
static int check_mpi(struct document_reader *reader, const struct job_draft *draft)
{
    if (reader->stored || draft->fault_tolerant <= 0)
        return 0;
    (void)job_draft_refuse(reader, draft, "fault_tolerant",
                           "mode mpi cannot lose or gain processes: MPI ends all of a program "
                           "when one is lost");
    (void)edl_error_remedy(reader->error, "leave fault_tolerant out, and give as many instances at "
                                          "least as at most; the job starts again as a whole when "
                                          "a node is lost");
    return EDL_EBADSPEC;
}

static int finish_mode(struct document_reader *reader, const struct job_draft *draft,
                       struct job_spec *spec)
{
    bool pserver = has_role(draft, "pserver");
    int mode = pserver ? JOB_MODE_PSERVER : JOB_MODE_COLLECTIVE;

    if (draft->mode != NULL) {
        mode = job_mode_from_string(draft->mode);
        if (mode < 0) {
            (void)job_draft_refuse(reader, draft, "mode", "this mode is not known");
            (void)edl_error_remedy(reader->error, "write pserver, collective, mpi or service");
            return EDL_EBADSPEC;
        }
    }
    spec->mode = (enum job_mode)mode;
    if (mode == JOB_MODE_PSERVER && !pserver)
        return job_draft_refuse(reader, draft, "mode", "mode is pserver but no role is a pserver");
    if (mode != JOB_MODE_PSERVER && pserver)
        return job_draft_refuse(reader, draft, "mode", "a pserver role needs mode pserver");
    if (mode == JOB_MODE_PSERVER && !has_role(draft, "trainer"))
        return job_draft_refuse(reader, draft, "trainer",
                                "a trainer is missing beside the pserver");
    return mode == JOB_MODE_MPI ? check_mpi(reader, draft) : 0;
}

/* finish_passes - upstream's examples put passes under trainer, where upstream ignores it; here it
 * counts */
static int finish_passes(struct document_reader *reader, const struct job_draft *draft,
                         struct job_spec *spec)
{
    int64_t passes = draft->passes;

    for (size_t i = 0; i < draft->n_roles; i++) {
        if (draft->roles[i].passes < 0)
            continue;
        if (passes > 0 && passes != draft->roles[i].passes)
            return job_draft_refuse(reader, draft, "passes",
                                    "two different numbers of passes are given");
        passes = draft->roles[i].passes;
    }
    spec->passes = passes > 0 ? (uint32_t)passes : 0;
    return 0;
}

static int finish_env(struct document_reader *reader, const struct job_draft *draft,
                      struct job_spec *spec)
{
    const char *name;
    json_t *value;

    if (json_object_size(draft->env) > ENV_MAX)
        return job_draft_refuse(reader, draft, draft->env_key, "more than 512 variables");
    spec->env = xcalloc(json_object_size(draft->env), sizeof *spec->env);
    (void)snprintf(reader->pointer, sizeof reader->pointer, "%s/%s", draft->pointer,
                   draft->env_key);
    json_object_foreach((json_t *)(uintptr_t)draft->env, name, value)
    {
        size_t length = document_enter(reader, name);
        const char *text = NULL;
        int r;

        if (!document_env_name_valid(name)) {
            (void)document_refuse(reader, "\"%.60s\" cannot name a variable", name);
            (void)edl_error_remedy(reader->error, "use letters, digits and '_', no digit first");
            return EDL_EBADSPEC;
        }
        r = document_text(reader, value, ENV_VALUE_BYTES_MAX, &text);
        if (r < 0) {
            if (json_is_number(value) || json_is_boolean(value))
                (void)edl_error_remedy(reader->error, "put the value in quotes");
            return r;
        }
        spec->env[spec->n_env++] = (struct env_pair){ xstrdup(name), xstrdup(text) };
        document_leave(reader, length);
    }
    return 0;
}

/* finish_roles - pservers first, the rest as listed: the order they are started in */
static int finish_roles(struct document_reader *reader, const struct job_draft *draft,
                        struct job_spec *spec)
{
    spec->roles = xcalloc(draft->n_roles, sizeof *spec->roles);
    for (int first = 1; first >= 0; first--)
        for (size_t i = 0; i < draft->n_roles; i++) {
            int r;

            if (streq(draft->roles[i].name, "pserver") != first)
                continue;
            r = role_draft_finish(reader, &draft->roles[i], spec, &spec->roles[spec->n_roles++]);
            if (r < 0)
                return r;
        }
    return 0;
}

/* A node that is cut off stops its processes before they are started elsewhere, or keeps them; then
 * they are not. */
static int finish_disconnect(struct document_reader *reader, const struct job_draft *draft,
                             struct job_spec *spec)
{
    spec->keep_cut_off = draft->on_disconnect != NULL && streq(draft->on_disconnect, "keep");
    if (draft->on_disconnect == NULL || streq(draft->on_disconnect, "stop") || spec->keep_cut_off)
        return 0;
    (void)job_draft_refuse(reader, draft, "on_disconnect", "stop or keep is expected");
    (void)edl_error_remedy(reader->error,
                           "write stop, or leave it out: a node that is cut off stops its "
                           "processes before they are started elsewhere");
    return EDL_EBADSPEC;
}

/* Under crowding a job that can go on later may go back to the queue, or never does. */
static int finish_parking(struct document_reader *reader, const struct job_draft *draft,
                          struct job_spec *spec)
{
    int parking =
        draft->parking != NULL ? job_parking_from_string(draft->parking) : JOB_PARKING_UNSAID;

    if (parking >= 0) {
        spec->parking = (enum job_parking)parking;
        return 0;
    }
    (void)job_draft_refuse(reader, draft, "parking", "allowed or never is expected");
    (void)edl_error_remedy(reader->error,
                           "write never for a job that must not go back to the queue while others "
                           "wait, or leave it out");
    return EDL_EBADSPEC;
}

static int finish_user(struct document_reader *reader, const struct job_draft *draft,
                       struct job_spec *spec)
{
    if (draft->user == NULL)
        return 0;
    if (account_name_valid(draft->user)) {
        (void)snprintf(spec->user, sizeof spec->user, "%s", draft->user);
        return 0;
    }
    (void)job_draft_refuse(reader, draft, "user", "this cannot be the name of an account");
    (void)edl_error_remedy(reader->error, ACCOUNT_NAME_RULE);
    return EDL_EBADSPEC;
}

/* finish_umask - as umask(1) has it. A text: a number would be decimal in JSON */
static int finish_umask(struct document_reader *reader, const struct job_draft *draft,
                        struct job_spec *spec)
{
    const char *text = draft->umask;
    size_t n = text != NULL ? strlen(text) : 0;

    if (text == NULL)
        return 0;
    spec->has_umask = n >= 1 && n <= 4 && strspn(text, "01234567") == n;
    for (size_t i = 0; spec->has_umask && i < n; i++)
        spec->umask = spec->umask * 8 + (uint32_t)(text[i] - '0');
    if (spec->has_umask && spec->umask <= 0777)
        return 0;
    (void)job_draft_refuse(reader, draft, "umask",
                           "1 to 4 octal digits are expected, at most \"0777\"");
    (void)edl_error_remedy(reader->error, "umask: \"0022\"");
    return EDL_EBADSPEC;
}

static int finish_checkpoint(struct document_reader *reader, const struct job_draft *draft,
                             struct job_spec *spec)
{
    spec->checkpoint_period_us = draft->checkpoint_period;
    if (draft->checkpoint_path == NULL)
        return 0;
    if (draft->checkpoint_path[0] == '/') {
        spec->checkpoint_path = xstrdup(draft->checkpoint_path);
        return 0;
    }
    (void)job_draft_refuse(reader, draft, "checkpoint/path", "an absolute path is expected");
    (void)edl_error_remedy(reader->error, "name a folder that all nodes see, or leave it out: "
                                          "checkpoints are then below EDL_OUTPUT_DIR");
    return EDL_EBADSPEC;
}

/* finish_teacher - whether there is such a service is seen when somebody asks for it: teachers may
 * come later than their students */
static int finish_teacher(struct document_reader *reader, const struct job_draft *draft,
                          struct job_spec *spec)
{
    if (draft->teacher == NULL)
        return 0;
    if (document_service_name_valid(draft->teacher)) {
        spec->teacher = xstrdup(draft->teacher);
        return 0;
    }
    (void)job_draft_refuse(reader, draft, "teacher", "this cannot be the name of a service");
    (void)edl_error_remedy(reader->error, "write JOB, or JOB.ROLE, as `edl services` lists them");
    return EDL_EBADSPEC;
}

static int finish_job(struct document_reader *reader, const struct job_draft *draft,
                      struct job_spec *spec)
{
    static int (*const steps[])(struct document_reader * reader, const struct job_draft *draft,
                                struct job_spec *spec) = {
        job_draft_finish_name,
        job_draft_finish_array,
        finish_mode,
        finish_passes,
        finish_env,
        job_draft_finish_after,
        finish_disconnect,
        finish_parking,
        finish_user,
        finish_umask,
        finish_checkpoint,
        finish_teacher,
        job_draft_finish_notify,
        finish_roles,
        job_draft_finish_workspace_folder,
    };

    spec->fault_tolerant = draft->fault_tolerant != 0;
    spec->keep_remains = draft->autoclean == 0;
    spec->priority = (int32_t)draft->priority;
    spec->port = (uint32_t)draft->port;
    spec->ports_num = (uint32_t)draft->ports_num;
    spec->ports_num_for_sparse = (uint32_t)draft->ports_num_for_sparse;
    spec->grace_us = draft->grace;
    spec->restart_backoff_us = draft->restart_backoff;
    spec->deadline_us = draft->deadline;
    spec->deadline_wall_us = draft->deadline_wall;
    spec->expected_us = draft->expected;
    spec->time_limit_us = draft->time_limit;
    spec->restart_max = spec->fault_tolerant ? RESTARTS_FAULT_TOLERANT : 0;
    if (draft->restart_max >= 0)
        spec->restart_max = (uint32_t)draft->restart_max;
    spec->tries_at_once = draft->restart_max >= 0 ? 0 : TRIES_AT_ONCE; /* its owner's word counts */
    if (draft->tries_at_once >= 0)
        spec->tries_at_once = (uint32_t)draft->tries_at_once;
    spec->dataset =
        draft->dataset != NULL && *draft->dataset != '\0' ? xstrdup(draft->dataset) : NULL;
    spec->shuffled = draft->shuffle >= 0;
    spec->shuffle_seed = spec->shuffled ? (uint64_t)draft->shuffle : 0;
    spec->task_records = (uint32_t)draft->task_records;
    spec->task_tries = (uint32_t)draft->task_tries;
    if (draft->n_roles == 0) {
        (void)job_draft_refuse(reader, draft, "trainer", "the job has no role");
        (void)edl_error_remedy(reader->error, "add trainer with an entrypoint, or roles");
        return EDL_EBADSPEC;
    }
    for (size_t i = 0; i < ELEMENTS(steps); i++) {
        int r = steps[i](reader, draft, spec);

        if (r < 0)
            return r;
    }
    return 0;
}

static int read_spec(struct document_reader *reader, const json_t *document,
                     struct job_spec **ret_spec)
{
    struct job_spec *spec = xcalloc(1, sizeof *spec);
    struct job_draft draft;
    int r;

    draft_init(&draft);
    r = read_document(reader, document, &draft);
    if (r == 0)
        r = finish_job(reader, &draft, spec);
    if (r < 0)
        (void)job_spec_free(spec);
    else
        *ret_spec = spec;
    return r;
}

int job_spec_from_document(const json_t *document, struct job_spec **ret_spec, json_t **ret_ignored,
                           struct edl_error *error)
{
    struct document_reader reader = { .ignored = json_array(), .error = error };
    int r = read_spec(&reader, document, ret_spec);

    if (r < 0) {
        json_decref(reader.ignored);
        return r;
    }
    if (ret_ignored != NULL)
        *ret_ignored = reader.ignored;
    else
        json_decref(reader.ignored);
    return 0;
}

int job_spec_from_stored(const json_t *document, struct job_spec **ret_spec,
                         struct edl_error *error)
{
    struct document_reader reader = { .stored = true, .error = error };

    return read_spec(&reader, document, ret_spec);
}
