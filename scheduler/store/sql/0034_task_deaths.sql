-- 0034_task_deaths.sql - how often the holders of a task died, which is no failure of the task until others outlive it
--
-- Before, each of these deaths was counted as a failure: those that are there stay.

ALTER TABLE task ADD COLUMN deaths INTEGER NOT NULL DEFAULT 0;      -- in this pass
ALTER TABLE task ADD COLUMN outlived INTEGER NOT NULL DEFAULT 0;    -- of these: others went on, and the next holder died, too
ALTER TABLE task ADD COLUMN died_slot INTEGER NOT NULL DEFAULT 0;   -- of the last of them, from 1
ALTER TABLE task ADD COLUMN died_before INTEGER NOT NULL DEFAULT 0; -- the incarnation that came next then
ALTER TABLE queue ADD COLUMN tasks_deadly_total INTEGER NOT NULL DEFAULT 0; -- of tasks_discarded_total
