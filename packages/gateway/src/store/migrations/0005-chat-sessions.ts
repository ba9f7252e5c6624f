/** Chats as sessions: the session of each direct chat or thread, followed messages, and first messages of accounts that are not linked yet. */
export const chatSessions = [
  // One direct chat or thread, for all its users.
  `CREATE TABLE chat_sessions (
    key text PRIMARY KEY,
    session_id text,
    project_id text,
    agent_instance_id text,
    place text,
    updated_at timestamptz NOT NULL
  )`,
  `CREATE INDEX chat_sessions_by_age ON chat_sessions (updated_at)`,
  // A key of talks is: platform, app, tenant, account, chat, thread. The latest conversation of a thread keeps its session.
  `INSERT INTO chat_sessions (key, session_id, project_id, place, updated_at)
   SELECT DISTINCT ON (thread) thread, session_id, session_project, place, updated_at FROM (
     SELECT talks.*, concat_ws(' ', split_part(key, ' ', 1), split_part(key, ' ', 2), split_part(key, ' ', 3),
       split_part(key, ' ', 5), split_part(key, ' ', 6)) AS thread
     FROM talks WHERE session_id IS NOT NULL
   ) latest ORDER BY thread, updated_at DESC`,
  `UPDATE talks SET pending = NULL`,
  `ALTER TABLE talks DROP COLUMN session_id, DROP COLUMN session_project, DROP COLUMN task_id, DROP COLUMN task_key`,
  // A follow is of a message, and of a task if an earlier release began it.
  `ALTER TABLE follows RENAME COLUMN task_id TO id`,
  `ALTER TABLE follows ADD COLUMN session_id text`,
  `CREATE INDEX follows_of_session ON follows (session_id) WHERE ended_at IS NULL`,
  `ALTER TABLE approval_cards RENAME COLUMN task_id TO follow_id`,
  // `sealed`: the event, encrypted with a key that only Gateways have.
  `CREATE TABLE kept_messages (key text PRIMARY KEY, sealed bytea NOT NULL, kept_at timestamptz NOT NULL)`,
  `CREATE INDEX kept_messages_by_age ON kept_messages (kept_at)`
]
