/* SPDX-License-Identifier: Apache-2.0 */
/* late_qhull.c - the functions of libqhull_r that `edl` calls (see late_library.h) */
#include <libqhull_r/libqhull_r.h>

#include "shared/late_library.h"

static struct late_library qhull = { .name = LIBQHULL_SONAME };

void qh_zero(qhT *qh, FILE *errfile)
{
    LATE(qhull, qh_zero)(qh, errfile);
}

int qh_new_qhull(qhT *qh, int dim, int numpoints, coordT *points, boolT ismalloc, char *qhull_cmd,
                 FILE *outfile, FILE *errfile)
{
    return LATE(qhull, qh_new_qhull)(qh, dim, numpoints, points, ismalloc, qhull_cmd, outfile,
                                     errfile);
}

int qh_pointid(qhT *qh, pointT *point)
{
    return LATE(qhull, qh_pointid)(qh, point);
}

int qh_setsize(qhT *qh, setT *set)
{
    return LATE(qhull, qh_setsize)(qh, set);
}

void qh_freeqhull(qhT *qh, boolT allmem)
{
    LATE(qhull, qh_freeqhull)(qh, allmem);
}

void qh_memfreeshort(qhT *qh, int *curlong, int *totlong)
{
    LATE(qhull, qh_memfreeshort)(qh, curlong, totlong);
}
