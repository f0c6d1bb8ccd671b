/* SPDX-License-Identifier: Apache-2.0 */
/* secret_source.c - from where a server or a trainer knows the secret of its job */
#include "trainer/exchange/secret_source.h"

#include <errno.h>
#include <string.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/hex.h"
#include "shared/macro.h"
#include "shared/whole_file.h"
#include "trainer/exchange/job_api.h"

#define SECRET_WAIT_US (300 * USEC_PER_SEC) /* for the scheduler to answer */

static int read_secret_file(const char *path, uint8_t ret[JOB_SECRET_BYTES],
                            struct edl_error *error)
{
    _cleanup_free_ char *text = NULL;
    int r = whole_file_read(path, true, &text, error);

    if (r < 0)
        return r;
    text[strcspn(text, "\n")] = '\0';
    r = hex_decode(text, JOB_SECRET_BYTES, ret);
    explicit_bzero(text, strlen(text));
    if (r == 0 && job_secret_is_set(ret))
        return 0;
    (void)edl_error_set(error, -EINVAL, "%s does not hold a secret: 64 hexadecimal digits", path);
    return edl_error_remedy(error, "make one: (umask 077; openssl rand -hex 32 >%s)", path);
}

static int ask_secret(const char *socket_path, uint8_t ret[JOB_SECRET_BYTES],
                      struct edl_error *error)
{
    struct job_api *api = NULL;
    int r = job_api_new(socket_path, SECRET_WAIT_US, NULL, &api, error);

    if (r >= 0)
        r = job_api_secret(api, ret, error);
    (void)job_api_free(api);
    return r;
}

int secret_read(const char *file, const char *socket_path, uint8_t ret[JOB_SECRET_BYTES],
                struct edl_error *error)
{
    if (file != NULL)
        return read_secret_file(file, ret, error);
    if (socket_path != NULL)
        return ask_secret(socket_path, ret, error);
    (void)edl_error_set(error, -EINVAL, "EDL_SOCKET is not set, so nobody tells the job's secret");
    return edl_error_remedy(error, "submit it as a job's pserver, or give --secret-file FILE");
}
