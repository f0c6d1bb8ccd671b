-- 0014_log_bytes.sql - how much all kept ends of logs take, and which of them is the oldest
--
-- Counting them anew would read all of them. A trigger counts whoever writes, so that no way of deleting forgets to.

CREATE INDEX log_tail_sequence ON log_tail (sequence);

CREATE TABLE log_bytes (
    id    INTEGER PRIMARY KEY CHECK (id = 1),
    bytes INTEGER NOT NULL -- of text and times of log_tail
) STRICT;

INSERT INTO log_bytes (id, bytes)
SELECT 1, ifnull(sum(length(CAST(text AS BLOB)) + length(CAST(times AS BLOB))), 0) FROM log_tail;

CREATE TRIGGER log_tail_added AFTER INSERT ON log_tail BEGIN
    UPDATE log_bytes SET bytes = bytes + length(CAST(new.text AS BLOB)) + length(CAST(new.times AS BLOB));
END;

CREATE TRIGGER log_tail_changed AFTER UPDATE OF text, times ON log_tail BEGIN
    UPDATE log_bytes SET bytes = bytes + length(CAST(new.text AS BLOB)) + length(CAST(new.times AS BLOB))
        - length(CAST(old.text AS BLOB)) - length(CAST(old.times AS BLOB));
END;

CREATE TRIGGER log_tail_removed AFTER DELETE ON log_tail BEGIN
    UPDATE log_bytes SET bytes = bytes - length(CAST(old.text AS BLOB)) - length(CAST(old.times AS BLOB));
END;
