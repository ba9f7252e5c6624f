/** People and their sign-ins. A person is who the identity provider says: issuer and subject, never an address. */
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
  // Of a token only its SHA-256 is kept: whoever reads this table can sign in as nobody.
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
