/**
 * The Edge's tables, as numbered migrations. Each runs once, in order; `user_version` is the newest one.
 *
 * Events are stored as batches: a row has the events of one append, as the JSON lines that are replayed and sent. `runs`, `approvals` and `inputs` are
 * projections of the log, written in the transaction of the events that change them.
 */
import Database from "better-sqlite3"

const steps: ReadonlyArray<string> = [
  `
  CREATE TABLE edge (id TEXT NOT NULL) STRICT;

  CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    state TEXT NOT NULL,
    created_at TEXT NOT NULL,
    last_seq INTEGER NOT NULL,
    snapshot TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX runs_by_state ON runs (state, id);

  CREATE TABLE events (
    batch INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL,
    first_seq INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    lines TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX events_by_run ON events (run_id, last_seq);

  CREATE TABLE approvals (
    id TEXT PRIMARY KEY,
    run_id TEXT NOT NULL,
    state TEXT NOT NULL,
    approval TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX approvals_by_run ON approvals (run_id, id);
  CREATE INDEX approvals_by_state ON approvals (state, id);

  CREATE TABLE idempotency (
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    body TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (scope, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX idempotency_by_age ON idempotency (created_at);
  `,
  // Grants that last longer than one run.
  `
  CREATE TABLE grants (
    id TEXT PRIMARY KEY,
    workspace TEXT NOT NULL,
    session_id TEXT,
    rule_key TEXT NOT NULL,
    body TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX grants_by_workspace ON grants (workspace, id);
  CREATE INDEX grants_by_rule ON grants (workspace, rule_key);
  `,
  // The content of an artifact is a file, named by its hash. Artifacts can share one.
  `
  CREATE TABLE artifacts (
    id TEXT PRIMARY KEY,
    run_id TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    artifact TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX artifacts_by_run ON artifacts (run_id, id);
  CREATE INDEX artifacts_by_content ON artifacts (sha256);
  `,
  // Worktrees of runs.
  `
  CREATE TABLE worktrees (
    run_id TEXT PRIMARY KEY,
    state TEXT NOT NULL,
    worktree TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  `,
  // For retention: when a run ended, and whether its log is stored, being deleted (`going`) or deleted. Also a table for test writes of the
  // store.
  `
  ALTER TABLE runs ADD COLUMN ended_at TEXT;
  ALTER TABLE runs ADD COLUMN log TEXT NOT NULL DEFAULT 'kept';
  UPDATE runs SET ended_at = json_extract(snapshot, '$.endedAt') WHERE state IN ('completed', 'failed', 'cancelled');
  CREATE INDEX runs_by_end ON runs (ended_at) WHERE ended_at IS NOT NULL AND log = 'kept';
  CREATE INDEX runs_going ON runs (id) WHERE log = 'going';
  CREATE TABLE probe (bytes BLOB NOT NULL) STRICT;
  `,
  // Runs that a Hub started: the device, the position of that Hub's log, and whether pushing has ended.
  `
  CREATE TABLE hub_runs (
    run_id TEXT PRIMARY KEY,
    device_id TEXT NOT NULL,
    acked_seq INTEGER NOT NULL DEFAULT 0,
    done INTEGER NOT NULL DEFAULT 0
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX hub_runs_open ON hub_runs (device_id, run_id) WHERE done = 0;
  `,
  // A checksum per batch. Batches before `first_batch` have none.
  `
  ALTER TABLE events ADD COLUMN checksum INTEGER;
  CREATE TABLE checksums (first_batch INTEGER NOT NULL) STRICT;
  INSERT INTO checksums SELECT coalesce(max(batch), 0) + 1 FROM events;
  `,
  // For runs that outlive their Edge: how many outputs a batch includes, and what the Edge told the adapter.
  `
  ALTER TABLE events ADD COLUMN outputs INTEGER;
  CREATE TABLE run_journal (
    run_id TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    entry TEXT NOT NULL,
    PRIMARY KEY (run_id, ordinal)
  ) STRICT, WITHOUT ROWID;
  `,
  // Questions, forms and plans that runs hand to people.
  `
  CREATE TABLE inputs (
    id TEXT PRIMARY KEY,
    run_id TEXT NOT NULL,
    state TEXT NOT NULL,
    input TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX inputs_by_run ON inputs (run_id, id);
  CREATE INDEX inputs_by_state ON inputs (state, id);
  `,
  // Rows of more than 1 KB, in tables with row ids: without them, such a row needs separate pages, which each change of state writes again.
  `
  ALTER TABLE runs RENAME TO small_runs;
  CREATE TABLE runs (
    id TEXT PRIMARY KEY NOT NULL,
    state TEXT NOT NULL,
    created_at TEXT NOT NULL,
    last_seq INTEGER NOT NULL,
    snapshot TEXT NOT NULL,
    ended_at TEXT,
    log TEXT NOT NULL DEFAULT 'kept'
  ) STRICT;
  INSERT INTO runs (id, state, created_at, last_seq, snapshot, ended_at, log)
    SELECT id, state, created_at, last_seq, snapshot, ended_at, log FROM small_runs ORDER BY id;
  DROP TABLE small_runs;
  CREATE INDEX runs_by_state ON runs (state, id);
  CREATE INDEX runs_by_end ON runs (ended_at) WHERE ended_at IS NOT NULL AND log = 'kept';
  CREATE INDEX runs_going ON runs (id) WHERE log = 'going';

  ALTER TABLE approvals RENAME TO small_approvals;
  CREATE TABLE approvals (
    id TEXT PRIMARY KEY NOT NULL,
    run_id TEXT NOT NULL,
    state TEXT NOT NULL,
    approval TEXT NOT NULL
  ) STRICT;
  INSERT INTO approvals (id, run_id, state, approval) SELECT id, run_id, state, approval FROM small_approvals ORDER BY id;
  DROP TABLE small_approvals;
  CREATE INDEX approvals_by_run ON approvals (run_id, id);
  CREATE INDEX approvals_by_state ON approvals (state, id);

  ALTER TABLE inputs RENAME TO small_inputs;
  CREATE TABLE inputs (
    id TEXT PRIMARY KEY NOT NULL,
    run_id TEXT NOT NULL,
    state TEXT NOT NULL,
    input TEXT NOT NULL
  ) STRICT;
  INSERT INTO inputs (id, run_id, state, input) SELECT id, run_id, state, input FROM small_inputs ORDER BY id;
  DROP TABLE small_inputs;
  CREATE INDEX inputs_by_run ON inputs (run_id, id);
  CREATE INDEX inputs_by_state ON inputs (state, id);
  `,
  // Change sets: their bases, decisions about them, decisions in progress, and what Hubs do not have yet.
  `
  CREATE TABLE change_sets (
    id TEXT PRIMARY KEY NOT NULL,
    body TEXT NOT NULL
  ) STRICT;
  CREATE TABLE change_decisions (
    id TEXT PRIMARY KEY NOT NULL,
    set_id TEXT NOT NULL,
    decision TEXT NOT NULL,
    parts TEXT NOT NULL
  ) STRICT;
  CREATE INDEX change_decisions_by_set ON change_decisions (set_id, id);
  CREATE TABLE change_journal (
    id TEXT PRIMARY KEY NOT NULL,
    entry TEXT NOT NULL
  ) STRICT;
  CREATE TABLE change_pushes (
    set_id TEXT PRIMARY KEY,
    run_id TEXT NOT NULL,
    serial INTEGER NOT NULL,
    sent INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX change_pushes_unsent ON change_pushes (set_id) WHERE sent < serial;
  `,
  // Layers of runs, by the run that owns each.
  `
  CREATE TABLE layers (
    owner TEXT PRIMARY KEY NOT NULL,
    state TEXT NOT NULL,
    layer TEXT NOT NULL
  ) STRICT;
  `,
  // Candidates: what the runs of a group begin with, and the checks after their turns.
  `
  CREATE TABLE group_bases (
    group_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    root TEXT NOT NULL,
    base TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (group_id, kind, root)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE run_checks (
    run_id TEXT PRIMARY KEY NOT NULL,
    state TEXT NOT NULL,
    checks TEXT NOT NULL
  ) STRICT;
  CREATE INDEX run_checks_open ON run_checks (run_id) WHERE state != 'ended';
  `,
  // Messages of editors that wait for the end of a run, in their order.
  `
  CREATE TABLE waiting_messages (
    position INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    key TEXT NOT NULL,
    message TEXT NOT NULL,
    UNIQUE (session_id, agent_id, key)
  ) STRICT;
  `,
  // Runs by their sessions. A run never changes its session.
  `
  ALTER TABLE runs ADD COLUMN session_id TEXT;
  UPDATE runs SET session_id = json_extract(snapshot, '$.sessionId') WHERE json_valid(snapshot);
  CREATE INDEX runs_by_session ON runs (session_id, id) WHERE session_id IS NOT NULL;
  `
]

