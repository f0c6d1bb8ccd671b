-- 0005_join_token.sql - what lets one node join, once
--
-- The token itself is nowhere: who reads this file cannot join. A row stays for a day after its end, so that a token that
-- comes again is told what became of it; then it goes as new ones come.

CREATE TABLE join_token (
    token_hash      TEXT PRIMARY KEY, -- SHA-256, in hex
    id              TEXT NOT NULL,    -- what people call it
    node            TEXT NOT NULL,    -- the only name that it is good for; '': any that no node has
    made_by         TEXT NOT NULL,
    made_wall_us    INTEGER NOT NULL,
    expires_wall_us INTEGER NOT NULL,
    used_wall_us    INTEGER NOT NULL, -- 0: not yet
    used_by         TEXT NOT NULL,    -- the node that joined with it
    credential_hash TEXT NOT NULL     -- of that node: whoever has it may ask again when the answer was lost
) STRICT, WITHOUT ROWID;
