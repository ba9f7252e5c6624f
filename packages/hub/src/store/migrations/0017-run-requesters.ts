/** Users who sent a message to a run. `input` identifies each message, so that a refused one can be removed. */
export const runRequestersMigration = [
  `CREATE TABLE run_requesters (
    run_id text NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    user_id text NOT NULL,
    input text NOT NULL,
    PRIMARY KEY (run_id, user_id, input)
  )`,
  `INSERT INTO run_requesters SELECT r.id, t.created_by, 'task' FROM runs r JOIN tasks t ON t.id = r.task_id`,
  `INSERT INTO run_requesters
    SELECT DISTINCT r.id, a.actor, 'audit' FROM audit a JOIN runs r ON r.id = a.resource
    WHERE a.action = 'run.input' AND (a.outcome = 'allowed' OR a.code = 'target_offline')`
]
