import { isTaskOver, TaskState } from "@corral/domain/task/Task"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { globSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { withdrawUndelivered } from "../../src/session/MessageStore.ts"
import { TalkingEdge } from "../harness/TalkingEdge.ts"
import { Talk } from "../harness/Talks.ts"
import { worldOf } from "../link/World.ts"

const source = fileURLToPath(new URL("../../src/", import.meta.url))

/** A list of states in the text of a statement. */
const listed = /\bstate (?:NOT )?IN \(\s*'/

describe("Lists of states", () => {
  const hub = new HubInProcess()
  beforeAll(() => hub.start())
  afterAll(() => hub.remove())

  it("are in statements under their names", () => {
    assert.match("state NOT IN ('completed', 'failed')", listed)
    const files = globSync("**/*.ts", { cwd: source }).filter((file) => !file.includes("migrations"))
    assert.deepStrictEqual(
      files.filter((file) => listed.test(readFileSync(source + file, "utf8"))),
      []
    )
  })

  it("decide that a message stays pending while its task may still deliver it", async () => {
    const world = await worldOf(hub)
    const { edge } = await TalkingEdge.link(hub.url, world)
    edge.cut()
    const talk = await Talk.open(world)
    const { id } = await talk.send("waits for its target")
    await talk.messageWith(id, ({ delivery }) => delivery?.taskId !== undefined)
    for (const state of TaskState.literals) {
      const outcome = Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`UPDATE tasks SET state = ${state} WHERE message_id = ${id}`
        yield* withdrawUndelivered(sql, talk.sessionId)
        const [row] = yield* sql<{
          readonly delivery: string
        }>`SELECT delivery FROM messages WHERE id = ${id}`
        return yield* Effect.fail({ delivery: row?.delivery })
      })
      const left = await hub.people.act(
        Effect.flip(Effect.flatMap(SqlClient.SqlClient, (sql) => sql.withTransaction(outcome)))
      )
      assert.deepEqual(left, { delivery: isTaskOver(state) ? "withdrawn" : "pending" }, state)
    }
  })
})
