/** When a command was last sent, to find starts that are not answered. */
export const sentCommandsMigration = [`ALTER TABLE edge_commands ADD COLUMN sent_at timestamptz(3)`]
