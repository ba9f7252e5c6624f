/** Tables of conversations: locations, followed tasks, approval cards and buttons. Texts of users are deleted after a day. */
export const conversations = [
  // One account in one chat, or in one thread of it.
  `CREATE TABLE talks (
    key text PRIMARY KEY,
    place text,
    session_id text,
    session_project text,
    task_id text,
    task_key text,
    pending text,
    updated_at timestamptz NOT NULL
  )`,
  `CREATE INDEX talks_by_age ON talks (updated_at)`,
  // A followed task. The holder of the lease follows it.
  `CREATE TABLE follows (
    task_id text PRIMARY KEY,
    platform text NOT NULL,
    app text NOT NULL,
    tenant text NOT NULL,
    account text NOT NULL,
    chat_id text NOT NULL,
    reply_to text,
    thread_id text,
    direct boolean NOT NULL,
    language text NOT NULL,
    place text NOT NULL,
    message_id text,
    run_id text,
    seq bigint NOT NULL,
    progress text NOT NULL,
    created_at timestamptz NOT NULL,
    lease_owner text,
    lease_until timestamptz,
    ended_at timestamptz
  )`,
  `CREATE INDEX follows_open ON follows (lease_until) WHERE ended_at IS NULL`,
  `CREATE INDEX follows_by_chat ON follows (platform, app, tenant, chat_id, created_at)`,
  `CREATE INDEX follows_by_end ON follows (ended_at) WHERE ended_at IS NOT NULL`,
  `CREATE TABLE approval_cards (
    approval_id text PRIMARY KEY,
    task_id text NOT NULL REFERENCES follows (task_id) ON DELETE CASCADE,
    asked text NOT NULL,
    message_id text,
    state text NOT NULL,
    asked_at timestamptz NOT NULL
  )`,
  `CREATE INDEX approval_cards_by_task ON approval_cards (task_id)`,
  // A button's id is stored as a hash.
  `CREATE TABLE actions (
    hash bytea PRIMARY KEY,
    platform text NOT NULL,
    app text NOT NULL,
    tenant text NOT NULL,
    meaning text NOT NULL,
    subject text NOT NULL,
    audience text,
    chat_id text,
    message_id text,
    expires_at timestamptz NOT NULL,
    used_at timestamptz
  )`,
  `CREATE INDEX actions_by_subject ON actions (subject)`,
  `CREATE INDEX actions_by_end ON actions (expires_at)`,
  // Names of users who have acted from a chat, for "already decided by".
  `CREATE TABLE people (user_id text PRIMARY KEY, name text NOT NULL, seen_at timestamptz NOT NULL)`
]
