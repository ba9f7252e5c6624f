/**
 * Conversations: messages to agents with their delivery, agents with the mode of their runs, and tasks that belong to an agent.
 *
 * `place` identifies the folder that agents without isolation share: they take turns there. `version` counts the changes of a session's messages.
 */
export const conversationsMigration = [
  // A session without `titled` gets its title from the first message.
  `ALTER TABLE sessions ADD COLUMN default_agent text, ADD COLUMN message_version integer NOT NULL DEFAULT 0,
    ADD COLUMN titled boolean NOT NULL DEFAULT true`,
  // `conversation_run_id`: the last run whose runtime has a conversation that another run can continue.
  `ALTER TABLE session_agents ADD COLUMN mode text NOT NULL DEFAULT 'ask', ADD COLUMN model text, ADD COLUMN isolation text,
    ADD COLUMN place text NOT NULL DEFAULT '', ADD COLUMN conversation_run_id text`,
  `UPDATE session_agents SET place = md5(target_id || ' ' || workspace)`,
  `UPDATE sessions SET default_agent = (SELECT max(id) FROM session_agents WHERE session_id = sessions.id)`,
  // `recipient`: an agent of the session, or 'people'. `attempt` counts the tasks of a message. `contributors`: users besides the author.
  `ALTER TABLE messages ADD COLUMN version integer NOT NULL DEFAULT 0, ADD COLUMN recipient text, ADD COLUMN send_when text,
    ADD COLUMN mode text, ADD COLUMN model text, ADD COLUMN on_offline text, ADD COLUMN expires_at timestamptz(3),
    ADD COLUMN delivery text, ADD COLUMN task_id text, ADD COLUMN to_run_id text, ADD COLUMN context text,
    ADD COLUMN attempt integer NOT NULL DEFAULT 0, ADD COLUMN error text, ADD COLUMN outcome text,
    ADD COLUMN contributors text[] NOT NULL DEFAULT '{}', ADD COLUMN from_task boolean NOT NULL DEFAULT false,
    ADD COLUMN edited_at timestamptz(3)`,
  `UPDATE messages SET version = counted.version FROM (
    SELECT session_id, id, row_number() OVER (PARTITION BY session_id ORDER BY id) AS version FROM messages
  ) counted WHERE counted.session_id = messages.session_id AND counted.id = messages.id`,
  `UPDATE sessions SET message_version = (SELECT count(*) FROM messages WHERE session_id = sessions.id)`,
  `CREATE INDEX messages_by_version ON messages (session_id, version)`,
  `CREATE INDEX messages_pending ON messages (session_id, recipient, id) WHERE delivery = 'pending'`,
  `CREATE UNIQUE INDEX messages_answer_of_run ON messages (session_id, run_id) WHERE outcome IS NOT NULL`,
  // `requesters`: users besides the author whose messages the run receives.
  `ALTER TABLE tasks ADD COLUMN agent_instance_id text, ADD COLUMN place text, ADD COLUMN message_id text,
    ADD COLUMN requesters text[] NOT NULL DEFAULT '{}'`,
  `CREATE INDEX tasks_open_of_agent ON tasks (agent_instance_id) WHERE state IN ('pending', 'queued', 'dispatched', 'running')`,
  `CREATE INDEX tasks_open_at_place ON tasks (place) WHERE state IN ('pending', 'queued', 'dispatched', 'running')`
]
