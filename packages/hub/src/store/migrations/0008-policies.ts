/** Approval policy of a project, and retention of run logs. */
export const policiesMigration = [
  `ALTER TABLE projects ADD COLUMN approvers text NOT NULL DEFAULT 'member', ADD COLUMN own_requests boolean NOT NULL DEFAULT true`,

  // Separate from updated_at, which every push changes: an indexed column must not change that often.
  `ALTER TABLE runs ADD COLUMN ended_at timestamptz(3), ADD COLUMN kept boolean NOT NULL DEFAULT true`,
  `UPDATE runs SET ended_at = updated_at WHERE state IN ('completed', 'failed', 'cancelled')`,
  `CREATE INDEX runs_kept_by_end ON runs (ended_at) WHERE kept`
]
