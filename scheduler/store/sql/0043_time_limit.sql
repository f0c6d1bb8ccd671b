-- SPDX-License-Identifier: Apache-2.0
-- 0043_time_limit.sql - how long each job has run, for its time limit
--
-- runs_from_wall_us: since when it runs; 0: it does not. ran_us: how long it ran before. Of a job that ran when this was
-- added, the time since its start counts as one run.
ALTER TABLE job ADD COLUMN runs_from_wall_us INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN ran_us INTEGER NOT NULL DEFAULT 0;
UPDATE job SET runs_from_wall_us = started_wall_us WHERE state IN ('running', 'resizing', 'stopping');
