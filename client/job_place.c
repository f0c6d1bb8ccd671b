/* SPDX-License-Identifier: Apache-2.0 */
/* job_place.c - see job_place.h */
#include "client/job_place.h"

#include <inttypes.h>
#include <unistd.h>

#include "client/job_folder.h"
#include "client/job_input.h"
#include "client/report.h"
#include "client/server.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/macro.h"

/* send - a folder, with the program and the script that it may run; asked: by its name */
static int send(struct server *server, const struct option_words *arguments, const char *folder,
                bool asked, struct workspace_sent *ret)
{
    const char *const wanted[WORKSPACE_WANTED_MAX] = { arguments->rest[0], arguments->n_rest > 1
                                                                               ? arguments->rest[1]
                                                                               : NULL };
    char bytes[32];
    int status;

    if (asked)
        return workspace_send_all(server, folder, wanted, ret);
    status = workspace_send_unasked(server, folder, wanted, ret);
    if (status == STATUS_OK)
        report_note("sent %s, as other nodes lack it: %" PRIu64
                    " file%s, %sB; each process runs in "
                    "a copy (--no-upload: in the folder itself)",
                    folder, ret->files, PLURAL(ret->files),
                    text_bytes(ret->bytes, bytes, sizeof bytes));
    else if (status != STATUS_NO_SERVER)
        report_note("other nodes lack %s, so it is sent to them; --upload . sends more, "
                    "--no-upload nothing, and --workspace DIR names a folder that nodes have",
                    folder);
    return status;
}

int job_place(struct server *server, const struct place_wish *wish,
              const struct option_words *arguments, struct job_options *job, struct job_placed *ret)
{
    _cleanup_free_ char *here = getcwd(NULL, 0);
    struct folder_facts facts;
    int status = STATUS_OK;

    if (wish->upload != NULL) {
        ret->upload = wish->upload;
        job->workspace = ret->sent.name;
        return send(server, arguments, wish->upload, true, &ret->sent);
    }
    if (here == NULL || wish->no_upload || job->workspace != NULL)
        return STATUS_OK;
    job_folder_look(server, here, &facts);
    ret->everywhere = !facts.elsewhere || facts.system;
    switch (job_folder_use(&facts)) {
    case FOLDER_THERE:
        break;
    case FOLDER_SENT:
        ret->upload = ".";
        job->workspace = ret->sent.name;
        status = send(server, arguments, here, false, &ret->sent);
        break;
    case FOLDER_PRIVATE:
        report_note("%s is your home folder, and not sent: each process runs in an empty folder "
                    "(--upload DIR sends a folder, --workspace DIR names one that nodes have)",
                    here);
        job->workspace = "private";
        break;
    }
    return status;
}
