/* SPDX-License-Identifier: Apache-2.0 */
/* paddle_secret.h - the secret of servers and trainers that a person starts by hand
 *
 * PaddlePaddle's servers take gradients from anybody who reaches their port. These want a proof
 * (trainer/wire/handshake.h), and so both ends read the same file: on one machine, or with a shared
 * home, nobody has to do anything. */
#pragma once

struct edl_error;

/* paddle_secret_file - ~/.config/edl/paddle-secret ($XDG_CONFIG_HOME), made with fresh random
 * digits if it is not there, 0600; *ret is the caller's. Two programs that make it at once take the
 * same. */
int paddle_secret_file(char **ret, struct edl_error *error);
