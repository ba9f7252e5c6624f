/** Who decides approvals of a project, and how long the logs of runs are kept. */
export const policiesMigration = [
  `ALTER TABLE projects ADD COLUMN approvers text NOT NULL DEFAULT 'member', ADD COLUMN own_requests boolean NOT NULL DEFAULT true`,

  // Of its own, because each push moves updated_at: a column that has an index may not change so often.
  `ALTER TABLE runs ADD COLUMN ended_at timestamptz(3), ADD COLUMN kept boolean NOT NULL DEFAULT true`,
  `UPDATE runs SET ended_at = updated_at WHERE state IN ('completed', 'failed', 'cancelled')`,
  `CREATE INDEX runs_kept_by_end ON runs (ended_at) WHERE kept`
]
