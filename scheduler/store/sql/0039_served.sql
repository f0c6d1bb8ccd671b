-- 0039_served.sql - where the clock of its users stood when a job came, what its own user had had at its start, and what it counts to him
--
-- In thousandths of a core-second, among users of the same group and priority (core/plan/shares.c). Jobs of before count
-- nothing: their users begin alike. The turn of jobs that wait is at most ten minutes behind their submission (job_turn.c).

ALTER TABLE job ADD COLUMN served INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN charged INTEGER NOT NULL DEFAULT 0;
UPDATE job SET turn_wall_us = min(turn_wall_us, submitted_wall_us + 600000000) WHERE state = 'queued';
