-- 0049_browser.sql - which tokens are kept by browsers
--
-- Such a token may read, and take itself away. A code that is one makes tokens of no other kind.

ALTER TABLE token ADD COLUMN is_browser INTEGER NOT NULL DEFAULT 0; -- 1: of a browser
