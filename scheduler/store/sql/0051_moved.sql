-- 0051_moved.sql - nothing of SQLite: PostgreSQL's file of this number marks a database whose state went elsewhere
--
-- With SQLite that is the file `moved` beside it.

SELECT 1;
