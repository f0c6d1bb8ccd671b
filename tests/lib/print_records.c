/* SPDX-License-Identifier: Apache-2.0 */
/* print_records.c - each record of a data set as "PASS RECORD", for
 * tests/integration/319-records-c.sh
 *
 * A full pipe behind it stops it in the middle of a task. Exit status: 0 all passes are done. */
#include <edl/edl.h>

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    struct edl_client *edl = NULL;
    struct edl_records *records;
    const void *record = NULL;
    size_t size = 0;
    int r;

    (void)edl_client_new(NULL, &edl);
    (void)edl_records_open(edl, argc > 1 ? argv[1] : NULL, EDL_RECORD_AUTO, 2, &records);
    while ((r = edl_records_next(records, &record, &size)) == EDL_RECORD ||
           r == EDL_RECORD_PASS_END)
        if (r == EDL_RECORD && (printf("%llu %.*s\n", (unsigned long long)edl_records_pass(records),
                                       (int)size, (const char *)record) < 0 ||
                                fflush(stdout) != 0))
            return 1;
    if (r < 0)
        (void)fprintf(stderr, "%s\n", edl_records_error(records));
    if (r == EDL_RECORD_SAVE_MODEL)
        r = edl_model_saved(edl, "nothing");
    edl_records_close(records);
    edl_client_free(edl);
    return r < 0;
}
