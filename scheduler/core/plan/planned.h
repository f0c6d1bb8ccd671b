/* SPDX-License-Identifier: Apache-2.0 */
/* planned.h - the memory that plans have of a job; a restart forgets it */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/base/deadline.h"
#include "scheduler/core/base/resources.h"
#include "scheduler/core/plan/owner_room.h"
#include "scheduler/core/speed/servers.h"

struct job;
struct placed;
struct process;
struct queue_class;

/* The last reason of a waiting job, so that it is told again only when that changes. */
enum queue_verdict {
    VERDICT_NONE,
    VERDICT_BEHIND,    /* others that ask for the same wait before it */
    VERDICT_DEEP,      /* too many others wait before it */
    VERDICT_WAITS,     /* it does not fit now */
    VERDICT_PROMISED,  /* room is being made for it */
    VERDICT_HELD,      /* nodes are kept for it until the processes there have ended */
    VERDICT_YIELDS,    /* it finds room only on nodes that are kept for one before it */
    VERDICT_OVER_LOAD, /* the room is there but for the load of stopping processes in it */
    VERDICT_UNPACKED,  /* no order was found in which it fits these nodes */
    VERDICT_OWNER,     /* its user or group holds as much as they may */
    VERDICT_ARRAY,     /* so many jobs of its array run as may at once */
    VERDICT_NO_NODES,
    VERDICT_NEVER
};

struct planned {
    struct job *job; /* whose it is */
    /* where it stands, while the job is of this filing (model/waiting.h) */
    uint32_t filing;
    enum queue_verdict verdict;
    bool promised; /* room is being made for its gang */
    bool told;     /* it is in planner->told */
    bool lacking;  /* it is started and has less than it must have */
    bool known_to_policy;
    bool held_back;    /* the room is there but for the load of stopping processes */
    bool drain_stays;  /* the finding of drain_pass: nobody stands in for a leaving process */
    uint8_t fits_ever; /* enum queue_fit: on empty nodes, which offer what they did in: */
    uint64_t fits_version;
    struct queue_class *class; /* the waiting jobs that ask for the same; NULL: not queued */
    struct job *class_next, *class_prev; /* class->jobs, by turn */
    struct job *lacking_next, *lacking_prev;
    struct placed *places; /* where: the places that it is promised again if they can be; owned */
    size_t n_places;
    struct placed *reserved; /* of a started job: the places of its lacking instances; owned */
    size_t n_reserved;
    uint32_t before;       /* so many of its class come before it */
    uint32_t surplus;      /* how many of its instances could be shrunk away */
    uint32_t yield_role;   /* 1 + the role of which these are; 0: none */
    uint32_t owner_growth; /* so many more instances its owners may hold, as the policy was told */
    uint32_t marked;       /* victims of a search */
    bool moving;           /* an instance was stopped to move, and its slot is not free yet */
    uint32_t in_vain;  /* moves in a row off one node, to which it came back; exchanges, likewise */
    uint64_t moved_us; /* when an instance was moved; 0: never */
    uint64_t moved_off;        /* digest of the name of its node */
    uint64_t drain_pass;       /* the last one that looked at it */
    uint64_t stuck_since_us;   /* it lacks its minimum and no room can be made; 0: not so */
    uint64_t servers_until_us; /* others were asked to give way for more parameter servers, once,
                                * and are waited for until then; 0: they were not */
    struct deadline rest;  /* the policy moved it: until then it gives and takes nothing (grow.c) */
    struct resources lack; /* its part of the requests that are not granted */
    struct resources given; /* the grants of instances that it gives up, as the policy was told */
    struct resources used;  /* its part of the group's sum; nothing when there are no groups */
    struct resources owner_parts[OWNER_SUMS]; /* of the sums of its owners; nothing: likewise */
    uint64_t array_key; /* its part of the counts of its array (array_room.h) */
    bool array_now, array_later;
    struct goodput_servers servers; /* those that it is promised */
};

/* planned_of - to change it; new if there is none. planned_is - to read it */
struct planned *planned_of(struct job *job);
const struct planned *planned_is(const struct job *job);

/* planned_verdict, planned_promised - where it stands, since it came to wait
 * planned_yields - its job could do without it: that is above its minimum */
enum queue_verdict planned_verdict(const struct job *job);
bool planned_promised(const struct job *job);
bool planned_yields(const struct process *process);

/* planned_tell, planned_promise - the same, changed
 * planned_set - one of its marks: a job with such a mark is not archived. planned_set_class - the
 * same for the class that it is in */
void planned_tell(struct job *job, enum queue_verdict verdict);
void planned_promise(struct job *job, bool promised);
void planned_set(struct job *job, bool *mark, bool is);
void planned_set_class(struct job *job, struct queue_class *class);

/* plan_forget_places - where room was being made for it
 * planned_free - all that is remembered of it */
void plan_forget_places(struct job *job);
void planned_free(struct job *job);
