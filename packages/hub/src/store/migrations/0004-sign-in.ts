/** State of sign-ins: attempts at the identity provider, replaced tokens, device codes, logout tokens and API keys. */
export const signInMigration = [
  // The provider's session, by which the provider ends sign-ins.
  `ALTER TABLE sign_ins ADD COLUMN provider_session text`,
  `CREATE INDEX sign_ins_by_provider_session ON sign_ins (provider_session) WHERE revoked_at IS NULL`,
  `CREATE INDEX sign_ins_by_cap ON sign_ins (cap_at)`,
  // Earlier tokens of a sign-in. One that is used again reveals a stolen copy.
  `CREATE TABLE replaced_tokens (
    token_hash bytea PRIMARY KEY,
    sign_in_id text NOT NULL REFERENCES sign_ins (id) ON DELETE CASCADE,
    replaced_at timestamptz NOT NULL
  )`,
  `CREATE INDEX replaced_tokens_of_sign_in ON replaced_tokens (sign_in_id)`,
  `CREATE TABLE login_attempts (
    state_hash bytea PRIMARY KEY,
    browser_hash bytea NOT NULL,
    nonce text NOT NULL,
    verifier text NOT NULL,
    return_to text NOT NULL,
    created_at timestamptz NOT NULL
  )`,
  `CREATE INDEX login_attempts_by_age ON login_attempts (created_at)`,
  `CREATE TABLE device_codes (
    device_hash bytea PRIMARY KEY,
    user_code_hash bytea NOT NULL UNIQUE,
    kind text NOT NULL,
    client_name text,
    interval_s integer NOT NULL,
    asked_at timestamptz,
    decision text,
    user_id text REFERENCES users (id) ON DELETE CASCADE,
    created_at timestamptz NOT NULL
  )`,
  `CREATE INDEX device_codes_by_age ON device_codes (created_at)`,
  `CREATE TABLE logout_tokens (
    id_hash bytea PRIMARY KEY,
    seen_at timestamptz NOT NULL
  )`,
  `CREATE INDEX logout_tokens_by_age ON logout_tokens (seen_at)`,
  `CREATE TABLE api_keys (
    id text PRIMARY KEY,
    user_id text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name text NOT NULL,
    scopes text NOT NULL,
    token_hash bytea NOT NULL UNIQUE,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    last_used_at timestamptz,
    revoked_at timestamptz
  )`,
  `CREATE INDEX api_keys_of_user ON api_keys (user_id, id) WHERE revoked_at IS NULL`
]
