/* SPDX-License-Identifier: Apache-2.0 */
/* pserver_terms.c - see pserver_terms.h */
#include "trainer/server/pserver_terms.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "shared/error.h"
#include "trainer/parameters/declaration.h"
#include "trainer/wire/wire.h"

void pserver_terms_init(struct pserver_terms *terms, const struct block_placement *ports,
                        uint32_t trainers)
{
    *terms = (struct pserver_terms){ .ports = *ports };
    agreement_add(&terms->known, &(struct agreement){ .trainers = trainers }, AGREEMENT_NOBODY);
}

static int compare_ports(const struct block_placement *here, const char *whose,
                         const struct block_placement *there, struct edl_error *error)
{
    if (here->dense_ports == there->dense_ports && here->sparse_ports == there->sparse_ports)
        return 0;
    return edl_error_set(
        error, -EINVAL,
        "--ports_num and --ports_num_for_sparse are %u and %u of this trainer, and %u and %u of "
        "%s: blocks and rows would be looked for on other servers; start all trainers and servers "
        "with the same",
        there->dense_ports, there->sparse_ports, here->dense_ports, here->sparse_ports, whose);
}

/* check_ports - trainer and server look for a block at the same port; a trainer without ports for
 * rows leaves those of the servers alone */
static int check_ports(const struct pserver_terms *terms, const struct declaration *before,
                       const struct block_placement *ports, struct edl_error *error)
{
    const bool leaves_sparse =
        ports->dense_ports == terms->ports.dense_ports && ports->sparse_ports == 0;
    int r = 0;

    if (terms->ports.dense_ports > 0 && !leaves_sparse)
        r = compare_ports(&terms->ports, "the parameter servers", ports, error);
    if (r >= 0 && before != NULL)
        r = compare_ports(&before->placement, "the first trainer", ports, error);
    return r;
}

/* check_begin - all trainers begin with start values, or all with a saved pass */
static int check_begin(const struct declaration *before, const struct declaration *declaration,
                       uint32_t trainer, struct edl_error *error)
{
    if (before == NULL || before->awaits_values == declaration->awaits_values)
        return 0;
    if (before->awaits_values > 0)
        return edl_error_set(error, -EINVAL,
                             "trainer-%u begins with start values, and the first trainer with a "
                             "saved model: give all trainers --start_pass or --init_model_path; "
                             "for a training from the beginning, restart the parameter servers",
                             trainer);
    return edl_error_set(error, -EINVAL,
                         "trainer-%u begins with a saved model (--start_pass or "
                         "--init_model_path), and the first trainer with start values: restart "
                         "the parameter servers, and give all trainers these flags or none",
                         trainer);
}

int pserver_terms_check(const struct pserver_terms *terms, const struct declaration *before,
                        const struct wire_hello *hello, const struct declaration *declaration,
                        struct edl_error *error)
{
    int r = agreement_check(&terms->known, &hello->agreement, hello->trainer, error);

    if (r >= 0)
        r = check_ports(terms, before, &declaration->placement, error);
    return r < 0 ? r : check_begin(before, declaration, hello->trainer, error);
}

void pserver_terms_add(struct pserver_terms *terms, const struct wire_hello *hello)
{
    agreement_add(&terms->known, &hello->agreement, hello->trainer);
}
