/** A chat of one bot, as a condition on rows. */
import type { ChatAccount } from "@corral/domain/chat/ChatAccount"
import type { SqlClient } from "effect/sql"

export type ChatKey = Omit<ChatAccount, "account"> & { readonly chatId: string }

export const isInChat = (sql: SqlClient.SqlClient, { app, chatId, platform, tenant }: ChatKey) =>
  sql`platform = ${platform} AND app = ${app} AND tenant = ${tenant} AND chat_id = ${chatId}`
