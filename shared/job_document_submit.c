/* SPDX-License-Identifier: Apache-2.0 */
/* job_document_submit.c - job documents in the shape of the older submissions
 *
 * The paddlecloud command and its Python module sent one flat object: name, job_package,
 * parallelism, cpu, memory, pservers, pscpu, psmemory, entry, ... It becomes the two roles trainer
 * and pserver. As there, pservers defaults to parallelism. parallelism is the size of a job that
 * keeps it; where min_instance and max_instance differ, those count. */
#include "shared/error.h"
#include "shared/job_draft.h"
#include "shared/macro.h"

#define ENTRY_BYTES_MAX 65536
#define AT(field) offsetof(struct job_draft, field)
#define COUNT(name, field, least)                                                                  \
    {                                                                                              \
        .key = (name), .kind = DOCUMENT_INTEGER, .offset = AT(field), .min = (least),              \
        .max = ROLE_INSTANCES_MAX                                                                  \
    }
#define IGNORED(name)                                                                              \
    {                                                                                              \
        .key = (name), .kind = DOCUMENT_IGNORED                                                    \
    }

static const struct document_rule rules[] = {
    { .key = "name", .kind = DOCUMENT_TEXT, .offset = AT(name) },
    { .key = "job_package", .kind = DOCUMENT_TEXT, .offset = AT(submit.package) },
    { .key = "jobPackage", .kind = DOCUMENT_TEXT, .offset = AT(submit.package) },
    { .key = "entry", .kind = DOCUMENT_TEXT, .offset = AT(submit.entry), .max = ENTRY_BYTES_MAX },
    COUNT("parallelism", submit.parallelism, 1),
    COUNT("min_instance", submit.min, 1),
    COUNT("max_instance", submit.max, 1),
    CPU_RULE("cpu", submit.cpu),
    MEMORY_RULE("memory", submit.memory),
    { .key = "gpu", .kind = DOCUMENT_COUNT, .offset = AT(submit.gpus), .max = ROLE_GPUS_MAX },
    COUNT("pservers", submit.pservers, 0),
    CPU_RULE("pscpu", submit.pserver_cpu),
    MEMORY_RULE("psmemory", submit.pserver_memory),
    { .key = "envs", .kind = DOCUMENT_OBJECT, .offset = AT(submit.envs) },
    { .key = "faulttolerant", .kind = DOCUMENT_BOOLEAN, .offset = AT(fault_tolerant) },
    IGNORED("topology"), /* of version 1's configuration; entry is what runs */
    IGNORED("dc"),
    IGNORED("datacenter"),
    IGNORED("registry"),
    IGNORED("registry_secret"),
    IGNORED("etcd_image"),
    IGNORED("mastercpu"), /* the scheduler is the master */
    IGNORED("mastermemory"),
    { .kind = DOCUMENT_MORE, .more = &common_keys },
};

static const struct role_keys trainer_keys = { "entry", "min_instance", "max_instance" };
static const struct role_keys pserver_keys = { "entry", "pservers", "pservers" };

bool submit_draft_matches(const json_t *document)
{
    static const char *const own[] = { "parallelism", "entry",        "job_package",
                                       "jobPackage",  "pservers",     "pscpu",
                                       "psmemory",    "min_instance", "max_instance" };
    static const char *const others[] = { "trainer", "pserver", "roles" };
    bool matches = false;

    for (size_t i = 0; i < ELEMENTS(own); i++)
        matches |= json_object_get(document, own[i]) != NULL;
    for (size_t i = 0; i < ELEMENTS(others); i++)
        matches &= json_object_get(document, others[i]) == NULL;
    return matches;
}

/* Its size, and what of the three numbers says nothing beside the others. */
static void set_size(struct document_reader *reader, const struct submit_draft *submit,
                     struct role_draft *trainer)
{
    int64_t min = submit->min > 0 ? submit->min : 1;
    int64_t max = submit->max > 0 ? submit->max : min;

    if (submit->parallelism < 0 || (submit->max > 0 && min != max)) {
        trainer->min = min;
        trainer->max = max;
        if (submit->parallelism >= 0 && submit->parallelism != min)
            document_ignore(reader, "parallelism");
        return;
    }
    trainer->min = trainer->max = submit->parallelism;
    if (submit->min > 0 && submit->min != submit->parallelism)
        document_ignore(reader, "min_instance");
    if (submit->max > 0 && submit->max != submit->parallelism)
        document_ignore(reader, "max_instance");
}

static int add_roles(struct document_reader *reader, struct job_draft *draft)
{
    const struct submit_draft *submit = &draft->submit;
    struct role_draft *trainer = role_draft_add(reader, draft, "trainer", &trainer_keys);
    struct role_draft *pserver;
    int64_t n_pservers = submit->pservers;

    if (trainer == NULL)
        return EDL_EBADSPEC;
    trainer->entrypoint = submit->entry;
    trainer->workspace = submit->package;
    trainer->cpu = submit->cpu;
    trainer->memory = submit->memory;
    trainer->gpus = submit->gpus;
    set_size(reader, submit, trainer);
    if (n_pservers < 0)
        n_pservers = submit->parallelism > 0 ? submit->parallelism : trainer->min;
    if (n_pservers == 0)
        return 0;
    pserver = role_draft_add(reader, draft, "pserver", &pserver_keys);
    if (pserver == NULL)
        return EDL_EBADSPEC;
    pserver->workspace = submit->package;
    pserver->min = pserver->max = n_pservers;
    pserver->cpu = submit->pserver_cpu;
    pserver->memory = submit->pserver_memory;
    return 0;
}

int submit_draft_read(struct document_reader *reader, const json_t *document,
                      struct job_draft *draft)
{
    int r = document_read(reader, document, rules, ELEMENTS(rules), draft);

    if (r < 0)
        return r;
    if (draft->submit.envs != NULL) {
        (void)document_enter(reader, "envs");
        if (draft->env != NULL)
            return document_refuse(reader, "env and envs are both given");
        draft->env = draft->submit.envs;
        draft->env_key = "envs";
        document_leave(reader, 0);
    }
    return add_roles(reader, draft);
}
