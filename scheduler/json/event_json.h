/* SPDX-License-Identifier: Apache-2.0 */
/* event_json.h - an event on its way out, and whether the one that is asked for is still there */
#pragma once

#include <jansson.h>
#include <stdint.h>

struct edl_error;
struct event_bounds;
struct stored_event;

/* event_to_json - new reference, never NULL */
json_t *event_to_json(const struct stored_event *event);

/* event_after_check - EDL_ECOMPACTED when the events behind revision `after` are not all there: it
 * was compacted, or the revision is of a history that was since taken back (a restored backup) */
int event_after_check(const struct event_bounds *bounds, uint64_t after, struct edl_error *error);

/* event_after_usable - where to go on instead: the `after` that misses least */
uint64_t event_after_usable(const struct event_bounds *bounds, uint64_t after);
