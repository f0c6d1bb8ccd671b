-- 0027_document.sql - documents of archived jobs, each once: jobs of an array differ by name and index only
--
-- What differs stands in the job's row. A document is of one user, so that its bytes are of his share. Archived jobs of
-- before keep their own in job.spec.

CREATE TABLE document (
    id     INTEGER PRIMARY KEY,
    user   TEXT NOT NULL,
    digest TEXT NOT NULL,    -- SHA-256 of text, hex
    jobs   INTEGER NOT NULL, -- archived ones that have it
    bytes  INTEGER NOT NULL, -- of text
    text   TEXT NOT NULL     -- as job.spec; name is '', array.index 0
) STRICT;

CREATE UNIQUE INDEX document_digest ON document (user, digest);

ALTER TABLE job ADD COLUMN document INTEGER;    -- of an archived one: where it is, and spec is ''; NULL: spec has it
ALTER TABLE job ADD COLUMN array_index INTEGER; -- of an archived one of an array
ALTER TABLE job ADD COLUMN array_jobs INTEGER;  -- the same: how many were submitted

UPDATE job SET array_index = json_extract(spec, '$.array.index'), array_jobs = json_extract(spec, '$.array.jobs')
    WHERE archived = 1 AND array_name IS NOT NULL;

CREATE TRIGGER document_added AFTER INSERT ON document BEGIN
    INSERT INTO archived_share (user, jobs, bytes) VALUES (NEW.user, 0, NEW.bytes), ('*', 0, NEW.bytes)
        ON CONFLICT (user) DO UPDATE SET bytes = bytes + excluded.bytes;
END;

CREATE TRIGGER document_gone AFTER DELETE ON document BEGIN
    UPDATE archived_share SET bytes = bytes - OLD.bytes WHERE user IN (OLD.user, '*');
END;

-- With the last job that has it.
CREATE TRIGGER document_left AFTER UPDATE OF archived ON job
    WHEN OLD.archived = 1 AND NEW.archived = 2 AND OLD.document IS NOT NULL BEGIN
    UPDATE document SET jobs = jobs - 1 WHERE id = OLD.document;
    DELETE FROM document WHERE id = OLD.document AND jobs = 0;
END;
