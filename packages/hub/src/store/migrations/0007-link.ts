/** Links of devices: which connection has the link, and commands until they are answered. */
export const linkMigration = [
  // The start of the Edge that has the link, and the starts that it fenced. A fenced start that comes back has a copied key.
  `ALTER TABLE devices ADD COLUMN instance_id text, ADD COLUMN fenced_instances text[] NOT NULL DEFAULT '{}',
    ADD COLUMN flapped_at timestamptz(3)`,
  // A command is written before it is sent. `generation` is the generation of the link that sent it last, NULL while it was never sent.
  `CREATE TABLE edge_commands (
    id text PRIMARY KEY,
    seq bigint GENERATED ALWAYS AS IDENTITY,
    target_id text NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
    generation bigint,
    -- JSON text of the command and of its answer.
    command text NOT NULL,
    outcome text,
    created_at timestamptz(3) NOT NULL,
    -- A command that is not sent by then is never sent; NULL: it waits without a limit.
    expires_at timestamptz(3),
    answered_at timestamptz(3)
  )`,
  `CREATE INDEX edge_commands_waiting ON edge_commands (target_id, seq) WHERE outcome IS NULL`,
  `CREATE INDEX edge_commands_by_age ON edge_commands (created_at)`,
  // For tasks whose dispatch a stopped Hub did not finish.
  `CREATE INDEX tasks_on_their_way ON tasks (updated_at) WHERE state = 'pending'`
]
