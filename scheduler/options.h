/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - edl-scheduler's command line */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct edl_error;
struct policy;

struct scheduler_options {
    char state_dir[4096 - 64]; /* room for a file name behind it */
    char port_file[4096];
    char listen_address[64]; /* numeric, loopback */
    uint16_t listen_port;    /* 0: any */
    const struct policy *policy;
    uint32_t max_load_permille;
    uint64_t lease_us;
};

/* options_parse - fills *ret from argv
 * *ret_done: --help or --version was asked for and printed. Errors: -EINVAL with remedy. */
int options_parse(int argc, char **argv, struct scheduler_options *ret, bool *ret_done,
                  struct edl_error *error);

/* options_listen - "127.0.0.1:7010", "[::1]:0", "localhost:7010"; refuses whatever is not loopback
 */
int options_listen(const char *text, struct scheduler_options *options, struct edl_error *error);
