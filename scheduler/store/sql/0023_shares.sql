-- 0023_shares.sql - what each user takes of the answers that are kept, and of the audit log
--
-- When there are too many, whoever has the most loses his oldest: nobody can push out what others have. Sums are kept, not
-- made; the one called '*', which is no user's name, is of all.

CREATE TABLE answer_share (
    user  TEXT PRIMARY KEY,
    bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX answer_share_bytes ON answer_share (bytes);
CREATE INDEX answer_user ON answer (user, sequence);

INSERT INTO answer_share SELECT user, sum(512 + length(body)) FROM answer GROUP BY user;
INSERT INTO answer_share SELECT '*', ifnull(sum(bytes), 0) FROM answer_share;

CREATE TRIGGER answer_added AFTER INSERT ON answer BEGIN
    INSERT INTO answer_share (user, bytes) VALUES (NEW.user, 512 + length(NEW.body)), ('*', 512 + length(NEW.body))
        ON CONFLICT (user) DO UPDATE SET bytes = bytes + excluded.bytes;
END;

CREATE TRIGGER answer_gone AFTER DELETE ON answer BEGIN
    UPDATE answer_share SET bytes = bytes - 512 - length(OLD.body) WHERE user IN (OLD.user, '*');
    DELETE FROM answer_share WHERE user = OLD.user AND bytes = 0;
END;

CREATE TABLE audit_share (
    user  TEXT PRIMARY KEY,
    lines INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX audit_share_lines ON audit_share (lines);
CREATE INDEX audit_user ON audit (user, id);

INSERT INTO audit_share SELECT user, count(*) FROM audit GROUP BY user;
INSERT INTO audit_share SELECT '*', ifnull(sum(lines), 0) FROM audit_share;

CREATE TRIGGER audit_added AFTER INSERT ON audit BEGIN
    INSERT INTO audit_share (user, lines) VALUES (NEW.user, 1), ('*', 1)
        ON CONFLICT (user) DO UPDATE SET lines = lines + 1;
END;

CREATE TRIGGER audit_gone AFTER DELETE ON audit BEGIN
    UPDATE audit_share SET lines = lines - 1 WHERE user IN (OLD.user, '*');
    DELETE FROM audit_share WHERE user = OLD.user AND lines = 0;
END;
