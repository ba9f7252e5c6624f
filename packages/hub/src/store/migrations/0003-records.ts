/** The audit trail, and the responses to requests with an idempotency key. */
export const recordsMigration = [
  // One row per chain, locked while a record is added, so that seq is dense and each hash covers the one before. '' is the chain without a project.
  `CREATE TABLE audit_heads (
    chain text PRIMARY KEY,
    seq bigint NOT NULL,
    hash text NOT NULL
  )`,
  `CREATE TABLE audit (
    chain text NOT NULL,
    seq bigint NOT NULL,
    id text NOT NULL UNIQUE,
    at text NOT NULL,
    actor text NOT NULL,
    action text NOT NULL,
    resource text NOT NULL,
    outcome text NOT NULL,
    code text,
    request_id text NOT NULL,
    prev_hash text NOT NULL,
    hash text NOT NULL,
    PRIMARY KEY (chain, seq)
  )`,
  `CREATE TABLE idempotency (
    scope text NOT NULL,
    key text NOT NULL,
    fingerprint text NOT NULL,
    body text NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (scope, key)
  )`,
  `CREATE INDEX idempotency_by_age ON idempotency (created_at)`
]
