/* SPDX-License-Identifier: Apache-2.0 */
/* open_files.h - how many files the agent may open, and their uses: most are kept for starts,
 * processes and reports, with any number of calls at EDL_SOCKET */
#pragma once

#include "agent/link/proxy.h"

/* open_files_raise - to the hard limit, for this process; once, before anything is opened
 * What it starts gets the limit that it was started with (open_files_lend, open_files_resume around
 * each start): programs that count files with select(2) rely on it. */
void open_files_raise(void);
void open_files_lend(void);
void open_files_resume(void);

/* open_files_share - what is EDL_SOCKET's: three in eight */
struct proxy_limits open_files_share(void);
