/** Migrations of the Gateway's schema. Each runs once. A released migration is never changed; a new one follows it. */
import { executeAll } from "@corral/service/DatabaseStart"
import { Migrator } from "effect/sql"

/** Tables of received events, in the order of their chats, and of dead letters. */
export const inbox = [
  // `received` is the last position of the chat, and `done` the last handled one.
  `CREATE TABLE chats (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key text NOT NULL UNIQUE,
    received bigint NOT NULL,
    done bigint NOT NULL
  )`,
  // The body is deleted when the event is done. The row stays for a week, so that a repeated event is recognized.
  `CREATE TABLE inbox (
    chat bigint NOT NULL REFERENCES chats (id),
    position bigint NOT NULL,
    platform text NOT NULL,
    app text NOT NULL,
    upstream_id text NOT NULL,
    tenant text NOT NULL,
    kind text NOT NULL,
    chat_id text NOT NULL,
    body text,
    received_at timestamptz NOT NULL,
    done_at timestamptz,
    PRIMARY KEY (chat, position),
    UNIQUE (platform, app, upstream_id)
  )`,
  `CREATE INDEX inbox_by_end ON inbox (done_at) WHERE done_at IS NOT NULL`,
  `CREATE TABLE dead_letters (
    platform text NOT NULL,
    app text NOT NULL,
    upstream_id text NOT NULL,
    tenant text NOT NULL,
    kind text NOT NULL,
    chat_id text NOT NULL,
    body text NOT NULL,
    reason text NOT NULL,
    attempts int NOT NULL,
    received_at timestamptz NOT NULL,
    buried_at timestamptz NOT NULL,
    PRIMARY KEY (platform, app, upstream_id)
  )`,
  `CREATE INDEX dead_letters_by_age ON dead_letters (buried_at)`
]

/** Tables of conversations: locations, followed tasks, approval cards and buttons. Texts of users are deleted after a day. */
export const conversations = [
  // One account in one chat, or in one thread of it.
  `CREATE TABLE talks (
    key text PRIMARY KEY,
    place text,
    session_id text,
    session_project text,
    task_id text,
    task_key text,
    pending text,
    updated_at timestamptz NOT NULL
  )`,
  `CREATE INDEX talks_by_age ON talks (updated_at)`,
  // A followed task. The holder of the lease follows it.
  `CREATE TABLE follows (
    task_id text PRIMARY KEY,
    platform text NOT NULL,
    app text NOT NULL,
    tenant text NOT NULL,
    account text NOT NULL,
    chat_id text NOT NULL,
    reply_to text,
    thread_id text,
    direct boolean NOT NULL,
    language text NOT NULL,
    place text NOT NULL,
    message_id text,
    run_id text,
    seq bigint NOT NULL,
    progress text NOT NULL,
    created_at timestamptz NOT NULL,
    lease_owner text,
    lease_until timestamptz,
    ended_at timestamptz
  )`,
  `CREATE INDEX follows_open ON follows (lease_until) WHERE ended_at IS NULL`,
  `CREATE INDEX follows_by_chat ON follows (platform, app, tenant, chat_id, created_at)`,
  `CREATE INDEX follows_by_end ON follows (ended_at) WHERE ended_at IS NOT NULL`,
  `CREATE TABLE approval_cards (
    approval_id text PRIMARY KEY,
    task_id text NOT NULL REFERENCES follows (task_id) ON DELETE CASCADE,
    asked text NOT NULL,
    message_id text,
    state text NOT NULL,
    asked_at timestamptz NOT NULL
  )`,
  `CREATE INDEX approval_cards_by_task ON approval_cards (task_id)`,
  // A button's id is stored as a hash.
  `CREATE TABLE actions (
    hash bytea PRIMARY KEY,
    platform text NOT NULL,
    app text NOT NULL,
    tenant text NOT NULL,
    meaning text NOT NULL,
    subject text NOT NULL,
    audience text,
    chat_id text,
    message_id text,
    expires_at timestamptz NOT NULL,
    used_at timestamptz
  )`,
  `CREATE INDEX actions_by_subject ON actions (subject)`,
  `CREATE INDEX actions_by_end ON actions (expires_at)`,
  // Names of users who have acted from a chat, for "already decided by".
  `CREATE TABLE people (user_id text PRIMARY KEY, name text NOT NULL, seen_at timestamptz NOT NULL)`
]

