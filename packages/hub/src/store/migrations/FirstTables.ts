/** First tables of the Hub: migrations 1 to 9. One constant per migration, in their order. */

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

/** Projects, their members and the workspaces linked to them. */
export const projectsMigration = [
  `CREATE TABLE projects (
    id text PRIMARY KEY,
    name text NOT NULL,
    description text,
    visibility text NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
  )`,
  // Lists of readable projects are ordered by last change, newest first.
  `CREATE INDEX projects_by_change ON projects (updated_at DESC, id DESC)`,
  `CREATE TABLE project_members (
    project_id text NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    user_id text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    role text NOT NULL,
    added_at timestamptz NOT NULL,
    PRIMARY KEY (project_id, user_id)
  )`,
  `CREATE INDEX project_members_by_user ON project_members (user_id, project_id)`
]

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

/** Devices and the projects they are shared with, workspaces linked to projects, and sessions with their messages. */
export const devicesAndSessionsMigration = [
  `CREATE TABLE devices (
    id text PRIMARY KEY,
    owner_id text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name text NOT NULL,
    kind text NOT NULL,
    public_key text NOT NULL UNIQUE,
    created_at timestamptz(3) NOT NULL,
    revoked_at timestamptz(3),
    -- The connection of the link, and until when the device counts as online without another heartbeat.
    generation bigint NOT NULL DEFAULT 0,
    connection_id text,
    lease_until timestamptz(3),
    last_seen_at timestamptz(3),
    -- The last offer, as JSON text: JSON text may contain U+0000, jsonb may not.
    version text,
    workspaces text NOT NULL DEFAULT '[]',
    agents text NOT NULL DEFAULT '[]'
  )`,
  `CREATE INDEX devices_of_owner ON devices (owner_id, id DESC)`,
  `CREATE INDEX devices_by_lease ON devices (lease_until) WHERE revoked_at IS NULL`,
  `CREATE TABLE device_projects (
    device_id text NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
    project_id text NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    PRIMARY KEY (device_id, project_id)
  )`,
  `CREATE INDEX device_projects_of_project ON device_projects (project_id, device_id)`,
  // Only the SHA-256 of a token is stored, also after its use, so that a repeated request finds the owner.
  `CREATE TABLE join_tokens (
    token_hash bytea PRIMARY KEY,
    owner_id text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    expires_at timestamptz(3) NOT NULL,
    used_at timestamptz(3)
  )`,
  `CREATE INDEX join_tokens_by_end ON join_tokens (expires_at)`,
  `CREATE TABLE workspace_links (
    seq bigint GENERATED ALWAYS AS IDENTITY,
    project_id text NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    target_id text NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
    workspace text NOT NULL,
    added_by text NOT NULL,
    added_at timestamptz(3) NOT NULL,
    PRIMARY KEY (project_id, seq)
  )`,
  // A name may be longer than an index entry.
  `CREATE UNIQUE INDEX workspace_links_once ON workspace_links (project_id, target_id, md5(workspace))`,
  `CREATE INDEX workspace_links_of_target ON workspace_links (target_id)`,
  `CREATE TABLE sessions (
    id text PRIMARY KEY,
    project_id text NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    title text NOT NULL,
    state text NOT NULL,
    created_by text NOT NULL,
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL
  )`,
  `CREATE INDEX sessions_by_change ON sessions (project_id, updated_at DESC, id DESC)`,
  `CREATE INDEX sessions_by_state ON sessions (project_id, state, updated_at DESC, id DESC)`,
  `CREATE TABLE messages (
    id text NOT NULL,
    session_id text NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    user_id text,
    agent_instance_id text,
    text text NOT NULL,
    run_id text,
    created_at timestamptz(3) NOT NULL,
    PRIMARY KEY (session_id, id),
    CHECK ((user_id IS NULL) <> (agent_instance_id IS NULL))
  )`,
  // Messages outlive the membership of their author, and a session the agents of its target, so neither is a foreign key.
  `CREATE TABLE session_agents (
    id text NOT NULL,
    session_id text NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    agent_id text NOT NULL,
    label text NOT NULL,
    target_id text NOT NULL,
    workspace text NOT NULL,
    added_by text NOT NULL,
    added_at timestamptz(3) NOT NULL,
    PRIMARY KEY (session_id, id)
  )`,
  // Internal projects and the projects of a member are scanned separately.
  `CREATE INDEX projects_internal_by_change ON projects (updated_at DESC, id DESC) WHERE visibility = 'internal'`,
  `ALTER TABLE projects ALTER COLUMN updated_at TYPE timestamptz(3), ALTER COLUMN created_at TYPE timestamptz(3)`
]

/**
 * Tasks, the runs that they become, and the mirror of the runs' logs. Content of Edges and users is stored as JSON text: JSON escapes
 * characters that PostgreSQL rejects in `text` and `jsonb`.
 */
