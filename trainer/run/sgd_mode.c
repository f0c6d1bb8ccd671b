/* SPDX-License-Identifier: Apache-2.0 */
/* sgd_mode.c - see sgd_mode.h */
#include "trainer/run/sgd_mode.h"

#include <errno.h>

#include "shared/error.h"

int sgd_mode_of(const struct sgd_asked *asked, enum sgd_mode *ret, struct edl_error *error)
{
    const bool local = asked->send_every > 1;
    const bool said = asked->sync || asked->async || asked->asynchronous >= 0;
    bool sync = asked->sync || (!asked->async && asked->asynchronous == 0);

    if (asked->sync && asked->async) {
        (void)edl_error_set(error, -EINVAL, "--sync and --async exclude each other");
        return edl_error_remedy(error, "leave one of them out");
    }
    if (sync && local) {
        (void)edl_error_set(error, -EINVAL,
                            "synchronous training and --num_batches_per_send_parameter exclude "
                            "each other: trainers that keep own values meet, each at its time");
        return edl_error_remedy(error, asked->sync ? "leave --sync out, or say "
                                                     "--num_batches_per_send_parameter=1"
                                                   : "say --async, or "
                                                     "--num_batches_per_send_parameter=1");
    }
    if (!said)
        sync = asked->trainers > 1 && !local;
    *ret = sync ? SGD_SYNCHRONOUS : SGD_ASYNCHRONOUS;
    return 0;
}
