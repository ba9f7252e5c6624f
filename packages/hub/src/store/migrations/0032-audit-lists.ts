/** Indexes in the order of the lists of audit records, for each filter, and the time of each chain's last record. */
export const auditListsMigration = [
  `ALTER TABLE audit_heads ADD COLUMN at timestamptz(3)`,
  `CREATE INDEX audit_of_chain ON audit (chain, at, seq)`,
  `CREATE INDEX audit_of_chain_by_actor ON audit (chain, actor, at, seq)`,
  `CREATE INDEX audit_of_chain_by_action ON audit (chain, action, at, seq)`,
  `CREATE INDEX audit_of_chain_by_actor_and_action ON audit (chain, actor, action, at, seq)`,
  `CREATE INDEX audit_by_actor ON audit (actor, at, id)`,
  `CREATE INDEX audit_by_actor_and_action ON audit (actor, action, at, id)`,
  `CREATE INDEX audit_about_user ON audit (about, at, id) WHERE chain = '' AND about IS NOT NULL`,
  // `audit_by_actor` and `audit_about_user` serve the statements of older Hubs as well.
  `DROP INDEX audit_of_actor`,
  `DROP INDEX audit_about`
]
