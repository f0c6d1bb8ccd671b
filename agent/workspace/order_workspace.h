/* SPDX-License-Identifier: Apache-2.0 */
/* order_workspace.h - where a process is to run, as its order says: a given folder, a copy of an
 * archive, one folder for all processes of its job on the node, or a private one */
#pragma once

#include <jansson.h>

struct edl_error;

/* order_workspace_check - EDL_EBADSPEC for what no node would take */
int order_workspace_check(const json_t *order, struct edl_error *error);

/* order_archive - the name of the archive that is unpacked for it, sha256:DIGITS; NULL: none is.
 * Borrowed, as is: order_shared_folder - the folder that it is unpacked into once; NULL: a copy of
 * its own */
const char *order_archive(const json_t *order);
const char *order_shared_folder(const json_t *order);
