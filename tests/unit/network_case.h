/* SPDX-License-Identifier: Apache-2.0 */
/* network_case.h - networks for tests: from a text, or one of those that ship */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "trainer/network/network.h"

/* network_of - the network of a text, which must be one; for network_free */
struct network *network_of(const char *text);
/* network_shipped - conf/models/NAME.json with arguments "depth=8 width=16", NULL: its own */
struct network *network_shipped(const char *name, const char *arguments);
/* network_refusal - the text that network_parse refuses this with; static */
const char *network_refusal(const char *text, struct edl_error *ret);
/* param_of - a parameter by its name; the test fails when there is none */
uint32_t param_of(const struct network *network, const char *name);
