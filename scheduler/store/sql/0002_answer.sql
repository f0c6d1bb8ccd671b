-- 0002_answer.sql - what requests with an Idempotency-Key were answered with
--
-- Written in the transaction of what the request did, so that either both are there or neither. Rows that are older than
-- a day, or than the newest 65,536, go as new ones come.

CREATE TABLE answer (
    sequence         INTEGER PRIMARY KEY AUTOINCREMENT, -- rises: the oldest goes first
    user             TEXT NOT NULL,
    idempotency_key  TEXT NOT NULL,
    request_digest   TEXT NOT NULL,                     -- SHA-256 of method, target and body, in hex
    status           INTEGER NOT NULL,
    location         TEXT NOT NULL,                     -- the header, '' for none
    body             TEXT NOT NULL,
    answered_wall_us INTEGER NOT NULL,
    UNIQUE (user, idempotency_key)
) STRICT;
