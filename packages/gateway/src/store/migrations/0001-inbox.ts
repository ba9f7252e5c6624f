/** What came in, in the order of its chat, until it is done and a week longer; and what could not be done. */
export const inbox = [
  // Events of one chat are done one after the other: number `done + 1` is whose turn it is, `received` is the last.
  `CREATE TABLE chats (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key text NOT NULL UNIQUE,
    received bigint NOT NULL,
    done bigint NOT NULL
  )`,
  // The body goes when the event is done; the row stays, so that the same event is known when it comes again.
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
