-- The signatures used within the window, by place of use, user and key.
CREATE TABLE used_signature (
    consumer TEXT NOT NULL,          -- servlet, job, upload, application; secret: of an application, which is the user
    user TEXT NOT NULL,
    key_id TEXT NOT NULL,            -- hexadecimal beginning of the key's SHA-256; of a secret 0
    timestamp_ms INTEGER NOT NULL,
    text_id TEXT NOT NULL,           -- hexadecimal beginning of the SHA-256 of the signed text; of a job 0
    uses INTEGER NOT NULL,
    PRIMARY KEY (consumer, user, key_id, timestamp_ms, text_id)
) STRICT, WITHOUT ROWID;

-- Up to which timestamp the used signatures of a key are no longer kept: none up to it is accepted.
CREATE TABLE forgotten_signature (
    consumer TEXT NOT NULL,
    user TEXT NOT NULL,
    key_id TEXT NOT NULL,
    up_to_ms INTEGER NOT NULL,
    PRIMARY KEY (consumer, user, key_id)
) STRICT, WITHOUT ROWID;

-- Before, the last timestamp of a key stood for all up to it. That of a job may have uses left.
INSERT INTO used_signature
    SELECT consumer, user, key_id, timestamp_ms, '0000000000000000', uses FROM stamp WHERE consumer = 'job';
INSERT INTO forgotten_signature
    SELECT consumer, user, key_id, timestamp_ms - (consumer = 'job') FROM stamp;
INSERT INTO forgotten_signature
    SELECT 'secret', application, '0000000000000000', stamp_ms FROM application WHERE stamp_ms IS NOT NULL;
DROP TABLE stamp;
ALTER TABLE application DROP COLUMN stamp_ms;
