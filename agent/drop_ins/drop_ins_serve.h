/* SPDX-License-Identifier: Apache-2.0 */
/* drop_ins_serve.h - edl-supervisor --drop-ins: runs the prolog or the epilog of one job
 *
 * The agent keeps such a one for each run, as a child or as a unit (drop_in_runs.h). Both talk over
 * a socket (SOCK_SEQPACKET) on its standard input, one message each:
 *
 *     agent -> {kind, job_id, job, gpus, node, folder, visit_dir, failed_path, timeout_us, account}
 *     agent <- {"reason": ""}     "" it ended well; else why not
 *
 * Without an answer it was cut off: the agent's end of the socket was closed. Then nothing of the
 * run is left, and it is begun anew when it is wanted. */
#pragma once

#define DROP_INS_DOCUMENT_MAX (256 * 1024)

/* drop_ins_serve - exit status of the program; fd: its end of the socket */
int drop_ins_serve(int fd);
