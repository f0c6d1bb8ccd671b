/* SPDX-License-Identifier: Apache-2.0 */
/* machine_id.h - the marks by which the scheduler tells machines apart */
#pragma once

#define MACHINE_ID_SIZE 33

/* machine_id - made from /etc/machine-id, which must not leave the machine (machine-id(5)): the
 * same for the same one, and no way back. "" when there is none. */
void machine_id(char ret[MACHINE_ID_SIZE]);
