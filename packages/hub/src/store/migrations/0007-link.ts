/** What the links of devices leave behind: who holds each, and commands until they are answered. */
export const linkMigration = [
  // Which start of which Edge holds the link, and those that it took the link from: one that comes back has a copied key.
  `ALTER TABLE devices ADD COLUMN instance_id text, ADD COLUMN fenced_instances text[] NOT NULL DEFAULT '{}',
    ADD COLUMN flapped_at timestamptz(3)`,
  // A command is here before it is sent; `generation` is that of the link that it was sent over last. Without one nobody has it.
  `CREATE TABLE edge_commands (
    id text PRIMARY KEY,
    seq bigint GENERATED ALWAYS AS IDENTITY,
    target_id text NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
    generation bigint,
    -- JSON text, as it is sent and as it was answered.
    command text NOT NULL,
    outcome text,
    created_at timestamptz(3) NOT NULL,
    -- When it is not sent any more if it never was; NULL: it waits as long as it takes.
    expires_at timestamptz(3),
    answered_at timestamptz(3)
  )`,
  `CREATE INDEX edge_commands_waiting ON edge_commands (target_id, seq) WHERE outcome IS NULL`,
  `CREATE INDEX edge_commands_by_age ON edge_commands (created_at)`,
  // What a Hub that ended left on its way is looked for.
  `CREATE INDEX tasks_on_their_way ON tasks (updated_at) WHERE state = 'pending'`
]
