/** Users and their sign-ins. Issuer and subject of the identity provider identify a user, never an email address. */
export const peopleMigration = [
  `CREATE TABLE users (
    id text PRIMARY KEY,
    issuer text NOT NULL,
    subject text NOT NULL,
    name text NOT NULL,
    email text,
    created_at timestamptz NOT NULL,
    UNIQUE (issuer, subject)
  )`,
  // Only the SHA-256 of a token is stored, so that reading this table does not allow a sign-in.
  `CREATE TABLE sign_ins (
    id text PRIMARY KEY,
    user_id text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    kind text NOT NULL,
    token_hash bytea NOT NULL UNIQUE,
    created_at timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL,
    idle_until timestamptz NOT NULL,
    cap_at timestamptz NOT NULL,
    revoked_at timestamptz
  )`,
  `CREATE INDEX sign_ins_of_user ON sign_ins (user_id)`
]
