/** Changes after release 0.2.0: migrations 23 to 44. One constant per migration, in their order. */

/**
 * Files of messages. An upload belongs to its user until a message refers to it, then to the session, and to forks of the session.
 *
 * `messages.attachments` repeats what does not change, so that a list of messages needs no join.
 */
export const attachmentsMigration = [
  // `sha256` is NULL until all bytes are stored. Before that, `bytes` is the size that was announced.
  `CREATE TABLE uploads (
    id text PRIMARY KEY,
    user_id text NOT NULL,
    name text NOT NULL,
    media_type text NOT NULL,
    bytes integer NOT NULL,
    sha256 text,
    is_sent boolean NOT NULL DEFAULT false,
    created_at timestamptz(3) NOT NULL
  )`,
  `CREATE INDEX uploads_unsent ON uploads (user_id) WHERE NOT is_sent`,
  `CREATE INDEX uploads_unsent_by_time ON uploads (created_at) WHERE NOT is_sent`,
  // Pieces of equal size but the last. Not compressed: images are already, and a piece is read from any position.
  `CREATE TABLE upload_pieces (
    upload_id text NOT NULL REFERENCES uploads (id) ON DELETE CASCADE,
    n integer NOT NULL,
    bytes bytea NOT NULL,
    PRIMARY KEY (upload_id, n)
  )`,
  `ALTER TABLE upload_pieces ALTER COLUMN bytes SET STORAGE EXTERNAL`,
  `CREATE TABLE session_uploads (
    session_id text NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    upload_id text NOT NULL REFERENCES uploads (id),
    PRIMARY KEY (session_id, upload_id)
  )`,
  `CREATE INDEX session_uploads_of_upload ON session_uploads (upload_id)`,
  `ALTER TABLE messages ADD COLUMN attachments text NOT NULL DEFAULT '[]'`,
  // Files that the start of the task's run names: NULL for none.
  `ALTER TABLE tasks ADD COLUMN attachments text`
]

/** Chats that receive the text of answers, per project. */
export const chatAnswersMigration = [
  `ALTER TABLE projects ADD COLUMN chat_answers text NOT NULL DEFAULT 'direct'`
]

/** The hash before the last one, so that one statement appends a record: it returns what it has replaced. */
export const auditHeadsMigration = [`ALTER TABLE audit_heads ADD COLUMN prev_hash text`]

/** Time that one commit takes, measured by the server: what the Hub measures includes its own load. */
export const commitTimeMigration = [
  `CREATE PROCEDURE corral_commit_time(INOUT ms double precision) LANGUAGE plpgsql AS $$
    DECLARE
      beganAt timestamptz;
    BEGIN
      PERFORM pg_logical_emit_message(true, 'corral', 'commit time');
      beganAt := clock_timestamp();
      COMMIT;
      ms := extract(epoch FROM clock_timestamp() - beganAt) * 1000;
    END
  $$`
]

/**
 * Events in partitions by the time of their runs, which the ids contain. The rows so far become the first partition, without being copied: this
 * reads them once, to check their range. `Retention` adds further ones.
 */
export const partitionsMigration = [
  // The smallest id of a run that was created then.
  `CREATE FUNCTION corral_first_run_id(at timestamptz) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
    DECLARE
      millis bigint := floor(extract(epoch FROM at) * 1000);
      digits text := '';
    BEGIN
      FOR i IN 1..10 LOOP
        digits := substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (millis % 32)::int + 1, 1) || digits;
        millis := millis / 32;
      END LOOP;
      RETURN 'run_' || digits;
    END
  $$`,
  `ALTER TABLE run_events RENAME TO run_events_before`,
  `ALTER INDEX run_events_pkey RENAME TO run_events_before_pkey`,
  `ALTER TABLE run_events_before RENAME CONSTRAINT run_events_run_id_fkey TO run_events_before_run_id_fkey`,
  `CREATE TABLE run_events (LIKE run_events_before, PRIMARY KEY (run_id, last_seq)) PARTITION BY RANGE (run_id)`,
  `ALTER TABLE run_events ADD CONSTRAINT run_events_run_id_fkey FOREIGN KEY (run_id) REFERENCES runs (id) ON DELETE CASCADE`,
  // Ids of another time than now, for example of a machine whose clock was wrong.
  `CREATE TABLE run_events_default PARTITION OF run_events DEFAULT`,
  `DO $$
    DECLARE
      upper_id text := corral_first_run_id(date_trunc('week', now(), 'UTC') + interval '1 week');
    BEGIN
      WITH later AS (DELETE FROM run_events_before WHERE run_id >= upper_id RETURNING *)
        INSERT INTO run_events_default SELECT * FROM later;
      EXECUTE format('ALTER TABLE run_events_before ADD CONSTRAINT run_events_before_range CHECK (run_id < %L)', upper_id);
      EXECUTE format('ALTER TABLE run_events ATTACH PARTITION run_events_before FOR VALUES FROM (MINVALUE) TO (%L)', upper_id);
      ALTER TABLE run_events_before DROP CONSTRAINT run_events_before_range;
    END
  $$`
]

