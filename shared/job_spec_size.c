/* SPDX-License-Identifier: Apache-2.0 */
/* job_spec_size.c - the cost of a job to its keeper
 *
 * A short document can ask for much: an array for a thousand copies of it, its roles for a thousand
 * instances each. A program that accepts one looks at these figures first. */
#include "shared/job_spec.h"

#include <string.h>

#include "shared/job_notify.h"
#include "shared/macro.h"

#define TEXT_OVERHEAD_BYTES 32 /* its pointer, the allocator's part, quotes and a comma */

/* As JSON writes it: a control character is six, and that is the most which a byte becomes. */
static uint64_t text_bytes(const char *text)
{
    uint64_t bytes = TEXT_OVERHEAD_BYTES;

    for (; text != NULL && *text != '\0'; text++)
        bytes += (unsigned char)*text < ' ' ? 6 : *text == '"' || *text == '\\' ? 2 : 1;
    return bytes;
}

static uint64_t texts_bytes(char *const *texts)
{
    uint64_t bytes = 0;

    for (; texts != NULL && *texts != NULL; texts++)
        bytes += text_bytes(*texts);
    return bytes;
}

uint64_t job_spec_env_bytes(const struct job_spec *spec)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < spec->n_env; i++)
        bytes += strlen(spec->env[i].name) + strlen(spec->env[i].value);
    return bytes;
}

uint64_t job_spec_bytes(const struct job_spec *spec)
{
    uint64_t bytes = sizeof *spec + texts_bytes(spec->after) + text_bytes(spec->dataset) +
                     text_bytes(spec->workspace_folder);

    if (spec->notify != NULL)
        bytes += sizeof *spec->notify + texts_bytes(spec->notify->mails) +
                 text_bytes(spec->notify->webhook);
    for (size_t i = 0; i < spec->n_env; i++)
        bytes += text_bytes(spec->env[i].name) + text_bytes(spec->env[i].value);
    for (size_t i = 0; i < spec->n_roles; i++) {
        const struct role_spec *role = &spec->roles[i];

        bytes += sizeof *role + texts_bytes(role->argv) + text_bytes(role->workspace);
        bytes += texts_bytes(role->nodes);
        bytes += role->selector != NULL ? sizeof *role->selector : 0;
    }
    return bytes;
}

uint32_t job_spec_role_most(const struct job_spec *spec, uint32_t role)
{
    const struct role_spec *of = &spec->roles[role];

    return spec->n_roles > 1 && streq(of->name, "pserver") ? of->min : of->max;
}

uint64_t job_spec_instances(const struct job_spec *spec)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < spec->n_roles; i++)
        n += job_spec_role_most(spec, i);
    return n;
}

/* Of a node's memory so much stays free by default: a policy grows nobody into the last of it. */
#define KEPT_PART 16

/* its part of one resource of a node, of so many bytes */
static uint64_t part_of(uint64_t memory_bytes, uint64_t asked, uint64_t all)
{
    return all > 0 ? (memory_bytes >> 20) * asked / all << 20 : 0;
}

static bool is_named(const struct role_spec *role, const char *node)
{
    size_t i = 0;

    while (i < role->n_nodes && (node == NULL || !streq(role->nodes[i], node)))
        i++;
    return i < role->n_nodes;
}

/* Its document does not say otherwise. */
static bool may_run_on(const struct role_spec *role, const struct role_share *node)
{
    static const struct labels none;

    return (role->nodes == NULL || is_named(role, node->name)) &&
           labels_cover(node->labels != NULL ? node->labels : &none, role_selector(role));
}

static uint64_t cpu_by_default(const struct role_spec *role, uint64_t millicores,
                               const struct role_share *nodes, size_t n_nodes)
{
    uint64_t largest = 0;

    for (size_t i = 0; i < n_nodes; i++)
        if (may_run_on(role, &nodes[i]))
            largest = MAX_OF(largest, nodes[i].cpu_millicores);
    return largest > 0 ? MIN_OF(millicores, largest) : millicores;
}

static uint64_t memory_by_nodes(const struct role_spec *role, const struct role_share *nodes,
                                size_t n_nodes, bool away)
{
    uint64_t least = UINT64_MAX;

    for (size_t i = 0; i < n_nodes; i++) {
        const struct role_share *node = &nodes[i];
        uint64_t shared = node->memory_bytes - node->memory_bytes / KEPT_PART;
        uint64_t part = MAX_OF(part_of(shared, role->cpu_millicores, node->cpu_millicores),
                               part_of(shared, role->gpus, node->gpus));

        if (node->cpu_millicores >= role->cpu_millicores && node->gpus >= role->gpus &&
            node->away == away && may_run_on(role, node))
            least = MIN_OF(least, part);
    }
    return least;
}

static uint64_t memory_by_default(const struct role_spec *role,
                                  const struct role_defaults *defaults,
                                  const struct role_share *nodes, size_t n_nodes)
{
    uint64_t thousandths = MAX_OF(role->cpu_millicores, UINT64_C(1000) * role->gpus);
    uint64_t bytes, least = ROLE_MEMORY_DEFAULT_BYTES / 4;

    if (defaults->memory_bytes > 0) {
        bytes = part_of(defaults->memory_bytes, thousandths, 1000);
        least = (uint64_t)ROLE_MEMORY_BYTES_LEAST;
    } else {
        bytes = memory_by_nodes(role, nodes, n_nodes, false);
        if (bytes == UINT64_MAX)
            bytes = memory_by_nodes(role, nodes, n_nodes, true);
        if (bytes == UINT64_MAX)
            bytes = part_of(ROLE_MEMORY_DEFAULT_BYTES, thousandths, 1000);
    }
    return MIN_OF(MAX_OF(bytes, least), (uint64_t)ROLE_MEMORY_BYTES_MAX);
}

void job_spec_ask_by_default(struct job_spec *spec, const struct role_defaults *defaults,
                             const struct role_share *nodes, size_t n_nodes, uint32_t *ret_cpu,
                             uint32_t *ret_memory)
{
    *ret_cpu = *ret_memory = 0;
    for (uint32_t i = 0; i < spec->n_roles; i++) {
        struct role_spec *role = &spec->roles[i];

        if (role->cpu_unsaid) {
            role->cpu_millicores = cpu_by_default(role, defaults->cpu_millicores, nodes, n_nodes);
            role->cpu_unsaid = false;
            /* nobody knows how much it will use: a machine of its own is never too little */
            if (role->spread_unsaid && role->gpus == 0 && spec->n_roles == 1 &&
                spec->mode != JOB_MODE_MPI)
                role->spread = true;
            *ret_cpu |= 1U << i;
        }
        if (role->memory_bytes == 0) {
            role->memory_bytes = memory_by_default(role, defaults, nodes, n_nodes);
            *ret_memory |= 1U << i;
        }
    }
}
