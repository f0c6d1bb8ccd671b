-- 0029_away.sql - for how long the nodes of the last run may go on without a scheduler
--
-- Stored before any node is told, and 0 again when all of them were heard (scheduler/core/events/away.c).

CREATE TABLE away (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    us INTEGER NOT NULL
) STRICT;

INSERT INTO away (id, us) VALUES (1, 0);