/** Indexes and columns without which a frequent statement reads a whole table that grows. */
export const growingTablesMigration = [
  // A heartbeat changes no indexed column, so that its row stays on its page: `linked` changes when a link begins and ends.
  `ALTER TABLE devices ADD COLUMN linked boolean NOT NULL DEFAULT false`,
  `UPDATE devices SET linked = true WHERE lease_until IS NOT NULL`,
  `DROP INDEX devices_by_lease`,
  `CREATE INDEX devices_linked ON devices (id) WHERE linked`,
  `ALTER TABLE devices SET (fillfactor = 70)`,

  `CREATE INDEX runs_active ON runs (id) WHERE state NOT IN ('completed', 'failed', 'cancelled')`,

  // When an upload lost a session that it belonged to: the sweep looks whether it was the last one.
  `ALTER TABLE uploads ADD COLUMN released_at timestamptz(3)`,
  `UPDATE uploads u SET released_at = now()
    WHERE is_sent AND NOT EXISTS (SELECT 1 FROM session_uploads s WHERE s.upload_id = u.id)`,
  `CREATE INDEX uploads_released ON uploads (released_at) WHERE released_at IS NOT NULL`,
  `CREATE INDEX uploads_arriving ON uploads (created_at) WHERE NOT is_sent AND sha256 IS NULL`,
  `CREATE FUNCTION uploads_release() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      UPDATE uploads SET released_at = now() WHERE id IN (SELECT upload_id FROM gone);
      RETURN NULL;
    END
  $$`,
  `CREATE TRIGGER uploads_released AFTER DELETE ON session_uploads REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION uploads_release()`
]

/**
 * Lets Hubs of 0.2.0 work on this database during an upgrade: they know no column `linked`, so it follows the lease that they write. Hubs of later versions
 * write both, and never run the function. To be removed with the release after the next one.
 */
export const olderHubsMigration = [
  `CREATE FUNCTION devices_follow_lease() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      NEW.linked := NEW.lease_until IS NOT NULL;
      RETURN NEW;
    END
  $$`,
  `CREATE TRIGGER devices_of_older_hubs BEFORE UPDATE OF lease_until ON devices
    FOR EACH ROW WHEN ((NEW.lease_until IS NULL) = NEW.linked) EXECUTE FUNCTION devices_follow_lease()`,
  `UPDATE devices SET linked = lease_until IS NOT NULL WHERE linked <> (lease_until IS NOT NULL)`
]

/** When each work that one of several Hubs does is due. */
export const sharedWorkMigration = [
  `CREATE TABLE shared_work (name text PRIMARY KEY, due_at timestamptz(3) NOT NULL)`
]

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

