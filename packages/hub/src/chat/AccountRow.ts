/** Columns of a chat account, and the lock on one. */
import { type ChatAccount, encodeChatAccount } from "@corral/domain/chat/ChatAccount"
import type { SqlClient } from "effect/sql"

/** Condition of the rows of an account. */
export const accountCondition = (sql: SqlClient.SqlClient, { account, app, platform, tenant }: ChatAccount) =>
  sql`platform = ${platform} AND app = ${app} AND tenant = ${tenant} AND account = ${account}`

/** The columns of an account, without further fields. */
export const accountColumns = ({ account, app, platform, tenant }: ChatAccount) => ({
  platform,
  app,
  tenant,
  account
})

/** Serializes transactions that change one account, until the transaction ends. */
export const lockAccount = (sql: SqlClient.SqlClient, account: ChatAccount) =>
  sql`SELECT pg_advisory_xact_lock(hashtextextended(${`chat ${encodeChatAccount(account)}`}, 0))`
