-- 0024_names.sql - names of jobs and arrays are of users: what one has of a name is found without reading what others have

DROP INDEX archived_name;
CREATE INDEX archived_name ON job (name, user) WHERE archived = 1;
CREATE INDEX archived_array_user ON job (array_name, user) WHERE archived = 1 AND array_name IS NOT NULL;
