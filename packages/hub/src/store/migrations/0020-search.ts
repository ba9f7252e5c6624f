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
