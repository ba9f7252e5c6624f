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
