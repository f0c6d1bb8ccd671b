/* SPDX-License-Identifier: Apache-2.0 */
/* judge_drop_ins.c - whether prolog and epilog will run as their author thinks */
#include "agent/doctor/facts.h"

static void judge(const struct drop_in_facts *facts, const char *check, struct findings *ret)
{
    if (facts->fault.code != 0) {
        found_problem(ret, check, "%s: no job starts here", facts->fault.text);
        found_remedy(ret, "%s", facts->fault.remedy);
    }
    if (facts->ignored[0] != '\0') {
        found_warning(ret, check, "not run, of %s: %s", facts->path, facts->ignored);
        found_remedy(ret, "chmod a+x; a name has letters, digits, - and _ alone, as for run-parts");
    }
    if (facts->n > 0 && facts->fault.code == 0)
        found_ok(ret, check, "run for each job, in this order: %s", facts->names);
}

void judge_drop_ins(const struct doctor_facts *all, struct findings *ret)
{
    for (unsigned kind = 0; kind < DROP_IN_KINDS; kind++)
        judge(&all->drop_ins[kind], drop_in_kind_name((enum drop_in_kind)kind), ret);
}
