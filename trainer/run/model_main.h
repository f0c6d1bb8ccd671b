/* SPDX-License-Identifier: Apache-2.0 */
/* model_main.h - `edl-trainer model show DIR`: the contents of a saved model */
#pragma once

/* model_main - argv[0] is "model"; the exit status of the program, errors are logged */
int model_main(int argc, char **argv);
