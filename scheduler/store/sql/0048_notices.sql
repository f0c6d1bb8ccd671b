-- SPDX-License-Identifier: Apache-2.0
-- 0048_notices.sql - what owners of jobs are to be told, until it is sent
--
-- notice: a message of one notice or more, by the number that its receiver gets with it; the numbers are not given again.
-- channel: 0 mail, 1 webhook. notices: a line of JSON for each; n_more: that had no room.
-- array_notice: how the jobs of an array ended so far, and what was told of it: 1 begin, 2 end, 4 fail, 8 requeue.
-- first_id: the number of its first job. Its row comes with the array, and goes with the last of its jobs.
CREATE TABLE notice (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    channel INTEGER NOT NULL,
    user TEXT NOT NULL,
    target TEXT NOT NULL,
    notices TEXT NOT NULL,
    n_notices INTEGER NOT NULL,
    n_more INTEGER NOT NULL,
    tries INTEGER NOT NULL,
    made_wall_us INTEGER NOT NULL,
    due_wall_us INTEGER NOT NULL
);
CREATE TABLE array_notice (
    first_id INTEGER PRIMARY KEY,
    n_jobs INTEGER NOT NULL,
    n_succeeded INTEGER NOT NULL,
    n_failed INTEGER NOT NULL,
    n_killed INTEGER NOT NULL,
    told INTEGER NOT NULL,
    first_failed INTEGER NOT NULL
);
