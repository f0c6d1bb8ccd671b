/* SPDX-License-Identifier: Apache-2.0 */
/* mesh_internal.h - tetrahedra and the neighbour behind each face */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MESH_NOBODY UINT32_MAX /* behind a face on the outside */
#define MESH_FLAT 1e-13        /* volume over the product of the edges: no inside */

struct tetrahedron {
    double origin[3];     /* its last corner */
    double inverse[3][3]; /* place - origin -> barycentric coordinates of the first three */
    double plane[5];      /* of the facet above it: normal and offset */
    double values[4][2];
    uint32_t neighbors[4]; /* opposite to each corner */
    bool flat;
};

struct mesh {
    struct tetrahedron *items;
    size_t n, n_points;
    double scale, shift; /* of the lifted coordinate */
    double least[3], most[3];
};
