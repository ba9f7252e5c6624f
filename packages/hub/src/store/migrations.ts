/**
 * Migrations of the Hub's database, each applied once. A released migration is never changed; a new one follows it.
 *
 * Hubs of the previous release keep running on the migrated database during an upgrade. So a migration adds, and what it replaces is removed by a later
 * release (ADR 91). A test checks this for migrations after those of the last release.
 *
 * Guarantees: all missing migrations are applied in one transaction under one lock. If several Hubs start together, one of them applies the
 * migrations.
 */
import { executeAll } from "@corral/service/SqlStatements"
import { Migrator } from "effect/sql"
import { peopleMigration } from "./migrations/0001-people.ts"
import { projectsMigration } from "./migrations/0002-projects.ts"
import { recordsMigration } from "./migrations/0003-records.ts"
import { devicesAndSessionsMigration } from "./migrations/0005-devices-and-sessions.ts"
import { signInMigration } from "./migrations/0004-sign-in.ts"
import { runsMigration } from "./migrations/0006-runs.ts"
import { linkMigration } from "./migrations/0007-link.ts"
import { policiesMigration } from "./migrations/0008-policies.ts"
import { chatMigration } from "./migrations/0009-chat.ts"
import { tracesMigration } from "./migrations/0010-traces.ts"
import { signInsMigration } from "./migrations/0011-sign-ins.ts"
import { commandsMigration } from "./migrations/0012-commands.ts"
import { decisionsMigration } from "./migrations/0013-decisions.ts"
import { signInTimeMigration } from "./migrations/0014-sign-in-time.ts"
import { deviceSharesMigration } from "./migrations/0015-device-shares.ts"
import { auditReadersMigration } from "./migrations/0016-audit-readers.ts"
import { runRequestersMigration } from "./migrations/0017-run-requesters.ts"
import { sentCommandsMigration } from "./migrations/0018-sent-commands.ts"
import { searchMigration } from "./migrations/0020-search.ts"
import { readPositionsMigration } from "./migrations/0021-read-positions.ts"
import { conversationsMigration } from "./migrations/0022-conversations.ts"
import { attachmentsMigration } from "./migrations/0023-attachments.ts"
import { chatAnswersMigration } from "./migrations/0024-chat-answers.ts"
import { auditHeadsMigration } from "./migrations/0025-audit-heads.ts"
import { commitTimeMigration } from "./migrations/0026-commit-time.ts"
import { partitionsMigration } from "./migrations/0027-partitions.ts"
import { growingTablesMigration } from "./migrations/0028-growing-tables.ts"
import { olderHubsMigration } from "./migrations/0029-older-hubs.ts"
import { sharedWorkMigration } from "./migrations/0030-shared-work.ts"
import { inputsMigration } from "./migrations/0031-inputs.ts"
import { auditListsMigration } from "./migrations/0032-audit-lists.ts"
import { successorsMigration } from "./migrations/0033-successors.ts"
import { heldQueuesMigration } from "./migrations/0034-held-queues.ts"
import { replacedRunsMigration } from "./migrations/0035-replaced-runs.ts"
import { uploadQuotasMigration } from "./migrations/0036-upload-quotas.ts"
import { auditPartsMigration } from "./migrations/0037-audit-parts.ts"

export const migrations: Readonly<Record<string, ReadonlyArray<string>>> = {
  "0001_people": peopleMigration,
  "0002_projects": projectsMigration,
  "0003_records": recordsMigration,
  "0004_sign_in": signInMigration,
  "0005_devices_and_sessions": devicesAndSessionsMigration,
  "0006_runs": runsMigration,
  "0007_link": linkMigration,
  "0008_policies": policiesMigration,
  "0009_chat": chatMigration,
  "0010_traces": tracesMigration,
  "0011_sign_ins": signInsMigration,
  "0012_commands": commandsMigration,
  "0013_decisions": decisionsMigration,
  "0014_sign_in_time": signInTimeMigration,
  "0015_device_shares": deviceSharesMigration,
  "0016_audit_readers": auditReadersMigration,
  "0017_run_requesters": runRequestersMigration,
  "0018_sent_commands": sentCommandsMigration,
  "0020_search": searchMigration,
  "0021_read_positions": readPositionsMigration,
  "0022_conversations": conversationsMigration,
  "0023_attachments": attachmentsMigration,
  "0024_chat_answers": chatAnswersMigration,
  "0025_audit_heads": auditHeadsMigration,
  "0026_commit_time": commitTimeMigration,
  "0027_partitions": partitionsMigration,
  "0028_growing_tables": growingTablesMigration,
  "0029_older_hubs": olderHubsMigration,
  "0030_shared_work": sharedWorkMigration,
  "0031_inputs": inputsMigration,
  "0032_audit_lists": auditListsMigration,
  "0033_successors": successorsMigration,
  "0034_held_queues": heldQueuesMigration,
  "0035_replaced_runs": replacedRunsMigration,
  "0036_upload_quotas": uploadQuotasMigration,
  "0037_audit_parts": auditPartsMigration
}

/** Names of all migrations, without their numbers. */
export const migrationNames: ReadonlyArray<string> = Object.keys(migrations).map((name) => name.slice(5))

/** Names of the indexes that the migrations create and do not drop. */
export const migratedIndexes = (): ReadonlyArray<string> => {
  const indexes = new Set<string>()
  for (const statement of Object.values(migrations).flat())
    for (const [, change, name = ""] of statement.matchAll(/\b(CREATE(?: UNIQUE)?|DROP) INDEX (\w+)/g))
      if (change === "DROP") indexes.delete(name)
      else indexes.add(name)
  return [...indexes]
}

export const runHubMigrations = Migrator.make({})({
  loader: Migrator.fromRecord(
    Object.fromEntries(Object.entries(migrations).map(([name, statements]) => [name, executeAll(statements)]))
  ),
  table: "corral_migrations"
})
