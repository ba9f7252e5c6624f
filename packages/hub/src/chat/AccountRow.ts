/** A chat account as the tables have it. */
import type { ChatAccount } from "@corral/domain/chat/ChatAccount"
import type { SqlClient } from "effect/sql"

/** The rows of that account. */
export const ofAccount = (sql: SqlClient.SqlClient, { account, app, platform, tenant }: ChatAccount) =>
  sql`platform = ${platform} AND app = ${app} AND tenant = ${tenant} AND account = ${account}`

/** The columns of an account and no others. */
export const columnsOf = ({ account, app, platform, tenant }: ChatAccount) => ({
  platform,
  app,
  tenant,
  account
})
