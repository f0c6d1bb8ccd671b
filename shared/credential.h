/* SPDX-License-Identifier: Apache-2.0 */
/* credential.h - secrets that the service manager passes to a service (systemd.exec(5),
 * LoadCredential=) */
#pragma once

/* credential_path - the file of a credential; NULL: it was not passed. The caller frees it */
char *credential_path(const char *name);
