-- 0051_moved.sql - whether the state is here (scheduler/migrate.c): over a database that it has left nobody leads

ALTER TABLE leader ADD COLUMN moved_wall_us bigint NOT NULL DEFAULT 0; -- when the state went to another engine; 0: it is here
ALTER TABLE leader ADD COLUMN moved_to text NOT NULL DEFAULT '';       -- where that is
ALTER TABLE leader ADD COLUMN led bigint NOT NULL DEFAULT 1;           -- 0: rows were copied in, and nobody has led since