/** Indexes in the order of the lists of audit records, for each filter, and the time of each chain's last record. */
export const auditListsMigration = [
  `ALTER TABLE audit_heads ADD COLUMN at timestamptz(3)`,
  `CREATE INDEX audit_of_chain ON audit (chain, at, seq)`,
  `CREATE INDEX audit_of_chain_by_actor ON audit (chain, actor, at, seq)`,
  `CREATE INDEX audit_of_chain_by_action ON audit (chain, action, at, seq)`,
  `CREATE INDEX audit_of_chain_by_actor_and_action ON audit (chain, actor, action, at, seq)`,
  `CREATE INDEX audit_by_actor ON audit (actor, at, id)`,
  `CREATE INDEX audit_by_actor_and_action ON audit (actor, action, at, id)`,
  `CREATE INDEX audit_about_user ON audit (about, at, id) WHERE chain = '' AND about IS NOT NULL`,
  // `audit_by_actor` and `audit_about_user` serve the statements of older Hubs as well.
  `DROP INDEX audit_of_actor`,
  `DROP INDEX audit_about`
]

/** What a repeated exchange of a token needs to give the same new token. */
export const successorsMigration = [`ALTER TABLE replaced_tokens ADD COLUMN salt bytea`]

/** Messages that wait after Stop or an error until a user continues. `session_agents.held` is JSON. */
export const heldQueuesMigration = [
  `ALTER TABLE messages ADD COLUMN held boolean NOT NULL DEFAULT false`,
  `ALTER TABLE session_agents ADD COLUMN held text`
]

/** Runs that another run replaces without an act of a user. `replaced_for`: the message that the other run receives. */
export const replacedRunsMigration = ["ALTER TABLE runs ADD COLUMN replaced_for text"]

/** What a user has uploaded lately, for the quota of a day. */
export const uploadQuotasMigration = [
  `CREATE INDEX uploads_of_user_by_time ON uploads (user_id, created_at) INCLUDE (bytes)`
]

/** Limits of a message's run, and the defaults of an agent's turns. `budget` is JSON. */
export const turnLimitsMigration = [
  `ALTER TABLE messages ADD COLUMN budget text, ADD COLUMN timeout_ms integer`,
  `ALTER TABLE session_agents ADD COLUMN budget text, ADD COLUMN timeout_ms integer`
]

/**
 * Chains of the records without a project from now on, so that several transactions add records at the same time. Each has every 64th position, from
 * `first_seq` on. The chain before them stays as it is: Hubs of earlier versions add up to a million records to it during an upgrade.
 */
export const auditPartsMigration = [
  `CREATE TABLE audit_parts (
    part smallint PRIMARY KEY,
    first_seq bigint NOT NULL,
    seq bigint NOT NULL,
    at timestamptz(3),
    hash text NOT NULL,
    prev_hash text
  )`,
  `INSERT INTO audit_parts (part, first_seq, seq, hash)
   SELECT part, earlier.last + part, earlier.last + part - 64, repeat('0', 64) FROM generate_series(1, 64) AS part,
     (SELECT COALESCE((SELECT seq + 1000000 FROM audit_heads WHERE chain = ''), 0) AS last) AS earlier`
]

/** Preferences of users. `document` is JSON. */
export const preferencesMigration = [
  `CREATE TABLE preferences (
    user_id text PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    version integer NOT NULL,
    document text NOT NULL
  )`
]

/**
 * Change sets of runs as their Edges report them, the runs of each, and the decisions. `change_set` and `decision` are JSON. `waits`: a person can decide.
 * `settled_run_id`: the newest run whose changes were all decided.
 */
export const changeSetsMigration = [
  `CREATE TABLE change_sets (
    id text PRIMARY KEY,
    project_id text NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    run_id text NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    session_id text,
    target_id text NOT NULL,
    state text NOT NULL,
    direct boolean NOT NULL,
    waits boolean NOT NULL,
    file_count integer NOT NULL,
    settled_run_id text,
    change_set text NOT NULL
  )`,
  `CREATE INDEX change_sets_of_project ON change_sets (project_id, id)`,
  `CREATE INDEX change_sets_of_project_by_state ON change_sets (project_id, state, id)`,
  `CREATE INDEX change_sets_waiting ON change_sets (project_id, id) WHERE waits`,
  `CREATE INDEX change_sets_of_session ON change_sets (session_id, project_id, id)`,
  `CREATE INDEX change_sets_of_run ON change_sets (run_id)`,
  `CREATE TABLE change_set_runs (
    run_id text PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    set_id text NOT NULL REFERENCES change_sets (id) ON DELETE CASCADE
  )`,
  `CREATE INDEX change_set_runs_of_set ON change_set_runs (set_id, run_id)`,
  `CREATE TABLE change_decisions (
    id text PRIMARY KEY,
    set_id text NOT NULL REFERENCES change_sets (id) ON DELETE CASCADE,
    decision text NOT NULL
  )`,
  `CREATE INDEX change_decisions_of_set ON change_decisions (set_id, id)`,

  // Folder of runs that name none.
  `ALTER TABLE projects ADD COLUMN isolation text`
]

