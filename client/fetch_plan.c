/* SPDX-License-Identifier: Apache-2.0 */
/* fetch_plan.c - see fetch_plan.h */
#include "client/fetch_plan.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <uthash.h>

#include "client/json_read.h"
#include "client/text.h"
#include "shared/error.h"
#include "shared/macro.h"

/* ---- sources ---- */

/* workspace_of - the folder that is given to a role on every node; "": each process has its own */
static const char *workspace_of(const json_t *job, const char *name)
{
    const json_t *spec = json_object_get(job, "spec");
    size_t i;
    json_t *role;

    json_array_foreach(json_object_get(spec, "roles"), i, role)
    {
        const char *workspace = json_text(role, "workspace");

        if (!streq(json_text(role, "role"), name))
            continue;
        if (strncmp(workspace, WORKSPACE_PREFIX, sizeof WORKSPACE_PREFIX - 1) == 0)
            return json_text(spec, "workspace-folder");
        return workspace[0] == '/' ? workspace : "";
    }
    return "";
}

static bool is_newest(const json_t *processes, const json_t *process)
{
    size_t i;
    json_t *other;

    json_array_foreach(processes, i, other)
    {
        if (streq(json_text(other, "role"), json_text(process, "role")) &&
            json_u64(other, "index") == json_u64(process, "index") &&
            json_u64(other, "incarnation") > json_u64(process, "incarnation"))
            return false;
    }
    return true;
}

static bool has(const struct fetch_plan *plan, const char *node, bool output, const char *given,
                const json_t *job)
{
    for (size_t i = 0; i < plan->n_sources; i++) {
        const struct fetch_source *source = &plan->sources[i];

        if (streq(source->node, node) && source->output == output &&
            (output || streq(workspace_of(job, source->role), given)))
            return true;
    }
    return false;
}

static void add(struct fetch_plan *plan, const json_t *process, bool output, bool given)
{
    plan->sources = xreallocarray(plan->sources, plan->n_sources + 1, sizeof *plan->sources);
    plan->sources[plan->n_sources++] =
        (struct fetch_source){ .role = xstrdup(json_text(process, "role")),
                               .index = json_u64(process, "index"),
                               .node = xstrdup(json_text(process, "node")),
                               .output = output,
                               .given = given,
                               .folder = xstrdup("") };
}

static bool is_wanted(const json_t *process, const char *role, uint64_t index)
{
    return (role == NULL || streq(json_text(process, "role"), role)) &&
           (index == UINT64_MAX || json_u64(process, "index") == index);
}

void fetch_plan_make(const json_t *job, const json_t *processes, const char *role, uint64_t index,
                     struct fetch_plan *ret)
{
    struct fetch_plan plan = { 0 };
    size_t i;
    json_t *process;

    json_array_foreach(processes, i, process)
    {
        const char *node = json_text(process, "node");
        const char *given = workspace_of(job, json_text(process, "role"));

        if (!is_wanted(process, role, index) || !is_newest(processes, process))
            continue;
        if (given[0] == '\0' || !has(&plan, node, false, given, job))
            add(&plan, process, false, given[0] != '\0');
        if (!has(&plan, node, true, "", job))
            add(&plan, process, true, false);
    }
    *ret = plan;
}

#define ROLES_SHOWN 200

/* has_role - names: those that there are */
static bool has_role(const json_t *job, const char *role, char names[ROLES_SHOWN])
{
    size_t i, used = 0;
    json_t *entry;

    names[0] = '\0';
    json_array_foreach(json_object_get(json_object_get(job, "spec"), "roles"), i, entry)
    {
        const char *name = json_text(entry, "role");

        if (streq(name, role))
            return true;
        (void)snprintf(names + used, ROLES_SHOWN - used, "%s%s", i > 0 ? ", " : "", name);
        used = strlen(names);
    }
    return false;
}

