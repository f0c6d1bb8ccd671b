/* SPDX-License-Identifier: Apache-2.0 */
/* job_folder.c - what becomes of the folder in which a command was submitted
 *
 * A folder on a disk of this machine is on no other one, unless this machine exports it. So it is
 * sent where another machine may run the job. Nobody wants a home folder to be sent with all that
 * is in it, and the folders of the system are everywhere. */
#include "client/job_folder.h"

#include <limits.h>
#include <netdb.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/json_read.h"
#include "client/server.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/file_system.h"
#include "shared/macro.h"
#include "shared/own_address.h"

#define EXPORTS "/var/lib/nfs/etab" /* what exportfs(8) keeps */

enum folder_use job_folder_use(const struct folder_facts *facts)
{
    if (!facts->elsewhere || facts->shared || facts->system)
        return FOLDER_THERE;
    if (facts->home)
        return FOLDER_PRIVATE;
    return facts->own ? FOLDER_SENT : FOLDER_THERE;
}

/* is_below - a folder, or one somewhere in it */
static bool is_below(const char *path, const char *folder)
{
    size_t n = strlen(folder);

    while (n > 0 && folder[n - 1] == '/')
        n--;
    return strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

bool job_folder_is_system(const char *folder)
{
    static const char *const folders[] = { "/bin",  "/boot", "/dev",  "/etc", "/lib", "/lib64",
                                           "/proc", "/run",  "/sbin", "/sys", "/usr", "/var" };

    for (size_t i = 0; i < ELEMENTS(folders); i++)
        if (is_below(folder, folders[i]))
            return true;
    return streq(folder, "/");
}

/* unescape - "\040" is how a table of mounts or exports writes a blank */
static void unescape(char *text)
{
    char *to = text;

    for (const char *from = text; *from != '\0'; to++) {
        unsigned code;

        if (from[0] == '\\' && sscanf(from + 1, "%3o", &code) == 1 && code > 0 && code <= 0377) {
            *to = (char)code;
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

bool job_folder_exported(FILE *etab, const char *folder)
{
    _cleanup_free_ char *line = NULL;
    size_t room = 0;

    while (getline(&line, &room, etab) > 0) {
        line[strcspn(line, " \t\n")] = '\0';
        if (line[0] != '/')
            continue;
        unescape(line);
        if (is_below(folder, line))
            return true;
    }
    return false;
}

bool job_folder_is_shared(const char *folder)
{
    _cleanup_fclose_ FILE *etab = fopen(EXPORTS, "re");
    struct file_system fs;

    /* one that is not here at all is none of ours: whoever names it knows where it is */
    return file_system_look(folder, &fs) < 0 || fs.network != NULL ||
           (etab != NULL && job_folder_exported(etab, folder));
}

static bool is_loopback(const char *host)
{
    return strncmp(host, "127.", 4) == 0 || streq(host, "::1") || streq(host, "localhost");
}

bool job_folder_is_here(const char *address)
{
    char name[HOST_NAME_MAX + 1] = "", interface[IF_NAMESIZE];

    return is_loopback(address) || own_interface(address, interface) ||
           (gethostname(name, sizeof name - 1) == 0 && streq(address, name));
}

/* is_named_here - a name of the DNS that leads to this machine */
static bool is_named_here(const char *name)
{
    const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    char address[NI_MAXHOST];
    bool here = false;

    if (getaddrinfo(name, NULL, &hints, &found) != 0)
        return false;
    for (const struct addrinfo *at = found; at != NULL && !here; at = at->ai_next)
        here = getnameinfo(at->ai_addr, at->ai_addrlen, address, sizeof address, NULL, 0,
                           NI_NUMERICHOST) == 0 &&
               job_folder_is_here(address);
    freeaddrinfo(found);
    return here;
}

/* is_server_here - "unix:/path", "https://localhost:7010", "https://[fd00::1]:7010" */
static bool is_server_here(const char *base)
{
    const char *host = strstr(base, "://");
    char name[256];

    if (host == NULL)
        return true;
    host += strlen("://");
    if (host[0] == '[')
        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(host + 1, "]"), host + 1);
    else
        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(host, ":/"), host);
    return job_folder_is_here(name) || is_named_here(name);
}

/* A node at 127.0.0.1 is on its scheduler's machine. */
bool job_folder_elsewhere(struct server *server)
{
    struct http_call call = { .method = "GET", .path = "/nodes?limit=16" };
    struct http_answer answer = { 0 };
    bool here = is_server_here(server->base);
    const json_t *nodes;
    bool elsewhere;
    size_t i;
    json_t *node;

    (void)server_call(server, &call, &answer);
    nodes = json_object_get(answer.json, "nodes");
    elsewhere = !here && json_array_size(nodes) == 0;
    json_array_foreach(nodes, i, node)
    {
        const char *address = json_text(node, "address");

        elsewhere = elsewhere || !job_folder_is_here(address) || (is_loopback(address) && !here);
    }
    http_answer_clear(&answer);
    return elsewhere;
}

/* look_at_home - the account's, and the one that the environment names */
static void look_at_home(const char *here, struct folder_facts *ret)
{
    const struct passwd *account = getpwuid(geteuid());
    const char *const homes[] = { account != NULL ? account->pw_dir : NULL, getenv("HOME") };

    for (size_t i = 0; i < ELEMENTS(homes); i++) {
        _cleanup_free_ char *home = homes[i] != NULL ? realpath(homes[i], NULL) : NULL;

        ret->below_home = ret->below_home || (home != NULL && is_below(here, home));
        if (home == NULL || !is_below(home, here))
            continue;
        if (streq(home, here))
            ret->home = true;
        else
            ret->system = true;
    }
}

void job_folder_look(struct server *server, const char *here, struct folder_facts *ret)
{
    struct stat st;

    *ret = (struct folder_facts){ .shared = job_folder_is_shared(here) };
    if (ret->shared)
        return;
    look_at_home(here, ret);
    ret->own = stat(here, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & S_IWOTH) == 0;
    /* some homes are below /var: what lies in them is nobody else's */
    ret->system = ret->system || (!(ret->own && ret->below_home) && job_folder_is_system(here));
    ret->elsewhere = job_folder_elsewhere(server);
}
