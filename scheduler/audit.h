/* SPDX-License-Identifier: Apache-2.0 */
/* audit.h - who changed what: every change that people make, stored with the change itself */
#pragma once

struct held;
struct scheduler;

/* audit_take - held tells of a change that was made: if a person asked for it, the turn stores that
 * beside it */
void audit_take(struct scheduler *scheduler, const struct held *held, unsigned status);
