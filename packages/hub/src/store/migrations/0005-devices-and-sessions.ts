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