/** The last state of a binding that a Gateway has received. Existing bindings are not news, also those that were suspended long ago. */
export const bindingUpdatesMigration = [
  `ALTER TABLE chat_bindings ADD COLUMN reported text`,
  `UPDATE chat_bindings SET reported = CASE
     WHEN ended_at IS NOT NULL THEN 'unlinked' WHEN users.signed_in_at <= now() - interval '90 days' THEN 'suspended' ELSE 'linked'
   END FROM users WHERE users.id = user_id`,
  `CREATE INDEX chat_bindings_to_report ON chat_bindings (platform, app) WHERE reported IS DISTINCT FROM 'unlinked'`
]

/**
 * Groups of tasks, and checks of projects. `agent_instance_id` is the candidate's agent in the session. `closed_at`: another candidate was continued.
 * `removed_at`: the target has removed what was undecided. `checks` is JSON.
 */
export const taskGroupsMigration = [
  `CREATE TABLE task_groups (
    id text PRIMARY KEY,
    project_id text NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    session_id text NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    target_id text NOT NULL,
    workspace text NOT NULL,
    isolation text NOT NULL,
    continued_task_id text,
    continued_by text,
    continued_at timestamptz(3),
    created_by text NOT NULL,
    created_at timestamptz(3) NOT NULL
  )`,
  `CREATE INDEX task_groups_of_project ON task_groups (project_id)`,
  `CREATE INDEX task_groups_of_session ON task_groups (session_id)`,
  `CREATE TABLE task_group_candidates (
    task_id text PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
    group_id text NOT NULL REFERENCES task_groups (id) ON DELETE CASCADE,
    position integer NOT NULL,
    agent_instance_id text NOT NULL,
    label text NOT NULL,
    closed_at timestamptz(3),
    removed_at timestamptz(3)
  )`,
  `CREATE INDEX task_group_candidates_of_group ON task_group_candidates (group_id, position)`,
  `CREATE INDEX task_group_candidates_to_remove ON task_group_candidates (task_id) WHERE closed_at IS NOT NULL AND removed_at IS NULL`,
  `ALTER TABLE tasks ADD COLUMN group_id text`,
  `ALTER TABLE messages ADD COLUMN group_id text`,
  `ALTER TABLE session_agents ADD COLUMN group_id text, ADD COLUMN closed_at timestamptz(3)`,
  `ALTER TABLE projects ADD COLUMN checks text`
]

/** Amount of a run's report: none is 0, and it fits the column. */
const storedCount = (value: string): string =>
  `LEAST(GREATEST(COALESCE(round((${value})::numeric), 0), 0), 9000000000000000)::bigint`
const toldCount = (name: string): string => storedCount(`f.facts #>> '{usage,${name}}'`)

/**
 * What each run has used, and what it has reserved under the limits of its project; the limits, and the notices about them. Costs are in millionths
 * of a dollar. `unpriced`: the run has used tokens without a price, so its cost is only a part, or none. `runs.reserved` is the budget that the run has under limits, as JSON. Triggers add the row of a run and release what it has
 * reserved when it ends, also for Hubs of earlier versions. Earlier runs count for their day in UTC.
 */
