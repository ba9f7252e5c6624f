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
