-- 0022_task_pass.sql - tasks say of which pass they tell, and may be there before their queue is
--
-- A task that tells of an earlier pass is to do again: the end of a pass writes one row and not one for each task.
-- The tasks of a dataset are written in several turns, the queue with the last of them.

CREATE TABLE task_new (
    job_id   INTEGER NOT NULL REFERENCES job (id) DEFERRABLE INITIALLY DEFERRED,
    id       INTEGER NOT NULL,
    state    INTEGER NOT NULL, -- 0 to do, 1 leased, 2 done, 3 discarded
    lease    INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    holder   INTEGER NOT NULL,
    chunks   TEXT NOT NULL,    -- JSON: [[path, offset, records], ...]
    pass     INTEGER NOT NULL, -- in which state, failures and holder are that; before that of the queue: to do, none
    PRIMARY KEY (job_id, id)
) STRICT, WITHOUT ROWID;

INSERT INTO task_new SELECT task.job_id, task.id, task.state, task.lease, task.failures, task.holder, task.chunks,
    queue.pass FROM task JOIN queue ON queue.job_id = task.job_id ORDER BY task.job_id, task.id;
DROP TABLE task;
ALTER TABLE task_new RENAME TO task;
