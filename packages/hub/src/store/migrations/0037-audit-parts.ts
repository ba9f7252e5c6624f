/**
 * Chains of the records without a project from now on, so that several transactions add records at the same time. Each has every 64th position, from
 * `first_seq` on. The chain before them stays as it is: Hubs of earlier versions add up to a million records to it during an upgrade.
 */
export const auditPartsMigration = [
  `CREATE TABLE audit_parts (
    part smallint PRIMARY KEY,
    first_seq bigint NOT NULL,
    seq bigint NOT NULL,
    at timestamptz(3),
    hash text NOT NULL,
    prev_hash text
  )`,
  `INSERT INTO audit_parts (part, first_seq, seq, hash)
   SELECT part, earlier.last + part, earlier.last + part - 64, repeat('0', 64) FROM generate_series(1, 64) AS part,
     (SELECT COALESCE((SELECT seq + 1000000 FROM audit_heads WHERE chain = ''), 0) AS last) AS earlier`
]
