/** The hash before the last one, so that one statement appends a record: it returns what it has replaced. */
export const auditHeadsMigration = [`ALTER TABLE audit_heads ADD COLUMN prev_hash text`]
