-- 0032_lost.sql - records of tasks that are done and were not trained, because their chunks are damaged
--
-- Before, they were counted as done: of earlier passes nobody knows their number.

ALTER TABLE queue ADD COLUMN records_lost_total INTEGER NOT NULL DEFAULT 0; -- over all passes
ALTER TABLE queue ADD COLUMN chunks_lost_total INTEGER NOT NULL DEFAULT 0;
ALTER TABLE queue_end ADD COLUMN records_lost INTEGER NOT NULL DEFAULT 0;   -- in its last pass
ALTER TABLE queue_end ADD COLUMN chunks_lost INTEGER NOT NULL DEFAULT 0;
ALTER TABLE task ADD COLUMN lost_records INTEGER NOT NULL DEFAULT 0;        -- of a task that is done
ALTER TABLE task ADD COLUMN lost_chunks INTEGER NOT NULL DEFAULT 0;
