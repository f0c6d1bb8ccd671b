-- 0016_join_token_made_with.sql - which token made a join token
--
-- A join token ends no later than the token with which it was made, and goes with it. Of those that are there nobody knows.

ALTER TABLE join_token ADD COLUMN made_with INTEGER NOT NULL DEFAULT 0; -- id of that token; 0: of none
