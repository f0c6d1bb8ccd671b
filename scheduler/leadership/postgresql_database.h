/* SPDX-License-Identifier: Apache-2.0 */
/* postgresql_database.h - PostgreSQL as the database that several schedulers share */
#pragma once

#include "scheduler/leadership/shared_database.h"

extern const struct shared_database postgresql_database;