export const usageMigration = [
  `ALTER TABLE projects ADD COLUMN time_zone text NOT NULL DEFAULT 'UTC', ADD COLUMN run_budget text`,
  `ALTER TABLE runs ADD COLUMN reserved text`,
  `CREATE TABLE run_usage (
    run_id text PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    project_id text NOT NULL,
    user_id text,
    agent_id text NOT NULL,
    model text,
    day text NOT NULL,
    ended boolean NOT NULL DEFAULT false,
    reserved_micros bigint NOT NULL DEFAULT 0,
    reserved_tokens bigint NOT NULL DEFAULT 0,
    input_tokens bigint NOT NULL DEFAULT 0,
    output_tokens bigint NOT NULL DEFAULT 0,
    cached_tokens bigint NOT NULL DEFAULT 0,
    reasoning_tokens bigint NOT NULL DEFAULT 0,
    turns bigint NOT NULL DEFAULT 0,
    cost_micros bigint,
    estimated boolean NOT NULL DEFAULT false,
    unpriced boolean NOT NULL DEFAULT false
  ) WITH (fillfactor = 80)`,
  `CREATE TABLE project_limits (
    project_id text NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    subject text NOT NULL,
    cost_micros bigint,
    tokens bigint,
    updated_at timestamptz(3) NOT NULL,
    PRIMARY KEY (project_id, subject)
  )`,
  `CREATE TABLE limit_notices (
    project_id text NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    subject text NOT NULL,
    day text NOT NULL,
    state text NOT NULL,
    at timestamptz(3) NOT NULL,
    PRIMARY KEY (project_id, subject, day)
  )`,
  `CREATE FUNCTION pg_temp.told_facts(told text) RETURNS json LANGUAGE plpgsql AS $$
   BEGIN
     RETURN json_build_object('usage', told::json -> 'usage', 'model', told::json ->> 'model');
   EXCEPTION WHEN others THEN
     RETURN NULL;
   END $$`,
  `INSERT INTO run_usage (run_id, project_id, user_id, agent_id, model, day, ended, input_tokens, output_tokens, cached_tokens, reasoning_tokens,
     turns, cost_micros)
   SELECT r.id, r.project_id, t.created_by, r.offer::json ->> 'agentId', f.facts ->> 'model', to_char(r.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD'),
     r.state IN ('completed', 'failed', 'cancelled'), ${toldCount("inputTokens")}, ${toldCount("outputTokens")}, ${toldCount("cachedInputTokens")},
     ${toldCount("reasoningTokens")}, ${toldCount("turns")},
     CASE WHEN f.facts #>> '{usage,costUsd}' IS NOT NULL THEN ${storedCount("(f.facts #>> '{usage,costUsd}')::numeric * 1000000")} END
   FROM runs r LEFT JOIN tasks t ON t.id = r.task_id CROSS JOIN LATERAL (SELECT pg_temp.told_facts(r.told) AS facts) AS f`,
  `CREATE INDEX run_usage_of_project_by_day ON run_usage (project_id, day, user_id)`,
  `CREATE FUNCTION run_usage_add() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     INSERT INTO run_usage (run_id, project_id, user_id, agent_id, day) VALUES (
       NEW.id, NEW.project_id, (SELECT created_by FROM tasks WHERE id = NEW.task_id), NEW.offer::json ->> 'agentId',
       to_char(NEW.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')
     ) ON CONFLICT DO NOTHING;
     RETURN NULL;
   END $$`,
  `CREATE TRIGGER run_usage_added AFTER INSERT ON runs FOR EACH ROW EXECUTE FUNCTION run_usage_add()`,
  // A run that continues after it was given up reserves nothing again: others may have what it had.
  `CREATE FUNCTION run_usage_release() RETURNS trigger LANGUAGE plpgsql AS $$
   BEGIN
     UPDATE run_usage SET ended = NEW.state IN ('completed', 'failed', 'cancelled'), reserved_micros = 0, reserved_tokens = 0
     WHERE run_id = NEW.id;
     RETURN NULL;
   END $$`,
  `CREATE TRIGGER run_usage_released AFTER UPDATE OF state ON runs FOR EACH ROW
   WHEN ((OLD.state IN ('completed', 'failed', 'cancelled')) <> (NEW.state IN ('completed', 'failed', 'cancelled')))
   EXECUTE FUNCTION run_usage_release()`
]

/** The report over all projects of a reader reads the runs of its days, and not those of all time. */
export const usageByDayMigration = [`CREATE INDEX run_usage_by_day ON run_usage (day, project_id)`]
