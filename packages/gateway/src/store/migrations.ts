/**
 * Migrations of the Gateway's schema. Each runs once. A released migration is never changed; a new one follows it.
 */
import { executeAll } from "@corral/service/SqlStatements"
import { Migrator } from "effect/sql"
import { inbox } from "./migrations/0001-inbox.ts"
import { conversations } from "./migrations/0002-conversations.ts"
import { pendingIndex } from "./migrations/0003-waiting.ts"
import { senderQueues } from "./migrations/0004-sender-queues.ts"
import { chatSessions } from "./migrations/0005-chat-sessions.ts"
import { inputCards } from "./migrations/0006-input-cards.ts"

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
