/* SPDX-License-Identifier: Apache-2.0 */
/* mesh.h - values between scattered points of space: linear inside each tetrahedron of their
 * Delaunay triangulation
 *
 * The triangulation is Qhull's, with the options that SciPy's LinearNDInterpolator gives it, so
 * that the same measurements mean the same between their points. */
#pragma once

#include <stddef.h>

struct edl_error;
struct mesh;

/* mesh_new - n points and the two values of each (copied); name is for errors
 * Errors: -EINVAL when the points span no volume. */
int mesh_new(const char *name, const double (*points)[3], const double (*values)[2], size_t n,
             struct mesh **ret, struct edl_error *error);

/* mesh_at - both values at a place; -ERANGE outside of all points */
int mesh_at(const struct mesh *mesh, const double at[3], double ret[2]);

struct mesh *mesh_free(struct mesh *mesh);