int fetch_plan_check(const struct fetch_plan *plan, const json_t *job, const char *role,
                     uint64_t index, struct edl_error *error)
{
    const char *job_name = json_text(job, "name");
    char names[ROLES_SHOWN];

    if (role != NULL && !has_role(job, role, names)) {
        (void)edl_error_set(error, -ENOENT, "job %.80s has no role %.40s; it has %s", job_name,
                            role, names);
        return edl_error_remedy(error, "name one of them with --role");
    }
    if (plan->n_sources > 0 || index == UINT64_MAX)
        return 0;
    (void)edl_error_set(error, -ENOENT, "job %.80s has no process %s%s%" PRIu64, job_name,
                        role != NULL ? role : "", role != NULL ? "-" : "", index);
    return edl_error_remedy(error, "`edl show %.80s` lists its processes", job_name);
}

void fetch_plan_clear(struct fetch_plan *plan)
{
    for (size_t i = 0; i < plan->n_sources; i++) {
        struct fetch_source *source = &plan->sources[i];

        for (size_t at = 0; at < source->n_files; at++)
            free(source->files[at]);
        free(source->files);
        json_decref(source->links);
        free(source->role);
        free(source->node);
        free(source->folder);
    }
    free(plan->sources);
    *plan = (struct fetch_plan){ 0 };
}

/* ---- patterns ---- */

const char *fetch_pattern(const char *pattern, bool output)
{
    size_t n = sizeof FETCH_OUTPUT_NAME - 1;
    const char *name = pattern[0] == '$' ? pattern + 1 : pattern;
    bool means_output =
        strncmp(name, FETCH_OUTPUT_NAME, n) == 0 && (name[n] == '/' || name[n] == '\0');

    if (pattern[0] == '\0')
        return pattern;
    if (means_output != output)
        return NULL;
    if (!output)
        return pattern;
    return name[n] == '\0' || name[n + 1] == '\0' ? "*" : name + n + 1;
}

char *fetch_pattern_of(const char *path)
{
    char *pattern = xcalloc(2 * strlen(path) + 1, 1), *to = pattern;

    for (; *path != '\0'; path++) {
        if (strchr("*?[]\\", *path) != NULL)
            *to++ = '\\';
        *to++ = *path;
    }
    return pattern;
}

/* ---- lists ---- */

int fetch_source_add(struct fetch_source *source, const char *line, size_t size,
                     struct edl_error *error)
{
    struct file_entry entry;
    int r;

    if (size == 0) /* a sign of life */
        return 0;
    if (source->whole)
        return edl_error_set(error, -EINVAL, "the list goes on behind its end");
    r = file_listing_parse(line, size, &entry, &source->sums, error);
    if (r < 0)
        return r;
    if (r == 1) {
        source->whole = true;
        json_decref(source->links);
        source->links = file_listing_links(line, size);
        return 0;
    }
    if (source->n_files == FETCH_FILES_MAX)
        return edl_error_set(error, -E2BIG, "there are more than %d files", FETCH_FILES_MAX);
    if (source->n_files == source->n_allocated) {
        source->n_allocated = MAX_OF(16, 2 * source->n_allocated);
        source->files = xreallocarray(source->files, source->n_allocated, sizeof(*source->files));
    }
    source->files[source->n_files] = xcalloc(1, sizeof entry);
    *source->files[source->n_files++] = entry;
    return 0;
}

/* Files of a kind by path. */
struct seen {
    const struct fetch_source *source; /* borrowed */
    struct file_entry *entry;          /* borrowed */
    UT_hash_handle hh;                 /* k: its path */
};

static struct seen *find_seen(struct seen *seen, const struct file_entry *entry)
{
    struct seen *old = NULL;

    HASH_FIND_STR(seen, entry->path, old);
    return old;
}

static void note_seen(struct seen **seen, const struct fetch_source *source,
                      struct file_entry *entry)
{
    struct seen *one = xcalloc(1, sizeof *one);

