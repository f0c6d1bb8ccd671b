/* SPDX-License-Identifier: Apache-2.0 */
/* planned.h - the memory that plans have of a job; a restart forgets it */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/base/resources.h"
#include "scheduler/core/speed/servers.h"

struct job;
struct placed;

struct planned {
    struct job *class_next, *class_prev; /* queue_class->jobs, by turn */
    struct placed *places; /* where: the places that it is promised again if they can be; owned */
    size_t n_places;
    struct placed *reserved; /* of a started job: the places of its lacking instances; owned */
    size_t n_reserved;
    uint8_t fits_ever; /* enum queue_fit: on empty nodes, which offer what they did in: */
    uint64_t fits_version;
    bool told;               /* it is in planner->told */
    bool held_back;          /* the room is there but for the load of stopping processes */
    bool drain_stays;        /* the finding of drain_pass: nobody stands in for a leaving process */
    uint32_t before;         /* so many of its class come before it */
    uint64_t drain_pass;     /* the last one that looked at it */
    uint64_t stuck_since_us; /* it lacks its minimum and no room can be made; 0: not so */
    struct resources lack;   /* its part of the requests that are not granted */
    struct resources given;  /* the grants of instances that it gives up, as the policy was told */
    struct goodput_servers servers; /* those that it is promised */
};

/* planned_of - to change it; new if there is none. planned_is - to read it */
struct planned *planned_of(struct job *job);
const struct planned *planned_is(const struct job *job);

/* plan_forget_places - where room was being made for it
 * planned_free - all that is remembered of it */
void plan_forget_places(struct job *job);
void planned_free(struct job *job);
