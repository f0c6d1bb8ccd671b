/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_program_askpass.c - how the program ssh gets a password: from a program of ours, through a
 * pipe
 *
 * ssh closes all descriptors but three, and takes no password from a file or its stdin. So
 * SSH_ASKPASS names a script in the folder of the transport, and a named pipe beside it holds the
 * password. Nothing of it is written to a disk. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/ssh/ssh_program.h"
#include "shared/cleanup.h"
#include "shared/macro.h"
#include "shared/whole_file.h"

#define OWN_VARIABLES 3

/* It answers prompts for a password only: a passphrase or a code is nobody's to guess. ssh asks
 * once for each method. The pipe is taken away when it was read, so the second call fails at once.
 */
static const char askpass[] = "#!/bin/sh\n"
                              "case $1 in *assword*) ;; *) exit 1 ;; esac\n"
                              "secret=${0%/*}/secret\n"
                              "[ -p \"$secret\" ] || exit 1\n"
                              "IFS= read -r line <\"$secret\" && rm \"$secret\" || exit 1\n"
                              "printf '%s\\n' \"$line\"\n";

void ssh_program_path(const struct ssh_program *this, const char *file, char ret[PATH_MAX])
{
    (void)snprintf(ret, PATH_MAX, "%s/%s", this->dir, file);
}

bool ssh_program_askpass(struct ssh_program *this, const char *password)
{
    char path[PATH_MAX];
    _cleanup_free_ char *line = NULL;
    size_t length = strlen(password) + 1;
    bool ok;

    ssh_program_path(this, "askpass", path);
    if (whole_file_write(path, askpass, 0700, NULL) < 0)
        return false;
    ssh_program_path(this, "secret", path);
    (void)unlink(path);
    if (mkfifo(path, 0600) == -1)
        return false;
    (void)safe_close(this->secret);
    this->secret = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    line = xcalloc(length + 1, 1);
    (void)snprintf(line, length + 1, "%s\n", password);
    ok = this->secret != -1 && write(this->secret, line, length) == (ssize_t)length;
    explicit_bzero(line, length);
    return ok;
}

char **ssh_program_environment(const struct ssh_program *this)
{
    size_t n = 0, own = 0;
    char **env;

    while (environ[n] != NULL)
        n++;
    env = xcalloc(n + OWN_VARIABLES + 1, sizeof *env);
    if (asprintf(&env[own++], "SSH_ASKPASS=%s/askpass", this->dir) < 0)
        abort();
    env[own++] = xstrdup("SSH_ASKPASS_REQUIRE=force");
    env[own++] = xstrdup("DISPLAY=none"); /* older than SSH_ASKPASS_REQUIRE */
    for (size_t i = 0; i < n; i++)
        if (strncmp(environ[i], "SSH_ASKPASS", strlen("SSH_ASKPASS")) != 0 &&
            strncmp(environ[i], "DISPLAY=", strlen("DISPLAY=")) != 0)
            env[own++] = environ[i];
    return env;
}

void ssh_program_environment_free(char **env)
{
    for (size_t i = 0; i < OWN_VARIABLES; i++)
        free(env[i]);
    free(env);
}
