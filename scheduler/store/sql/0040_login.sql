-- 0040_login.sql - which tokens are codes for `edl login`
--
-- Such a row is good for one call, POST /login: that drops it and makes a token of the same user.

ALTER TABLE token ADD COLUMN is_login INTEGER NOT NULL DEFAULT 0; -- 1: a code, and no bearer of any other call
