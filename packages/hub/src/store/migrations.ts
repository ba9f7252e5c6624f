/**
 * Migrations of the Hub's database, each applied once, with their statements in `migrations/`. A released migration is never changed; a new one
 * follows it.
 *
 * Hubs of the previous release keep running on the migrated database during an upgrade. So a migration adds, and what it replaces is removed by a later
 * release (ADR 91). A test checks this for migrations after those of the last release.
 *
 * Guarantees: all missing migrations are applied in one transaction under one lock. If several Hubs start together, one of them applies the
 * migrations.
 */
import { executeAll } from "@corral/service/DatabaseStart"
import { Migrator } from "effect/sql"
import {
  chatMigration,
  devicesAndSessionsMigration,
  linkMigration,
  peopleMigration,
  policiesMigration,
  projectsMigration,
  recordsMigration,
  runsMigration,
  signInMigration
} from "./migrations/FirstTables.ts"
import {
  auditReadersMigration,
  commandsMigration,
  conversationsMigration,
  decisionsMigration,
  deviceSharesMigration,
  readPositionsMigration,
  runRequestersMigration,
  searchMigration,
  sentCommandsMigration,
  signInsMigration,
  signInTimeMigration,
  tracesMigration
} from "./migrations/Release02.ts"
import {
  attachmentsMigration,
  auditHeadsMigration,
  auditListsMigration,
  auditPartsMigration,
  bindingUpdatesMigration,
  changeSetsMigration,
  chatAnswersMigration,
  commitTimeMigration,
  growingTablesMigration,
  heldQueuesMigration,
  inputsMigration,
  olderHubsMigration,
  partitionsMigration,
  preferencesMigration,
  replacedRunsMigration,
  sharedWorkMigration,
  successorsMigration,
  taskGroupsMigration,
  turnLimitsMigration,
  uploadQuotasMigration,
  usageByDayMigration,
  usageMigration
} from "./migrations/Release03.ts"

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
  "0037_audit_parts": auditPartsMigration,
  "0038_turn_limits": turnLimitsMigration,
  "0039_preferences": preferencesMigration,
  "0040_binding_updates": bindingUpdatesMigration,
  "0041_change_sets": changeSetsMigration,
  "0042_task_groups": taskGroupsMigration,
  "0043_usage": usageMigration,
  "0044_usage_by_day": usageByDayMigration
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
