/* SPDX-License-Identifier: Apache-2.0 */
/* order_workspace.c - see order_workspace.h */
#include "agent/workspace/order_workspace.h"

#include "shared/error.h"
#include "shared/json_read.h"
#include "shared/printable.h"
#include "shared/shared_folder.h"
#include "shared/workspace_id.h"

const char *order_shared_folder(const json_t *order)
{
    return shared_folder_of(json_text(order, "workspace"));
}

const char *order_archive(const json_t *order)
{
    const char *name =
        json_text(order, order_shared_folder(order) != NULL ? "archive" : "workspace");

    return workspace_hash(name) != NULL ? name : NULL;
}

int order_workspace_check(const json_t *order, struct edl_error *error)
{
    const char *workspace = json_text(order, "workspace");
    const char *folder = order_shared_folder(order);
    const char *wrong = folder != NULL ? shared_folder_wrong(folder) : NULL;

    if (wrong != NULL)
        return edl_error_set(error, EDL_EBADSPEC, "workspace-folder '%.*s': %s",
                             printable_prefix(folder, 80), folder, wrong);
    if (folder != NULL && order_archive(order) == NULL)
        return edl_error_set(error, EDL_EBADSPEC, "the order names no archive for %.*s",
                             printable_prefix(folder, 80), folder);
    if (folder == NULL && workspace[0] != '\0' && workspace[0] != '/' &&
        order_archive(order) == NULL)
        return edl_error_set(error, EDL_EBADSPEC, "the workspace '%s' is not an absolute path",
                             workspace);
    return 0;
}
