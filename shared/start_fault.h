/* SPDX-License-Identifier: Apache-2.0 */
/* start_fault.h - whose fault it is that a process could not be started: said by its agent, with
 * the process's end, and decided by: a job's bad wish never counts against a node.
 *
 * A thing that a node lacks and a job asks for (an account, a folder) is told apart, in unfit.h.
 * Used by: agent, scheduler, simulator. Tests: tests/unit/test_start_faults.c. */
#pragma once

enum start_fault {
    START_FAULT_NONE,    /* its program ran, or the end has another cause */
    START_FAULT_JOB,     /* what the job asks for: every node would refuse it */
    START_FAULT_NODE,    /* the node's own: another node may well start it */
    START_FAULT_DISK,    /* likewise: a disk of the node is full */
    START_FAULT_PLACE,   /* nobody's: the node is not as it was when the place was given (a GPU is
                            held by others, it offers less, its lease was over) */
    START_FAULT_PROGRAM, /* the node's or the job's: the program, or its interpreter, is not there
                            or may not be executed. Another node tells which */
    _START_FAULTS
};

/* start_fault_to_string - "node"; "" for START_FAULT_NONE */
const char *start_fault_to_string(enum start_fault fault);

/* start_fault_from_string - what an agent says. word NULL or "": an agent of the version before,
 * which says it with the first words of the reason only: then it is the node's. A word of a later
 * version: START_FAULT_NONE. reason may be NULL */
enum start_fault start_fault_from_string(const char *word, const char *reason);

/* start_fault_of_error - by the code of what went wrong before its program ran: EDL_EBADSPEC, the
 * job's; -ECANCELED, nobody's: it was to stop; -ENOSPC and -EDQUOT (an account's share of a disk is
 * full), the disk's; any other one the node's */
enum start_fault start_fault_of_error(int code);

/* start_fault_of_exec - by the code of execve(2): a command line that no kernel takes is the job's,
 * a lack of the machine the node's, any other one START_FAULT_PROGRAM */
enum start_fault start_fault_of_exec(int code);
