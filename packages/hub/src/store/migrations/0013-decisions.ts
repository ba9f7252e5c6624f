/** What was decided, beside that somebody decided, as JSON text; and the way to the records of one person across all chains. */
export const decisions = [
  `ALTER TABLE audit ADD COLUMN details text`,
  `CREATE INDEX audit_of_actor ON audit (actor, id)`
]
