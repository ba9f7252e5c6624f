import { assert, describe, it } from "@effect/vitest"
import { query } from "@corral/testing/postgres/PostgresServer"
import { Effect } from "effect"
import { chatSessions, conversations, inbox, pendingIndex, senderQueues } from "../../src/store/migrations.ts"
import { emptyDatabase } from "../harness/GatewayStore.ts"

describe("a store of version 0.2.0", () => {
  it.live("keeps the sessions of threads, the followed tasks and their cards", () =>
    Effect.gen(function* () {
      const url = yield* emptyDatabase
      const run = (statement: string) => Effect.promise(() => query(url, statement))
      for (const statement of [...inbox, ...conversations, ...pendingIndex, ...senderQueues])
        yield* run(statement)
      const talk = (account: string, thread: string, session: string, at: string) =>
        run(`INSERT INTO talks (key, session_id, session_project, updated_at)
             VALUES ('feishu cli_1 t_1 ${account} oc_1 ${thread}', '${session}', 'prj_1', '${at}')`)
      yield* talk("ou_ada", "om_1", "ses_1", "2026-11-01")
      yield* talk("ou_bo", "om_1", "ses_2", "2026-11-02")
      yield* talk("ou_ada", "", "ses_3", "2026-11-03")
      yield* run(`INSERT INTO follows (task_id, platform, app, tenant, account, chat_id, direct, language, place, seq, progress, created_at)
        VALUES ('tsk_1', 'feishu', 'cli_1', 't_1', 'ou_ada', 'oc_1', true, 'en', 'Atlas', 3, '{}', now())`)
      yield* run(`INSERT INTO approval_cards VALUES ('apr_1', 'tsk_1', '{}', NULL, 'pending', now())`)

      for (const statement of chatSessions) yield* run(statement)
      assert.deepStrictEqual(yield* run("SELECT key, session_id FROM chat_sessions ORDER BY key"), [
        { key: "feishu cli_1 t_1 oc_1 ", session_id: "ses_3" },
        { key: "feishu cli_1 t_1 oc_1 om_1", session_id: "ses_2" }
      ])
      assert.deepStrictEqual(yield* run("SELECT id, session_id, seq::int FROM follows"), [
        { id: "tsk_1", session_id: null, seq: 3 }
      ])
      assert.deepStrictEqual(yield* run("SELECT approval_id, follow_id FROM approval_cards"), [
        { approval_id: "apr_1", follow_id: "tsk_1" }
      ])
    })
  )
})
