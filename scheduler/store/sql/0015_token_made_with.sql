-- 0015_token_made_with.sql - which token made a token
--
-- Somebody who came with a token and made one for themselves: the new one ends no later, and goes with the other.

ALTER TABLE token ADD COLUMN made_with INTEGER NOT NULL DEFAULT 0; -- id of that token; 0: of none
