/* SPDX-License-Identifier: Apache-2.0 */
/* slot_view.c - see slot_view.h */
#include "agent/core/slot_view.h"

#include "shared/macro.h"

void slot_view_make_room(struct slot_view *view, size_t n)
{
    if (view->room >= n)
        return;
    view->room = MAX_OF(n, 2 * view->room);
    view->orders = xreallocarray(view->orders, view->room, sizeof *view->orders);
    view->idx_orders = xreallocarray(view->idx_orders, view->room, sizeof *view->idx_orders);
    view->processes = xreallocarray(view->processes, view->room, sizeof *view->processes);
    view->units = xreallocarray(view->units, view->room, sizeof *view->units);
    view->actions = xreallocarray(view->actions, view->room, sizeof *view->actions);
}

void slot_view_clear(struct slot_view *view)
{
    free(view->orders);
    free(view->idx_orders);
    free(view->processes);
    free(view->units);
    free(view->actions);
}
