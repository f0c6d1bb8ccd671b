-- 0009_group.sql - groups of users, and what of the cluster is guaranteed to each

CREATE TABLE user_group (
    name                TEXT PRIMARY KEY,
    guaranteed_permille INTEGER NOT NULL, -- of the cores and of the GPUs
    weight              INTEGER NOT NULL, -- of what is beyond all guarantees
    created_wall_us     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- NULL: of no group
ALTER TABLE user ADD COLUMN user_group TEXT REFERENCES user_group (name) DEFERRABLE INITIALLY DEFERRED;

CREATE INDEX user_user_group ON user (user_group);
