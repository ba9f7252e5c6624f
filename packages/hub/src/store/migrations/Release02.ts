/** Changes of release 0.2.0: migrations 10 to 22. One constant per migration, in their order. */

/** Trace of the request behind a task. The run continues it, possibly days later. */
export const tracesMigration = [`ALTER TABLE tasks ADD COLUMN traceparent text`]

/** Description of a sign-in for its user, and lookup of users by verified email address. */
export const signInsMigration = [
  `ALTER TABLE sign_ins ADD COLUMN client_name text`,
  `CREATE INDEX users_by_email ON users (lower(email)) WHERE email IS NOT NULL`
]

/** Commands that a device's Edge supports, as JSON text; NULL for an Edge that does not list them. */
export const commandsMigration = [`ALTER TABLE devices ADD COLUMN commands text`]

/** Details of a decision as JSON text, and an index on the records of one actor across all chains. */
export const decisionsMigration = [
  `ALTER TABLE audit ADD COLUMN details text`,
  `CREATE INDEX audit_of_actor ON audit (actor, id)`
]

/** Last authentication of the user at the identity provider, which new credentials require. */
export const signInTimeMigration = [
  `ALTER TABLE sign_ins ADD COLUMN authenticated_at timestamptz`,
  `UPDATE sign_ins SET authenticated_at = created_at`,
  `ALTER TABLE sign_ins ALTER COLUMN authenticated_at SET NOT NULL`
]

/**
 * View of the valid shares of devices. A share is valid while the device's owner may manage devices in the project. Queries read the view;
 * only sharing a device writes the table.
 */
export const deviceSharesMigration = [
  `CREATE VIEW device_shares AS
    SELECT s.device_id, s.project_id FROM device_projects s
      JOIN devices d ON d.id = s.device_id
      JOIN project_members o ON o.project_id = s.project_id AND o.user_id = d.owner_id
    WHERE o.role IN ('admin', 'owner')`,
  `DELETE FROM device_projects s WHERE NOT EXISTS (
    SELECT 1 FROM device_shares e WHERE e.device_id = s.device_id AND e.project_id = s.project_id)`
]

/** Readers of audit records without a project, and of audit trails of deleted projects. */
export const auditReadersMigration = [
  // The user whose device, sign-in, key or chat account a record of no project is about. No part of the hash: it only selects readers.
  `ALTER TABLE audit ADD COLUMN about text`,
  `UPDATE audit a SET about = COALESCE(
      (SELECT owner_id FROM devices WHERE id = a.resource), (SELECT user_id FROM sign_ins WHERE id = a.resource),
      (SELECT user_id FROM api_keys WHERE id = a.resource), (SELECT user_id FROM chat_bindings WHERE id = a.resource))
    WHERE chain = ''`,
  `CREATE INDEX audit_about ON audit (about, seq) WHERE chain = '' AND about IS NOT NULL`,
  `CREATE TABLE former_members (
    project_id text NOT NULL,
    user_id text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    role text NOT NULL,
    PRIMARY KEY (project_id, user_id)
  )`
]

/** Users who sent a message to a run. `input` identifies each message, so that a refused one can be removed. */
export const runRequestersMigration = [
  `CREATE TABLE run_requesters (
    run_id text NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    user_id text NOT NULL,
    input text NOT NULL,
    PRIMARY KEY (run_id, user_id, input)
  )`,
  `INSERT INTO run_requesters SELECT r.id, t.created_by, 'task' FROM runs r JOIN tasks t ON t.id = r.task_id`,
  `INSERT INTO run_requesters
    SELECT DISTINCT r.id, a.actor, 'audit' FROM audit a JOIN runs r ON r.id = a.resource
    WHERE a.action = 'run.input' AND (a.outcome = 'allowed' OR a.code = 'target_offline')`
]

