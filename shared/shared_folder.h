/* SPDX-License-Identifier: Apache-2.0 */
/* shared_folder.h - `workspace-folder` of a job: the folder of each node that holds its workspace,
 * one for all processes of the job there
 *
 * The path comes from a job document, which the scheduler checks, and from an order, which the
 * agent does not trust. An order says so in its `workspace`, with a prefix that makes an agent of
 * the version before refuse it: that one would unpack a copy for each process. Tests:
 * tests/unit/test_document_refused.c, tests/unit/test_unpacker.c. */
#pragma once

#define SHARED_FOLDER_PREFIX "workspace-folder:"
#define SHARED_FOLDER_MAX                                                                          \
    1024 /* bytes: the name of a temporary folder beside it has to fit, too                        \
          */

/* shared_folder_wrong - why a job cannot have its workspace there, as a sentence; NULL: it can. An
 * absolute path of plain names, without control characters */
const char *shared_folder_wrong(const char *path);

/* shared_folder_of - the path in the `workspace` of an order; NULL: it is none such. Text may be
 * NULL
 */
const char *shared_folder_of(const char *workspace);
