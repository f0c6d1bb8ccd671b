-- 0021_skipped.sql - how many tasks of a job were skipped, and where its model is
--
-- Records were counted before, tasks were not: of earlier passes nobody knows their number any more.

ALTER TABLE queue ADD COLUMN tasks_discarded_total INTEGER NOT NULL DEFAULT 0; -- over all passes
ALTER TABLE queue ADD COLUMN model_path TEXT NOT NULL DEFAULT '';              -- as its program told it
UPDATE queue SET tasks_discarded_total =
    (SELECT count(*) FROM task WHERE task.job_id = queue.job_id AND task.state = 3)
    + ifnull((SELECT discarded FROM queue_end WHERE queue_end.job_id = queue.job_id), 0);
