-- 0026_job_shares.sql - what each user takes of the archive: jobs and bytes
--
-- When there are too many, whoever has the most loses his oldest: nobody can push out what others have. Sums are kept, not
-- made; the one called '*', which is no user's name, is of all. Triggers keep them, so that no way of deleting forgets to.

ALTER TABLE job ADD COLUMN kept_bytes INTEGER NOT NULL DEFAULT 0; -- of an archived one: of its row and those of its processes

UPDATE job SET kept_bytes = 512 + length(CAST(spec AS BLOB)) + length(CAST(reason AS BLOB)) + length(CAST(slots AS BLOB))
        + ifnull(length(CAST(metrics AS BLOB)), 0) + 256 * (SELECT count(*) FROM process WHERE job_id = job.id)
    WHERE archived = 1;

CREATE TABLE archived_share (
    user  TEXT PRIMARY KEY,
    jobs  INTEGER NOT NULL,
    bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX archived_share_jobs ON archived_share (jobs);
CREATE INDEX archived_share_bytes ON archived_share (bytes);
CREATE INDEX archived_user_end ON job (user, ended_wall_us) WHERE archived = 1;

INSERT INTO archived_share SELECT user, count(*), sum(kept_bytes) FROM job WHERE archived = 1 GROUP BY user;
INSERT INTO archived_share SELECT '*', ifnull(sum(jobs), 0), ifnull(sum(bytes), 0) FROM archived_share;

CREATE TRIGGER job_archived AFTER UPDATE OF archived ON job WHEN OLD.archived = 0 AND NEW.archived = 1 BEGIN
    INSERT INTO archived_share (user, jobs, bytes) VALUES (NEW.user, 1, NEW.kept_bytes), ('*', 1, NEW.kept_bytes)
        ON CONFLICT (user) DO UPDATE SET jobs = jobs + 1, bytes = bytes + excluded.bytes;
END;

CREATE TRIGGER job_dropped AFTER UPDATE OF archived ON job WHEN OLD.archived = 1 AND NEW.archived = 2 BEGIN
    UPDATE archived_share SET jobs = jobs - 1, bytes = bytes - OLD.kept_bytes WHERE user IN (OLD.user, '*');
    DELETE FROM archived_share WHERE user = OLD.user AND jobs = 0;
END;
