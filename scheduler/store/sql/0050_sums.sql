-- 0050_sums.sql - numbers and sums that the program counts, instead of the database
--
-- Triggers kept sums, and AUTOINCREMENT the highest numbers: both cost a write for each row. A number of a token or of a
-- notice is not given again though its row is gone: number has the highest. That of the audit log is from before this file,
-- where its newest line may have gone.

DROP TRIGGER log_tail_added;
DROP TRIGGER log_tail_changed;
DROP TRIGGER log_tail_removed;
DROP TRIGGER answer_added;
DROP TRIGGER answer_gone;
DROP TRIGGER audit_gone;
DROP TRIGGER job_archived;
DROP TRIGGER job_dropped;
DROP TRIGGER document_added;
DROP TRIGGER document_gone;
DROP TRIGGER document_left;

-- Their sums are made of an index.
DROP TABLE answer_share;
DROP TABLE audit_share;

CREATE TABLE number (
    name TEXT PRIMARY KEY, -- token, notice, audit
    last INTEGER NOT NULL  -- the highest that was given
) STRICT, WITHOUT ROWID;

INSERT INTO number (name, last) SELECT name, seq FROM sqlite_sequence WHERE name IN ('token', 'notice', 'audit');

-- An answer that had its day may be there beside a newer one to the same key. What an answer counts stands in its row.
CREATE TABLE answer_new (
    sequence         INTEGER PRIMARY KEY, -- rises: the oldest goes first
    user             TEXT NOT NULL,
    idempotency_key  TEXT NOT NULL,
    request_digest   TEXT NOT NULL,       -- SHA-256 of method, target and body, in hex
    status           INTEGER NOT NULL,
    location         TEXT NOT NULL,       -- the header, '' for none
    answered_wall_us INTEGER NOT NULL,
    etag             TEXT NOT NULL,       -- the header, quotes included; '' for none
    bytes            INTEGER NOT NULL,    -- of body, and 512
    body             TEXT NOT NULL
) STRICT;

INSERT INTO answer_new SELECT sequence, user, idempotency_key, request_digest, status, location, answered_wall_us, etag,
    512 + length(CAST(body AS BLOB)), body FROM answer ORDER BY sequence;
DROP TABLE answer;
ALTER TABLE answer_new RENAME TO answer;
CREATE INDEX answer_key ON answer (user, idempotency_key);
CREATE INDEX answer_user ON answer (user, sequence, bytes);

-- The rows of a table are the same without AUTOINCREMENT: its text is changed and not one of its rows, as there may be
-- millions.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, ' AUTOINCREMENT', '')
    WHERE type = 'table' AND name IN ('event', 'token', 'audit', 'notice');
PRAGMA writable_schema = RESET;
DELETE FROM sqlite_sequence;