/** When a command was last sent, to find starts that are not answered. */
export const sentCommandsMigration = [`ALTER TABLE edge_commands ADD COLUMN sent_at timestamptz(3)`]

/**
 * Texts that search reads, and the changes that the index does not contain yet.
 *
 * The database only records which row changed, in the transaction of the change. `SearchIndexer` writes the documents: the grams need the same
 * folding as a query, in every locale of a database.
 */
export const searchMigration = [
  `CREATE TABLE search_documents (
    -- Kind and resource.
    id text PRIMARY KEY,
    kind text NOT NULL,
    project_id text NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    session_id text,
    message_id text,
    run_id text,
    at timestamptz(3) NOT NULL,
    text text NOT NULL,
    folded text NOT NULL,
    grams integer[] NOT NULL
  )`,
  `CREATE INDEX search_documents_by_time ON search_documents (at DESC, id DESC)`,
  `CREATE INDEX search_documents_of_project ON search_documents (project_id, at DESC, id DESC)`,
  `CREATE INDEX search_documents_by_grams ON search_documents USING gin (grams)`,

  // Without a unique key: a change must not wait for the indexer, which deletes a row in its transaction.
  `CREATE TABLE search_changes (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    source text NOT NULL,
    id text NOT NULL
  )`,

  `CREATE FUNCTION search_note_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO search_changes (source, id) VALUES (TG_TABLE_NAME, NEW.id);
      RETURN NULL;
    END
  $$`,
  `CREATE TRIGGER search_added AFTER INSERT ON sessions FOR EACH ROW EXECUTE FUNCTION search_note_change()`,
  `CREATE TRIGGER search_added AFTER INSERT ON messages FOR EACH ROW EXECUTE FUNCTION search_note_change()`,
  `CREATE TRIGGER search_added AFTER INSERT ON runs FOR EACH ROW EXECUTE FUNCTION search_note_change()`,
  `CREATE TRIGGER search_changed AFTER UPDATE OF title ON sessions FOR EACH ROW
    WHEN (OLD.title IS DISTINCT FROM NEW.title) EXECUTE FUNCTION search_note_change()`,
  `CREATE TRIGGER search_changed AFTER UPDATE OF text ON messages FOR EACH ROW
    WHEN (OLD.text IS DISTINCT FROM NEW.text) EXECUTE FUNCTION search_note_change()`,
  // The end of a run, and the deletion of its log.
  `CREATE TRIGGER search_changed AFTER UPDATE OF state, kept ON runs FOR EACH ROW
    WHEN ((OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL) OR OLD.kept IS DISTINCT FROM NEW.kept)
    EXECUTE FUNCTION search_note_change()`,

  // Documents end in the transaction that deletes their source. The change removes a document that is being written meanwhile.
  `CREATE FUNCTION search_remove() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      DELETE FROM search_documents WHERE id IN (
        SELECT kind || '_' || gone.id FROM gone CROSS JOIN unnest(string_to_array(TG_ARGV[0], ' ')) AS kind
      );
      INSERT INTO search_changes (source, id) SELECT TG_TABLE_NAME, id FROM gone;
      RETURN NULL;
    END
  $$`,
  `CREATE TRIGGER search_removed AFTER DELETE ON sessions REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION search_remove('title')`,
  `CREATE TRIGGER search_removed AFTER DELETE ON messages REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION search_remove('message')`,
  `CREATE TRIGGER search_removed AFTER DELETE ON runs REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION search_remove('prompt result files')`,

  // The indexer takes the latest change first.
  `INSERT INTO search_changes (source, id)
    SELECT source, id FROM (
      SELECT 'sessions' AS source, id, created_at FROM sessions
      UNION ALL SELECT 'messages', id, created_at FROM messages
      UNION ALL SELECT 'runs', id, created_at FROM runs
    ) AS existing ORDER BY created_at`,
  // The key of the table begins with the session.
  `CREATE INDEX messages_by_id ON messages (id)`
]

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