export const NEWEST_VERSION = steps.length

/** Says which table of a store of that version is missing, if one is. */
export const missingTable = (db: Database.Database, version: number): string | undefined => {
  const found = new Set(db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all())
  const missing = steps
    .slice(0, version)
    .flatMap((step) => [...step.matchAll(/^ *CREATE TABLE (\w+)/gm)].flatMap(([, name]) => name ?? []))
    .find((name) => !found.has(name))
  return missing === undefined ? undefined : `the table ${missing} is missing`
}

/** Message of the error for a store of a later release. */
export const newerStore = (version: number): string =>
  `the database is of a newer version (${version}) than this program supports (${NEWEST_VERSION})`

/** Message of the error for a store without tables that must not be created. */
export const EMPTY_STORE = "the database is empty"

/**
 * Migrates the database to the newest version. Refuses one of a newer version, of another program or without one of its tables, and an
 * empty one unless `mayCreate`. `newest` is for tests of migrations.
 */
export const migrateEdgeStore = (db: Database.Database, mayCreate = true, newest = NEWEST_VERSION): void => {
  const found = Number(db.pragma("user_version", { simple: true }))
  const isNew = found === 0 && db.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get() === undefined
  if (found === 0 && !(isNew && mayCreate))
    throw new Error(
      isNew ? EMPTY_STORE : "the database is not a store of Corral. Move it away, or set another CORRAL_HOME."
    )
  if (found > NEWEST_VERSION) throw new Error(newerStore(found))
  for (let version = found; version < newest; version++) {
    db.transaction(() => {
      db.exec(steps[version] ?? "")
      db.pragma(`user_version = ${version + 1}`)
    })()
  }
  const missing = missingTable(db, newest)
  if (missing !== undefined) throw new Database.SqliteError(missing, "SQLITE_CORRUPT")
}
