/* SPDX-License-Identifier: Apache-2.0 */
/* gather_drop_ins.c - what lies in the folders of prolog and epilog */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/doctor/gather.h"
#include "agent/drop_ins/drop_in_folder.h"
#include "shared/cleanup.h"
#include "shared/text_format.h"

static void append(char *text, size_t size, const char *name)
{
    size_t used = strlen(text);

    (void)snprintf(text + used, size - used, "%s%s", used > 0 ? " " : "", name);
}

/* look - at one that would run */
static void look(struct drop_in_facts *ret, const char *name)
{
    _cleanup_free_ char *path = text_format("%s/%s", ret->path, name);

    if (!drop_in_is_program(path)) {
        append(ret->ignored, sizeof ret->ignored, name);
        return;
    }
    append(ret->names, sizeof ret->names, name);
    ret->n++;
    if (geteuid() == 0 && ret->fault.code == 0)
        (void)drop_in_check_trust(path, &ret->fault);
}

void gather_drop_ins(const struct doctor_context *context, struct doctor_facts *all)
{
    for (unsigned kind = 0; kind < DROP_IN_KINDS; kind++) {
        struct drop_in_facts *ret = &all->drop_ins[kind];
        struct drop_in_folder folder;

        (void)snprintf(ret->path, sizeof ret->path, "%s",
                       drop_in_folder_path(context->options, (enum drop_in_kind)kind));
        (void)drop_in_folder_read(ret->path, &folder, &ret->fault);
        for (size_t i = 0; i < folder.n; i++)
            look(ret, folder.names[i]);
        for (size_t i = 0; i < folder.n_ignored; i++)
            append(ret->ignored, sizeof ret->ignored, folder.ignored[i]);
        drop_in_folder_done(&folder);
    }
}
