/* SPDX-License-Identifier: Apache-2.0 */
/* orders_max.h - of how many processes a node is told at most, for agent and scheduler */
#pragma once

#define ORDERS_MAX 4096U /* more is not an order but a mistake: its agent follows none of it */
