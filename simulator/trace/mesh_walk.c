/* SPDX-License-Identifier: Apache-2.0 */
/* mesh_walk.c - the tetrahedron that a place lies in
 *
 * Points of a grid have many triangulations, and two facets that share a square may cut it along
 * different diagonals: on such a face it matters which side is asked. So that the same measurements
 * mean the same, places are looked for as SciPy does it: from the first tetrahedron uphill over the
 * lifted planes, then straight towards the place, and only when that fails through all of them. */
#include <errno.h>
#include <float.h>
#include <math.h>

#include "simulator/trace/mesh.h"
#include "simulator/trace/mesh_internal.h"

#define NEAR (100 * DBL_EPSILON)

static double weight(const struct tetrahedron *item, const double at[3], double weights[4], int k)
{
    weights[k] = 0;
    if (k < 3) {
        for (int j = 0; j < 3; j++)
            weights[k] += item->inverse[k][j] * (at[j] - item->origin[j]);
    } else {
        weights[3] = 1 - weights[0] - weights[1] - weights[2];
    }
    return weights[k];
}

static double above(const struct tetrahedron *item, const double lifted[4])
{
    double sum = item->plane[4];

    for (int i = 0; i < 4; i++)
        sum += item->plane[i] * lifted[i];
    return sum;
}

/* climb - to a facet that the lifted place lies beyond, or the nearest to that */
static uint32_t climb(const struct mesh *mesh, const double at[3])
{
    double lifted[4] = { at[0], at[1], at[2],
                         (at[0] * at[0] + at[1] * at[1] + at[2] * at[2]) * mesh->scale +
                             mesh->shift };
    double best = above(&mesh->items[0], lifted);
    uint32_t here = 0;

    for (bool moved = true; moved && best <= 0;) {
        moved = false;
        for (int k = 0; k < 4; k++) {
            uint32_t next = mesh->items[here].neighbors[k];
            double height = next != MESH_NOBODY ? above(&mesh->items[next], lifted) : best;

            if (height > best + NEAR * (1 + fabs(best))) {
                here = next;
                best = height;
                moved = true;
            }
        }
    }
    return here;
}

enum step { STEP_INSIDE, STEP_ON, STEP_OUTSIDE, STEP_LOST };

/* step - through the first face that the place lies behind */
static enum step step(const struct mesh *mesh, const double at[3], uint32_t *here,
                      double weights[4])
{
    const struct tetrahedron *item = &mesh->items[*here];
    bool inside = !item->flat;

    for (int k = 0; k < 4 && !item->flat; k++) {
        double w = weight(item, at, weights, k);

        if (w < -NEAR) {
            if (item->neighbors[k] == MESH_NOBODY)
                return STEP_OUTSIDE;
            *here = item->neighbors[k];
            return STEP_ON;
        }
        inside = inside && w <= 1 + NEAR;
    }
    return inside ? STEP_INSIDE : STEP_LOST;
}

/* within - leeway: how far behind the face towards a flat neighbour still counts */
static bool within(const struct tetrahedron *item, const double at[3], double weights[4],
                   uint32_t flat, double leeway)
{
    for (int k = 0; k < 4; k++) {
        double w = weight(item, at, weights, k);

        if (w < -(item->neighbors[k] == flat ? leeway : NEAR) || w > 1 + NEAR)
            return false;
    }
    return true;
}

/* beside - a neighbour of a flat one, with leeway towards it */
static uint32_t beside(const struct mesh *mesh, uint32_t flat, const double at[3],
                       double weights[4])
{
    for (int k = 0; k < 4; k++) {
        uint32_t next = mesh->items[flat].neighbors[k];

        if (next != MESH_NOBODY && !mesh->items[next].flat &&
            within(&mesh->items[next], at, weights, flat, sqrt(DBL_EPSILON)))
            return next;
    }
    return MESH_NOBODY;
}

static uint32_t look_everywhere(const struct mesh *mesh, const double at[3], double weights[4])
{
    for (uint32_t i = 0; i < mesh->n; i++) {
        uint32_t found = MESH_NOBODY;

        if (mesh->items[i].flat)
            found = beside(mesh, i, at, weights);
        else if (within(&mesh->items[i], at, weights, MESH_NOBODY, NEAR))
            found = i;
        if (found != MESH_NOBODY)
            return found;
    }
    return MESH_NOBODY;
}

static uint32_t find(const struct mesh *mesh, const double at[3], double weights[4])
{
    uint32_t here;

    for (int i = 0; i < 3; i++)
        if (at[i] < mesh->least[i] - NEAR || at[i] > mesh->most[i] + NEAR)
            return MESH_NOBODY;
    here = climb(mesh, at);
    for (size_t i = 0; i < 1 + mesh->n / 4; i++)
        switch (step(mesh, at, &here, weights)) {
        case STEP_INSIDE:
            return here;
        case STEP_OUTSIDE:
            return MESH_NOBODY;
        case STEP_LOST: /* flat ones are in the way */
            return look_everywhere(mesh, at, weights);
        case STEP_ON:
            break;
        }
    return look_everywhere(mesh, at, weights);
}

int mesh_at(const struct mesh *mesh, const double at[3], double ret[2])
{
    double weights[4];
    uint32_t here = find(mesh, at, weights);

    if (here == MESH_NOBODY)
        return -ERANGE;
    for (int v = 0; v < 2; v++) {
        ret[v] = 0;
        for (int i = 0; i < 4; i++)
            ret[v] += weights[i] * mesh->items[here].values[i][v];
    }
    return 0;
}
