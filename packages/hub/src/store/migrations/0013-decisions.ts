/** Details of a decision as JSON text, and an index on the records of one actor across all chains. */
export const decisionsMigration = [
  `ALTER TABLE audit ADD COLUMN details text`,
  `CREATE INDEX audit_of_actor ON audit (actor, id)`
]
