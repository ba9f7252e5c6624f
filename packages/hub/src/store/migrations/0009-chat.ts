/** Chat accounts that act as users, and their pending links. */
export const chatMigration = [
  // Last sign-in at the identity provider. The rights of a chat account end some time after it.
  `ALTER TABLE users ADD COLUMN signed_in_at timestamptz`,
  `UPDATE users SET signed_in_at = COALESCE(
    (SELECT max(created_at) FROM sign_ins WHERE user_id = users.id), users.created_at
  )`,
  // A Hub of the previous version may still be running and does not set it.
  `ALTER TABLE users ALTER COLUMN signed_in_at SET NOT NULL, ALTER COLUMN signed_in_at SET DEFAULT now()`,
  // Maximum age of the provider's own sign-in, where it was requested.
  `ALTER TABLE login_attempts ADD COLUMN max_age_s integer`,
  `CREATE TABLE chat_bindings (
    id text PRIMARY KEY,
    platform text NOT NULL,
    app text NOT NULL,
    tenant text NOT NULL,
    account text NOT NULL,
    user_id text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name text,
    created_at timestamptz NOT NULL,
    ended_at timestamptz
  )`,
  // An account acts as one user.
  `CREATE UNIQUE INDEX chat_bindings_of_account ON chat_bindings (platform, app, tenant, account) WHERE ended_at IS NULL`,
  `CREATE INDEX chat_bindings_of_user ON chat_bindings (user_id, id) WHERE ended_at IS NULL`,
  // Only the SHA-256 of code, number and browser is stored.
  `CREATE TABLE chat_links (
    id text PRIMARY KEY,
    code_hash bytea NOT NULL UNIQUE,
    platform text NOT NULL,
    app text NOT NULL,
    tenant text NOT NULL,
    account text NOT NULL,
    name text,
    tenant_name text,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    user_id text REFERENCES users (id) ON DELETE CASCADE,
    browser_hash bytea,
    number_hash bytea,
    tries integer NOT NULL DEFAULT 0,
    ended_at timestamptz,
    binding_id text REFERENCES chat_bindings (id) ON DELETE CASCADE
  )`,
  `CREATE INDEX chat_links_of_account ON chat_links (platform, app, tenant, account, created_at)`,
  `CREATE INDEX chat_links_by_age ON chat_links (created_at)`
]
