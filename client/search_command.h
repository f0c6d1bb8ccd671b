/* SPDX-License-Identifier: Apache-2.0 */
/* search_command.h - a trial's values in the words of its command
 *
 * {lr} stands for the value of the parameter lr, {trial}, {rung} and {resource} for numbers of the
 * trial. {{ is a brace; ${lr} is the shell's. A word with a parameter that is not active is left
 * out, and an option before it as well when that word is nothing but the parameter: `--momentum
 * {momentum}`. Tests: tests/unit/test_search_space.c. */
#pragma once

#include <stdint.h>

struct edl_error;
struct search_action;
struct search_space;

/* search_command_check - EDL_EBADSPEC with remedy: a word names no parameter
 *
 * *ret_unused: a bit for each parameter of the space that no word names. */
int search_command_check(const struct search_space *space, char *const *words, uint64_t *ret_unused,
                         struct edl_error *error);

/* search_command - the words of one trial, ended by NULL, each a new text; the words were checked
 *
 * action: its number, rung and resource count. values: n_parameters. */
char **search_command(const struct search_space *space, char *const *words,
                      const struct search_action *action, const double *values);

/* search_command_free - returns NULL */
char **search_command_free(char **words);
