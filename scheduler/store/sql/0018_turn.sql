-- 0018_turn.sql - where a waiting job is in the order of the queue
--
-- Its submission and the time it is expected to take, when the policy begins with the shortest (scheduler/core/learn/job_turn.c). Jobs of
-- before have the order of their submission.

ALTER TABLE job ADD COLUMN turn_wall_us INTEGER NOT NULL DEFAULT 0;
UPDATE job SET turn_wall_us = submitted_wall_us WHERE state = 'queued';
