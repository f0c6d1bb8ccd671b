/* SPDX-License-Identifier: Apache-2.0 */
/* identity.h - the words of an environment that tell a process of a job from all others of its node
 *
 * Every program that it starts has them, and those of sessions. They prove nothing: a program may
 * have any environment. So they count only where all processes are of one account anyway.
 *
 * Used by: session_members.c, group_use.c. Tests: tests/unit/test_idle.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct identity {
    char *words; /* owned; NAME=value, each with its end; NULL: there is none */
    size_t size;
    char *room; /* owned; for the environment of another process */
};

/* identity_take - of a process with this environment; false: it is none of a job */
bool identity_take(struct identity *identity, char *const *environment);
void identity_clear(struct identity *identity);

/* identity_has_word - whether the process has this word, "NAME=value", in its environment */
bool identity_has_word(pid_t pid, const char *word);

/* identity_is_of - whether the process has all of the words in its environment. Only one of our
 * account can be read, by an agent that is not root */
bool identity_is_of(const struct identity *identity, pid_t pid);