    *one = (struct seen){ .source = source, .entry = entry };
    HASH_ADD_KEYPTR(hh, *seen, entry->path, strlen(entry->path), one);
}

static void forget_seen(struct seen *seen)
{
    struct seen *one, *next;

    HASH_ITER(hh, seen, one, next)
    {
        HASH_DEL(seen, one);
        free(one);
    }
}

/* may_share - whether another source may be the same folder */
static bool may_share(const struct fetch_source *source, bool output)
{
    return source->output == output && (output || source->given);
}

static bool looks_same(const struct file_entry *a, const struct file_entry *b)
{
    return a->mtime_us == b->mtime_us && a->bytes == b->bytes;
}

/* is_same - without checksums nobody knows: each of them is fetched */
static bool is_same(const struct file_entry *a, const struct file_entry *b)
{
    return looks_same(a, b) && a->sha256[0] != '\0' && streq(a->sha256, b->sha256);
}

/* drop_seen - files that another source of the kind has, too; remembers the others */
static void drop_seen(struct fetch_source *source, struct seen **seen)
{
    size_t kept = 0;

    for (size_t i = 0; i < source->n_files; i++) {
        struct file_entry *entry = source->files[i];
        const struct seen *old = find_seen(*seen, entry);

        if (old != NULL && is_same(old->entry, entry)) {
            free(entry);
            continue;
        }
        source->files[kept++] = entry;
        if (old == NULL)
            note_seen(seen, source, entry);
    }
    source->n_files = kept;
}

static void drop_shared(struct fetch_plan *plan, bool output)
{
    struct seen *seen = NULL;

    for (size_t i = 0; i < plan->n_sources; i++)
        if (may_share(&plan->sources[i], output))
            drop_seen(&plan->sources[i], &seen);
    forget_seen(seen);
}

typedef void twins_f(const struct fetch_source *source, struct file_entry *entry, void *userdata);

static void ask_twins(struct fetch_source *source, struct seen **seen, twins_f *what,
                      void *userdata)
{
    for (size_t i = 0; i < source->n_files; i++) {
        struct file_entry *entry = source->files[i];
        const struct seen *old = find_seen(*seen, entry);

        if (old == NULL) {
            note_seen(seen, source, entry);
            continue;
        }
        if (!looks_same(old->entry, entry))
            continue;
        if (old->entry->sha256[0] == '\0')
            what(old->source, old->entry, userdata);
        if (entry->sha256[0] == '\0')
            what(source, entry, userdata);
    }
}

void fetch_plan_twins(struct fetch_plan *plan, twins_f *what, void *userdata)
{
    for (int output = 0; output < 2; output++) {
        struct seen *seen = NULL;

        for (size_t i = 0; i < plan->n_sources; i++)
            if (may_share(&plan->sources[i], output != 0))
                ask_twins(&plan->sources[i], &seen, what, userdata);
        forget_seen(seen);
    }
}

void fetch_plan_place(struct fetch_plan *plan)
{
    size_t n_workspaces = 0, n_outputs = 0;

    drop_shared(plan, false);
    drop_shared(plan, true);
    for (size_t i = 0; i < plan->n_sources; i++) {
        n_outputs += plan->sources[i].output;
        n_workspaces += !plan->sources[i].output;
    }
    for (size_t i = 0; i < plan->n_sources; i++) {
        struct fetch_source *source = &plan->sources[i];
        const char *node = n_outputs > 1 ? source->node : "";

        free(source->folder);
        if (source->output)
            source->folder =
                text_format("%s%s%s/", node, node[0] != '\0' ? "/" : "", FETCH_OUTPUT_NAME);
        else if (n_workspaces > 1 && source->given)
            source->folder = text_format("%s/", source->node);
        else if (n_workspaces > 1)
            source->folder = text_format("%s-%" PRIu64 "/", source->role, source->index);
        else
            source->folder = xstrdup("");
    }
}
