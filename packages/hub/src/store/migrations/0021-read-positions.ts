/** Read position of each user in each session: the time of the last message that the user has read. */
export const readPositionsMigration = [
  `CREATE TABLE session_reads (
    session_id text NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    user_id text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    message_id text NOT NULL,
    read_at timestamptz(3) NOT NULL,
    PRIMARY KEY (session_id, user_id)
  )`,
  `CREATE INDEX session_reads_of_user ON session_reads (user_id)`,
  // Each message of a session is later than the one before.
  `CREATE INDEX messages_by_time ON messages (session_id, created_at, id)`
]
