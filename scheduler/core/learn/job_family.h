/* SPDX-License-Identifier: Apache-2.0 */
/* job_family.h - which jobs are of one family: the facts of one are believed of the others */
#pragma once

#include <stdint.h>

#include "scheduler/core/learn/families.h"

struct cluster;
struct goodput_family_facts;
struct job;
struct job_spec;

/* job_family_name - the same for jobs of one family. Linear in the text of its commands */
void job_family_name(const struct job *job, char buffer[JOB_FAMILY_SIZE]);
void spec_family_name(const struct job_spec *spec, const char *user, char buffer[JOB_FAMILY_SIZE]);

/* job_curve_name - of the speeds of its family with so many servers, in what unit each job has;
 * job_program_name - with so many, of the one program that numbers are compared by */
void job_curve_name(const struct job *job, uint32_t pservers, char buffer[JOB_FAMILY_SIZE]);
void job_program_name(const struct job *job, uint32_t pservers, char buffer[JOB_FAMILY_SIZE]);

/* job_expect_speed - of a job that is not started: that of its family with its fewest servers, in
 * place of the family's own prior, where that knows nothing */
void job_expect_speed(const struct cluster *cluster, const struct job_spec *spec, const char *user,
                      struct goodput_family_facts *family);

/* job_length_name - lengths are noted of jobs of that name: its family's, and of a fixed size that
 * of its family with so many instances. Their lengths are in seconds, or where owners guessed by
 * their guess (job_length_unit_s): how true such guesses are */
void job_length_name(const struct job *job, char buffer[JOB_FAMILY_SIZE]);

/* job_program - a digest of what it runs to the letter, which is not 0 */
uint64_t job_program(const struct job *job);
