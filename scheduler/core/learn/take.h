/* SPDX-License-Identifier: Apache-2.0 */
/* take.h - facts in, beliefs out */
#pragma once

struct cluster;

/* learn_take - learns from the facts of the model in their order, and forgets them. A belief that
 * became another one wants a plan (cluster->plan_wanted). Each reader of beliefs comes after it:
 * the root calls it before a plan and before it hands effects out, a plan after each start. O(1)
 * when nothing happened */
void learn_take(struct cluster *cluster);
