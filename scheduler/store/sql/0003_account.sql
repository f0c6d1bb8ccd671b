-- 0003_account.sql - people, their tokens, and what they did

CREATE TABLE user (
    name            TEXT PRIMARY KEY,
    role            TEXT NOT NULL, -- viewer, user, operator or admin
    created_wall_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE token (
    id              INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice
    hash            TEXT NOT NULL UNIQUE,              -- SHA-256 in hex; the token itself is nowhere
    user            TEXT NOT NULL REFERENCES user (name) DEFERRABLE INITIALLY DEFERRED,
    note            TEXT NOT NULL,
    created_wall_us INTEGER NOT NULL,
    expires_wall_us INTEGER NOT NULL                   -- 0: never
) STRICT;

CREATE INDEX token_user ON token (user);

-- Every change that a person made, in the transaction of what it changed; the newest 100,000.
CREATE TABLE audit (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    wall_us    INTEGER NOT NULL,
    user       TEXT NOT NULL,
    via        TEXT NOT NULL, -- how the user was known: token 3, admin-token, uid 1000
    method     TEXT NOT NULL,
    target     TEXT NOT NULL,
    status     INTEGER NOT NULL,
    request_id TEXT NOT NULL
) STRICT;
