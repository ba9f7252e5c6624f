/** Unread messages of a session, as part of the statement that reads the session: a list of sessions pays no second one. */
import type { UserId } from "@corral/domain/identity/Ids"
import { MAX_UNREAD } from "@corral/domain/session/Conversation"
import type { SqlClient, Statement } from "effect/sql"
import { limitTo } from "../store/Limit.ts"

/** Number of messages of others after the reader's position, of the latest `MAX_UNREAD` messages after it. `id` is the session's column. */
export const unreadMessages = (
  sql: SqlClient.SqlClient,
  reader: UserId,
  id: string
): Statement.Fragment => sql`(
  SELECT count(*)::int FROM (
    SELECT user_id FROM messages
    WHERE session_id = ${sql.literal(id)} AND created_at > COALESCE(
      (SELECT read_at FROM session_reads WHERE session_id = ${sql.literal(id)} AND user_id = ${reader}), '-infinity'
    )
    ORDER BY created_at DESC, id DESC ${limitTo(sql, MAX_UNREAD)}
  ) AS later WHERE user_id IS DISTINCT FROM ${reader}
)`
