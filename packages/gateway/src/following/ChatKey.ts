/** A chat of one bot, as a condition on rows. */
import { Schema } from "effect"
import type { SqlClient } from "effect/sql"

export const ChatKey = Schema.Struct({
  platform: Schema.String,
  app: Schema.String,
  tenant: Schema.String,
  chatId: Schema.String
})
export type ChatKey = typeof ChatKey.Type

export const isInChat = (sql: SqlClient.SqlClient, { app, chatId, platform, tenant }: ChatKey) =>
  sql`platform = ${platform} AND app = ${app} AND tenant = ${tenant} AND chat_id = ${chatId}`
