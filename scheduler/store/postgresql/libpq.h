/* SPDX-License-Identifier: Apache-2.0 */
/* libpq.h - the functions of libpq, found when the first database is opened
 *
 * Most schedulers keep their state in SQLite, so the program is not linked with libpq: its package
 * has that as a dependency, and the scheduler's has not.
 *
 * Used by: the files of this folder only. */
#pragma once

#if __has_include(<libpq-fe.h>)
#include <libpq-fe.h>
#else
#include <postgresql/libpq-fe.h> /* Debian */
#endif

struct edl_error;

#define LIBPQ_FUNCTIONS(XX)                                                                        \
    XX(PQbackendPID)                                                                               \
    XX(PQclear)                                                                                    \
    XX(PQcmdTuples)                                                                                \
    XX(PQconninfoFree)                                                                             \
    XX(PQconninfoParse)                                                                            \
    XX(PQconnectPoll)                                                                              \
    XX(PQconnectStartParams)                                                                       \
    XX(PQconnectionNeedsPassword)                                                                  \
    XX(PQconsumeInput)                                                                             \
    XX(PQdb)                                                                                       \
    XX(PQenterPipelineMode)                                                                        \
    XX(PQerrorMessage)                                                                             \
    XX(PQexitPipelineMode)                                                                         \
    XX(PQfinish)                                                                                   \
    XX(PQflush)                                                                                    \
    XX(PQfname)                                                                                    \
    XX(PQfreemem)                                                                                  \
    XX(PQgetCopyData)                                                                              \
    XX(PQgetisnull)                                                                                \
    XX(PQgetResult)                                                                                \
    XX(PQgetvalue)                                                                                 \
    XX(PQhost)                                                                                     \
    XX(PQisBusy)                                                                                   \
    XX(PQntuples)                                                                                  \
    XX(PQpingParams)                                                                               \
    XX(PQpipelineSync)                                                                             \
    XX(PQputCopyData)                                                                              \
    XX(PQputCopyEnd)                                                                               \
    XX(PQresultErrorField)                                                                         \
    XX(PQresultStatus)                                                                             \
    XX(PQsendFlushRequest)                                                                         \
    XX(PQsendPrepare)                                                                              \
    XX(PQsendQuery)                                                                                \
    XX(PQsendQueryParams)                                                                          \
    XX(PQsendQueryPrepared)                                                                        \
    XX(PQserverVersion)                                                                            \
    XX(PQsetErrorVerbosity)                                                                        \
    XX(PQsetnonblocking)                                                                           \
    XX(PQsetNoticeReceiver)                                                                        \
    XX(PQsocket)                                                                                   \
    XX(PQstatus)                                                                                   \
    XX(PQuser)

struct libpq {
#define XX(name) __typeof__(&(name)) name;
    LIBPQ_FUNCTIONS(XX)
#undef XX
};

/* of libpq_load */
extern struct libpq libpq;

/* libpq_load - from any thread; once it has returned 0 the functions can be called. -ENOENT: it is
 * not installed */
int libpq_load(struct edl_error *error);
