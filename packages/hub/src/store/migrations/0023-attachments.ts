/**
 * Files of messages. An upload belongs to its user until a message refers to it, then to the session, and to forks of the session.
 *
 * `messages.attachments` repeats what does not change, so that a list of messages needs no join.
 */
export const attachmentsMigration = [
  // `sha256` is NULL until all bytes are stored. Before that, `bytes` is the size that was announced.
  `CREATE TABLE uploads (
    id text PRIMARY KEY,
    user_id text NOT NULL,
    name text NOT NULL,
    media_type text NOT NULL,
    bytes integer NOT NULL,
    sha256 text,
    is_sent boolean NOT NULL DEFAULT false,
    created_at timestamptz(3) NOT NULL
  )`,
  `CREATE INDEX uploads_unsent ON uploads (user_id) WHERE NOT is_sent`,
  `CREATE INDEX uploads_unsent_by_time ON uploads (created_at) WHERE NOT is_sent`,
  // Pieces of equal size but the last. Not compressed: images are already, and a piece is read from any position.
  `CREATE TABLE upload_pieces (
    upload_id text NOT NULL REFERENCES uploads (id) ON DELETE CASCADE,
    n integer NOT NULL,
    bytes bytea NOT NULL,
    PRIMARY KEY (upload_id, n)
  )`,
  `ALTER TABLE upload_pieces ALTER COLUMN bytes SET STORAGE EXTERNAL`,
  `CREATE TABLE session_uploads (
    session_id text NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    upload_id text NOT NULL REFERENCES uploads (id),
    PRIMARY KEY (session_id, upload_id)
  )`,
  `CREATE INDEX session_uploads_of_upload ON session_uploads (upload_id)`,
  `ALTER TABLE messages ADD COLUMN attachments text NOT NULL DEFAULT '[]'`,
  // Files that the start of the task's run names: NULL for none.
  `ALTER TABLE tasks ADD COLUMN attachments text`
]
