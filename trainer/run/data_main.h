/* SPDX-License-Identifier: Apache-2.0 */
/* data_main.h - `edl-trainer data NAME --out DIR`: writes a data set */
#pragma once

/* data_main - argv[0] is "data"; the exit status of the program, errors are logged */
int data_main(int argc, char **argv);
