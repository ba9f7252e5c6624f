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