/** Index that counts pending events and finds the oldest one without reading the completed ones. */
export const pendingIndex = [`CREATE INDEX inbox_waiting ON inbox (received_at) WHERE done_at IS NULL`]

/** One queue per sender instead of one per chat, and pending notices about failed events. */
export const senderQueues = [
  `CREATE TABLE sender_queues (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key text NOT NULL UNIQUE,
    -- Arrival of the oldest pending event; NULL while the queue is empty.
    head bigint,
    due_at timestamptz NOT NULL,
    -- Of the head: how often it was started, and how often it failed.
    attempts int NOT NULL DEFAULT 0,
    failures int NOT NULL DEFAULT 0,
    -- First failure since the last success.
    failing_since timestamptz,
    began_at timestamptz,
    lease_owner text,
    lease_until timestamptz
  )`,
  `CREATE UNIQUE INDEX sender_queues_by_head ON sender_queues (head) WHERE head IS NOT NULL`,
  `CREATE INDEX sender_queues_due ON sender_queues (due_at) WHERE head IS NOT NULL`,
  `CREATE INDEX sender_queues_leased ON sender_queues (lease_owner) WHERE lease_owner IS NOT NULL`,
  `ALTER TABLE inbox
    ADD COLUMN arrival bigint,
    ADD COLUMN sender text NOT NULL DEFAULT '',
    ADD COLUMN card text,
    ADD COLUMN queue bigint REFERENCES sender_queues (id)`,
  `UPDATE inbox SET arrival = numbered.n
   FROM (SELECT chat, position, row_number() OVER (ORDER BY received_at, chat, position) AS n FROM inbox) numbered
   WHERE inbox.chat = numbered.chat AND inbox.position = numbered.position`,
  `ALTER TABLE inbox ALTER COLUMN arrival SET NOT NULL, ALTER COLUMN arrival ADD GENERATED BY DEFAULT AS IDENTITY`,
  `SELECT setval(pg_get_serial_sequence('inbox', 'arrival'), (SELECT coalesce(max(arrival), 0) + 1 FROM inbox), false)`,
  // Pending events of the previous release have no sender. They stay in the order of their chat.
  `INSERT INTO sender_queues (key, head, due_at)
   SELECT 'chat ' || key, min(arrival), now() FROM chats JOIN inbox ON inbox.chat = chats.id
   WHERE done_at IS NULL GROUP BY key`,
  `UPDATE inbox SET queue = q.id FROM chats c JOIN sender_queues q ON q.key = 'chat ' || c.key
   WHERE inbox.chat = c.id AND inbox.done_at IS NULL`,
  `CREATE UNIQUE INDEX inbox_by_arrival ON inbox (arrival)`,
  `CREATE INDEX inbox_by_queue ON inbox (queue, arrival) WHERE done_at IS NULL`,
  `CREATE INDEX inbox_by_card ON inbox (card) WHERE done_at IS NULL AND card IS NOT NULL`,
  `ALTER TABLE chats DROP COLUMN done`,
  `DROP TABLE IF EXISTS turns`,
  `DROP TABLE IF EXISTS turns_migrations`,
  // `tell_at`: time of the next notice to the sender; NULL after the last one.
  `ALTER TABLE dead_letters
    ADD COLUMN sender text NOT NULL DEFAULT '',
    ADD COLUMN card text,
    ADD COLUMN tell_at timestamptz`,
  `CREATE INDEX dead_letters_owed ON dead_letters (tell_at) WHERE tell_at IS NOT NULL`,
  `CREATE INDEX dead_letters_by_sender ON dead_letters (platform, app, tenant, sender, buried_at)`,
  // Whether a card may have been sent although its message is unknown.
  `ALTER TABLE follows ADD COLUMN card_tried boolean NOT NULL DEFAULT false`,
  // Answers that are decided and not sent.
  `CREATE TABLE answers (key text PRIMARY KEY, answer text NOT NULL, decided_at timestamptz NOT NULL)`,
  `CREATE INDEX answers_by_age ON answers (decided_at)`,
  // Answers to accounts that are not linked, counted per hour.
  `CREATE TABLE unlinked_answers (
    key text PRIMARY KEY,
    began_at timestamptz NOT NULL,
    answers int NOT NULL,
    last_event text NOT NULL,
    last_granted boolean NOT NULL
  )`,
  `CREATE INDEX unlinked_answers_by_age ON unlinked_answers (began_at)`
]

