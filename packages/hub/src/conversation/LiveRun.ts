/** The run of an agent that is in progress, as far as the Hub knows. */
import { RunId } from "@corral/domain/identity/Ids"
import { CreateRun } from "@corral/domain/run/Run"
import { Schema } from "effect"
import type { SqlClient } from "effect/sql"
import type { SessionAgentRow } from "../session/SessionAgentRow.ts"
import { jsonColumn, storedRows } from "../store/StoredRows.ts"
import { openTaskStates, endedRunStates } from "../store/StateLists.ts"

const liveRunRows = storedRows("runs", Schema.Struct({ id: RunId, made: jsonColumn(CreateRun) }))

/** `undefined` while the agent has no run whose events the Hub has. */
export const findLiveRun = (sql: SqlClient.SqlClient, { id }: Pick<SessionAgentRow, "id">) =>
  liveRunRows.first(sql`
    SELECT r.id, r.made FROM tasks t JOIN runs r ON r.id = t.run_id
    WHERE t.agent_instance_id = ${id} AND t.state IN ${openTaskStates(sql)}
      AND r.last_seq > 0 AND r.state NOT IN ${endedRunStates(sql)}
    ORDER BY r.id DESC LIMIT 1`)
