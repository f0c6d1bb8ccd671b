/* SPDX-License-Identifier: Apache-2.0 */
/* pollux_files.h - what the readers of an application's files share */
#pragma once

struct csv;
struct edl_error;
struct pollux_app;

#define POLLUX_BATCH_MAX 1000000000

/* pollux_csv_open - a file of the application's folder. Errors: as csv_read */
int pollux_csv_open(const struct pollux_app *app, const char *file, struct csv **ret,
                    struct edl_error *error);

/* pollux_times_read - placements.csv and scalability.csv: the curves and points of app
 * Errors: -EINVAL and what opening gives; they name file, line, column, value and remedy. A
 * configuration that is measured twice, and an exchange that takes longer than its whole step, are
 * refused: of two times nobody could say which is right, and the rest of a step cannot be negative.
 */
int pollux_times_read(struct pollux_app *app, struct edl_error *error);