/** Chats as sessions: the session of each direct chat or thread, followed messages, and first messages of accounts that are not linked yet. */
export const chatSessions = [
  // One direct chat or thread, for all its users.
  `CREATE TABLE chat_sessions (
    key text PRIMARY KEY,
    session_id text,
    project_id text,
    agent_instance_id text,
    place text,
    updated_at timestamptz NOT NULL
  )`,
  `CREATE INDEX chat_sessions_by_age ON chat_sessions (updated_at)`,
  // A key of talks is: platform, app, tenant, account, chat, thread. The latest conversation of a thread keeps its session.
  `INSERT INTO chat_sessions (key, session_id, project_id, place, updated_at)
   SELECT DISTINCT ON (thread) thread, session_id, session_project, place, updated_at FROM (
     SELECT talks.*, concat_ws(' ', split_part(key, ' ', 1), split_part(key, ' ', 2), split_part(key, ' ', 3),
       split_part(key, ' ', 5), split_part(key, ' ', 6)) AS thread
     FROM talks WHERE session_id IS NOT NULL
   ) latest ORDER BY thread, updated_at DESC`,
  `UPDATE talks SET pending = NULL`,
  `ALTER TABLE talks DROP COLUMN session_id, DROP COLUMN session_project, DROP COLUMN task_id, DROP COLUMN task_key`,
  // A follow is of a message, and of a task if an earlier release began it.
  `ALTER TABLE follows RENAME COLUMN task_id TO id`,
  `ALTER TABLE follows ADD COLUMN session_id text`,
  `CREATE INDEX follows_of_session ON follows (session_id) WHERE ended_at IS NULL`,
  `ALTER TABLE approval_cards RENAME COLUMN task_id TO follow_id`,
  // `sealed`: the event, encrypted with a key that only Gateways have.
  `CREATE TABLE kept_messages (key text PRIMARY KEY, sealed bytea NOT NULL, kept_at timestamptz NOT NULL)`,
  `CREATE INDEX kept_messages_by_age ON kept_messages (kept_at)`
]

/** Cards of questions, forms and plans. Their texts stay at the Hub. */
const inputCards = [
  `CREATE TABLE input_cards (
    input_id text PRIMARY KEY,
    follow_id text NOT NULL REFERENCES follows (id) ON DELETE CASCADE,
    asked text NOT NULL,
    message_id text,
    state text NOT NULL,
    asked_at timestamptz NOT NULL
  )`,
  `CREATE INDEX input_cards_by_follow ON input_cards (follow_id)`,
  `CREATE INDEX follows_by_run ON follows (run_id) WHERE run_id IS NOT NULL`
]

const steps: Readonly<Record<string, ReadonlyArray<string>>> = {
  "0001_inbox": inbox,
  "0002_conversations": conversations,
  "0003_waiting": pendingIndex,
  "0004_sender_queues": senderQueues,
  "0005_chat_sessions": chatSessions,
  "0006_input_cards": inputCards
}

export const gatewayMigrationNames: ReadonlyArray<string> = Object.keys(steps)

export const migrateGateway = Migrator.make({})({
  loader: Migrator.fromRecord(
    Object.fromEntries(Object.entries(steps).map(([name, step]) => [name, executeAll(step)]))
  ),
  table: "migrations"
})
