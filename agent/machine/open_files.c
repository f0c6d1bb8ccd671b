/* SPDX-License-Identifier: Apache-2.0 */
/* open_files.c - see open_files.h */
#include "agent/machine/open_files.h"

#include <sys/resource.h>

#include "shared/http_client.h"
#include "shared/log.h"
#include "shared/macro.h"

enum {
    CONNECTIONS_SHARE = 4, /* of all files, for connections of EDL_SOCKET */
    CALLS_SHARE = 8,       /* and for those to the scheduler that carry their calls */
    CONNECTIONS_MOST = 4096,
    CALLS_MOST = HTTP_ASYNC_CONNECTIONS - 64, /* beside them: logs, archives */
    FEW_FILES = 1024,
};

static rlim_t given; /* the soft limit that the agent was started with; 0: it was not raised */

static void set_soft(rlim_t files)
{
    struct rlimit limit;

    if (given == 0 || getrlimit(RLIMIT_NOFILE, &limit) == -1)
        return;
    limit.rlim_cur = MIN_OF(files, limit.rlim_max);
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

void open_files_raise(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == -1)
        return;
    given = limit.rlim_cur;
    open_files_resume();
    if (limit.rlim_max < FEW_FILES)
        log_warning("only %llu files may be open: a process takes about five (ulimit -Hn)",
                    (unsigned long long)limit.rlim_max);
}

void open_files_lend(void)
{
    set_soft(given);
}

void open_files_resume(void)
{
    set_soft(RLIM_INFINITY);
}

struct proxy_limits open_files_share(void)
{
    struct rlimit limit = { FEW_FILES, FEW_FILES };

    (void)getrlimit(RLIMIT_NOFILE, &limit);
    return (struct proxy_limits){
        .connections = (unsigned)MIN_OF(limit.rlim_cur / CONNECTIONS_SHARE, CONNECTIONS_MOST),
        .calls = (unsigned)MIN_OF(limit.rlim_cur / CALLS_SHARE, CALLS_MOST),
    };
}
