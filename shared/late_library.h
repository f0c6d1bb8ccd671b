/* SPDX-License-Identifier: Apache-2.0 */
/* late_library.h - libraries that are loaded when they are first called
 *
 * To load libcurl and libsystemd takes ten times as long as `edl submit` needs for all it does, and
 * most verbs call neither. So the program `edl` is not linked with them: late_curl.c and
 * late_systemd.c define their functions, each of which finds and calls the real one. edl-scheduler
 * calls libcurl where it becomes a standby, and never when it runs. */
#pragma once

struct late_library {
    const char *name; /* for dlopen */
    void *handle;     /* NULL: not loaded yet; never closed */
};

/* late_symbol - the address of a function. A library that cannot be loaded ends the program, as it
 * would at the start of a program that is linked with it: what is missing is said on stderr. */
void *late_symbol(struct late_library *library, const char *name);

/* LATE - the function itself, of the type that its header declares */
#define LATE(library, function) ((__typeof__(&(function)))late_symbol(&(library), #function))
