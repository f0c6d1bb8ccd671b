/* SPDX-License-Identifier: Apache-2.0 */
/* job_document_places.c - the node of each instance of a role (`nodes`), and the folder in which a
 * node keeps the workspace of a job (`workspace-folder`) */
#include <inttypes.h>
#include <stdio.h>

#include "shared/document_reader.h"
#include "shared/error.h"
#include "shared/job_draft.h"
#include "shared/macro.h"
#include "shared/node_name.h"
#include "shared/printable.h"
#include "shared/shared_folder.h"
#include "shared/workspace_id.h"

#define NODE_TEXT_MAX 4096 /* bytes that are looked at before it is refused */

static int read_node(struct document_reader *reader, const json_t *value, char **ret_name)
{
    const char *text = NULL;
    int r = document_text(reader, value, NODE_TEXT_MAX, &text);

    if (r < 0)
        return r;
    if (!node_name_valid(text)) {
        (void)document_refuse(reader, "\"%.*s\" cannot be the name of a node",
                              printable_prefix(text, 80), text);
        (void)edl_error_remedy(reader->error, NODE_NAME_RULE "; edl nodes lists them");
        return EDL_EBADSPEC;
    }
    *ret_name = xstrdup(text);
    return 0;
}

int role_draft_finish_nodes(struct document_reader *reader, const struct role_draft *draft,
                            struct role_spec *role)
{
    size_t n = json_array_size(draft->nodes);

    if (draft->nodes == NULL)
        return 0;
    if (n == 0 || n > ROLE_INSTANCES_MAX) {
        char text[80];

        (void)snprintf(text, sizeof text, "1 to %d names of nodes are expected, found %zu",
                       ROLE_INSTANCES_MAX, n);
        (void)role_draft_refuse(reader, draft, "nodes", text);
        return edl_error_remedy(reader->error, "name one node for each instance, or leave nodes "
                                               "out: then they run where there is room");
    }
    role->nodes = xcalloc(n + 1, sizeof *role->nodes);
    (void)snprintf(reader->pointer, sizeof reader->pointer, "%s/nodes", draft->pointer);
    for (size_t i = 0; i < n; i++) {
        size_t length = document_enter_index(reader, i);
        int r = read_node(reader, json_array_get(draft->nodes, i), &role->nodes[i]);

        if (r < 0)
            return r;
        role->n_nodes++;
        document_leave(reader, length);
    }
    return 0;
}

int role_draft_check_nodes(struct document_reader *reader, const struct role_draft *draft,
                           const struct role_spec *role)
{
    const char *key = role->min > role->n_nodes ? draft->keys->min : draft->keys->max;
    char text[160];

    if (role->nodes == NULL)
        return 0;
    if (role->max > role->n_nodes) {
        (void)snprintf(text, sizeof text,
                       "%s has %" PRIu32 " node%s for %" PRIu32 " instance%s: each runs on its own",
                       draft->name, role->n_nodes, PLURAL(role->n_nodes), role->max,
                       PLURAL(role->max));
        (void)role_draft_refuse(reader, draft, key, text);
        return edl_error_remedy(reader->error,
                                "make %s at most %" PRIu32 ", or name more nodes (a name may be "
                                "there twice)",
                                key, role->n_nodes);
    }
    if (streq(role->name, "pserver") && role->max != role->min) {
        (void)role_draft_refuse(reader, draft, key,
                                "parameter servers whose nodes are named have one number");
        return edl_error_remedy(reader->error, "make %s %" PRIu32 ", or leave nodes out", key,
                                role->min);
    }
    return 0;
}

/* Every role that names an archive names the same: there is one folder. */
static int check_archive(struct document_reader *reader, const struct job_draft *draft,
                         const struct job_spec *spec)
{
    const char *archive = NULL;

    for (size_t i = 0; i < spec->n_roles; i++) {
        const char *workspace = spec->roles[i].workspace;

        if (!workspace_is_kept(workspace))
            continue;
        if (archive != NULL && !streq(archive, workspace)) {
            (void)job_draft_refuse(reader, draft, "workspace-folder",
                                   "its roles name two archives, and there is one folder");
            return edl_error_remedy(reader->error, "give every role the same workspace, or leave "
                                                   "workspace-folder out");
        }
        archive = workspace;
    }
    if (archive != NULL)
        return 0;
    (void)job_draft_refuse(reader, draft, "workspace-folder",
                           "no role has an archive that could be unpacked there");
    return edl_error_remedy(reader->error,
                            "add workspace: sha256:... to a role (edl submit --upload FOLDER), or "
                            "leave workspace-folder out");
}

int job_draft_finish_workspace_folder(struct document_reader *reader, const struct job_draft *draft,
                                      struct job_spec *spec)
{
    const char *wrong =
        draft->workspace_folder != NULL ? shared_folder_wrong(draft->workspace_folder) : NULL;

    if (draft->workspace_folder == NULL)
        return 0;
    if (wrong != NULL) {
        (void)job_draft_refuse(reader, draft, "workspace-folder", wrong);
        return edl_error_remedy(reader->error,
                                "write the whole path, as /home/ann/"
                                "%s",
                                spec->name);
    }
    spec->workspace_folder = xstrdup(draft->workspace_folder);
    return check_archive(reader, draft, spec);
}
