/** Questions and plans of runs, and what the mirror keeps of a run's turns and of its work in the background. */
export const inputsMigration = [
  `CREATE TABLE inputs (
    id text PRIMARY KEY,
    run_id text NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    project_id text NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    target_id text NOT NULL,
    state text NOT NULL,
    input text NOT NULL
  )`,
  `CREATE INDEX inputs_of_project ON inputs (project_id, id)`,
  `CREATE INDEX inputs_of_project_by_state ON inputs (project_id, state, id)`,
  `CREATE INDEX inputs_of_run ON inputs (run_id, project_id, id)`,

  // Who sent the approval of a plan over this Hub. An Edge's event alone writes no message in a user's name.
  `CREATE TABLE plan_approvals (
    input_id text NOT NULL REFERENCES inputs (id) ON DELETE CASCADE,
    user_id text NOT NULL,
    mode text NOT NULL,
    comment text NOT NULL,
    PRIMARY KEY (input_id, user_id, mode)
  )`,

  // `work` is JSON, and NULL while there is none. `fed_turn`: the turn after which a message was sent to the idle run; 0 if there is none.
  `ALTER TABLE runs ADD COLUMN pending_inputs text[] NOT NULL DEFAULT '{}', ADD COLUMN turn integer NOT NULL DEFAULT 1,
    ADD COLUMN idle boolean NOT NULL DEFAULT false, ADD COLUMN work text, ADD COLUMN fed_turn integer NOT NULL DEFAULT 0`,

  // `turn` and `outstanding` are of the text of a turn after which its run continued.
  `ALTER TABLE messages ADD COLUMN waits_for text, ADD COLUMN turn integer, ADD COLUMN outstanding integer`,
  `CREATE UNIQUE INDEX messages_turn_of_run ON messages (session_id, run_id, turn) WHERE turn IS NOT NULL`,

  // Limits of runs that do not have others.
  `ALTER TABLE projects ADD COLUMN background_ms integer, ADD COLUMN input_ttl_ms integer`
]
