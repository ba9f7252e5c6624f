/** Tables of received events, in the order of their chats, and of dead letters. */
export const inbox = [
  // `received` is the last position of the chat, and `done` the last handled one.
  `CREATE TABLE chats (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key text NOT NULL UNIQUE,
    received bigint NOT NULL,
    done bigint NOT NULL
  )`,
  // The body is deleted when the event is done. The row stays for a week, so that a repeated event is recognized.
  `CREATE TABLE inbox (
    chat bigint NOT NULL REFERENCES chats (id),
    position bigint NOT NULL,
    platform text NOT NULL,
    app text NOT NULL,
    upstream_id text NOT NULL,
    tenant text NOT NULL,
    kind text NOT NULL,
    chat_id text NOT NULL,
    body text,
    received_at timestamptz NOT NULL,
    done_at timestamptz,
    PRIMARY KEY (chat, position),
    UNIQUE (platform, app, upstream_id)
  )`,
  `CREATE INDEX inbox_by_end ON inbox (done_at) WHERE done_at IS NOT NULL`,
  `CREATE TABLE dead_letters (
    platform text NOT NULL,
    app text NOT NULL,
    upstream_id text NOT NULL,
    tenant text NOT NULL,
    kind text NOT NULL,
    chat_id text NOT NULL,
    body text NOT NULL,
    reason text NOT NULL,
    attempts int NOT NULL,
    received_at timestamptz NOT NULL,
    buried_at timestamptz NOT NULL,
    PRIMARY KEY (platform, app, upstream_id)
  )`,
  `CREATE INDEX dead_letters_by_age ON dead_letters (buried_at)`
]