export const runsMigration = [
  // Lists of readable rows start with the projects that every user may read.
  `CREATE INDEX projects_internal ON projects (id) WHERE visibility = 'internal'`,

  `CREATE TABLE tasks (
    id text PRIMARY KEY,
    project_id text NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    session_id text,
    target_id text NOT NULL,
    run_id text,
    created_by text NOT NULL,
    state text NOT NULL,
    on_offline text NOT NULL,
    expires_at timestamptz,
    request text NOT NULL,
    error text,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
  )`,
  `CREATE INDEX tasks_of_project ON tasks (project_id, id)`,
  `CREATE INDEX tasks_of_project_by_state ON tasks (project_id, state, id)`,
  `CREATE INDEX tasks_of_session ON tasks (session_id, project_id, id)`,
  `CREATE INDEX tasks_waiting ON tasks (target_id, id) WHERE state IN ('pending', 'queued')`,
  `CREATE INDEX tasks_expiring ON tasks (expires_at) WHERE state = 'queued'`,

  // `offer` and `made` never change, and `offer` is small. `told` is the summary of the events besides the state. last_seq changes with every batch, within its page.
  `CREATE TABLE runs (
    id text PRIMARY KEY,
    project_id text NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    session_id text,
    task_id text,
    target_id text NOT NULL,
    offer text NOT NULL,
    made text NOT NULL,
    state text NOT NULL,
    started boolean NOT NULL DEFAULT false,
    pending text[] NOT NULL DEFAULT '{}',
    told text NOT NULL DEFAULT '{}',
    last_seq integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
  ) WITH (fillfactor = 80)`,
  `CREATE INDEX runs_of_project ON runs (project_id, id)`,
  `CREATE INDEX runs_of_project_by_state ON runs (project_id, state, id)`,
  `CREATE INDEX runs_of_project_by_target ON runs (project_id, target_id, id)`,
  `CREATE INDEX runs_of_project_by_target_and_state ON runs (project_id, target_id, state, id)`,
  `CREATE INDEX runs_of_session ON runs (session_id, project_id, id)`,

  // A row is a batch: consecutive events of one run, one per line.
  `CREATE TABLE run_events (
    run_id text NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    first_seq integer NOT NULL,
    last_seq integer NOT NULL,
    size integer NOT NULL,
    terminal boolean NOT NULL,
    lines text NOT NULL,
    PRIMARY KEY (run_id, last_seq)
  )`,

  `CREATE TABLE approvals (
    id text PRIMARY KEY,
    run_id text NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    project_id text NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    target_id text NOT NULL,
    state text NOT NULL,
    approval text NOT NULL
  )`,
  `CREATE INDEX approvals_of_project ON approvals (project_id, id)`,
  `CREATE INDEX approvals_of_project_by_state ON approvals (project_id, state, id)`,
  `CREATE INDEX approvals_of_run ON approvals (run_id, project_id, id)`
]

/** Links of devices: which connection has the link, and commands until they are answered. */
export const linkMigration = [
  // The start of the Edge that has the link, and the starts that it fenced. A fenced start that comes back has a copied key.
  `ALTER TABLE devices ADD COLUMN instance_id text, ADD COLUMN fenced_instances text[] NOT NULL DEFAULT '{}',
    ADD COLUMN flapped_at timestamptz(3)`,
  // A command is written before it is sent. `generation` is the generation of the link that sent it last, NULL while it was never sent.
  `CREATE TABLE edge_commands (
    id text PRIMARY KEY,
    seq bigint GENERATED ALWAYS AS IDENTITY,
    target_id text NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
    generation bigint,
    -- JSON text of the command and of its answer.
    command text NOT NULL,
    outcome text,
    created_at timestamptz(3) NOT NULL,
    -- A command that is not sent by then is never sent; NULL: it waits without a limit.
    expires_at timestamptz(3),
    answered_at timestamptz(3)
  )`,
  `CREATE INDEX edge_commands_waiting ON edge_commands (target_id, seq) WHERE outcome IS NULL`,
  `CREATE INDEX edge_commands_by_age ON edge_commands (created_at)`,
  // For tasks whose dispatch a stopped Hub did not finish.
  `CREATE INDEX tasks_on_their_way ON tasks (updated_at) WHERE state = 'pending'`
]

/** Approval policy of a project, and retention of run logs. */
export const policiesMigration = [
  `ALTER TABLE projects ADD COLUMN approvers text NOT NULL DEFAULT 'member', ADD COLUMN own_requests boolean NOT NULL DEFAULT true`,

  // Separate from updated_at, which every push changes: an indexed column must not change that often.
  `ALTER TABLE runs ADD COLUMN ended_at timestamptz(3), ADD COLUMN kept boolean NOT NULL DEFAULT true`,
  `UPDATE runs SET ended_at = updated_at WHERE state IN ('completed', 'failed', 'cancelled')`,
  `CREATE INDEX runs_kept_by_end ON runs (ended_at) WHERE kept`
]

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
