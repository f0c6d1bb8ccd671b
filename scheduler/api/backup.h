/* SPDX-License-Identifier: Apache-2.0 */
/* backup.h - GET /backup: a copy of the database, made while it is used */
#pragma once

struct scheduler;

/* backup_done - gives up one that is being made (the server is gone) */
void backup_done(struct scheduler *scheduler);
