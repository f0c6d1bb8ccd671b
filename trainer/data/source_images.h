/* SPDX-License-Identifier: Apache-2.0 */
/* source_images.h - the two formulas behind the floor of the generated images */
#pragma once

/* images_log_bessel - ln I0(x) for x >= 0, to nine digits */
double images_log_bessel(double x);

/* images_error_of_phase - the error of the best classifier at this noise (> 0) when no label is
 * wrong: ten orthogonal signals of unknown phase */
double images_error_of_phase(double noise);
