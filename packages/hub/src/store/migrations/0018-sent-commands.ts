/** When a command was last sent: how long an Edge has owed its answer. */
export const sentCommandsMigration = [`ALTER TABLE edge_commands ADD COLUMN sent_at timestamptz(3)`]
