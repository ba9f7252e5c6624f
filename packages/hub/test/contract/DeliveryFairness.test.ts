/** Messages that cannot be delivered hold up no other project: more of them than a page has, of each kind, and then one message elsewhere. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TalkingEdge } from "../harness/TalkingEdge.ts"
import { Talk } from "../harness/Talks.ts"
import { worldOf } from "../link/World.ts"

/** More than the largest page of a pass. */
const STUCK = 210

describe("Delivery of messages", () => {
  const hub = new HubInProcess()
  beforeAll(() => hub.start())
  afterAll(() => hub.remove())

  /** A project with a session, whose Edge is connected. */
  const talking = async () => {
    const world = await worldOf(hub)
    const edge = await TalkingEdge.link(hub.url, world)
    return { edge, talk: await Talk.open(world), world }
  }

  /** Copies a pending message into further rows, as if it was sent again and again. */
  const repeat = (id: string) =>
    hub.people.act(
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const columns = yield* sql<{ readonly name: string }>`
          SELECT column_name AS name FROM information_schema.columns
          WHERE table_name = 'messages' AND table_schema = current_schema() AND is_generated = 'NEVER'`
        const names = columns.map(({ name }) => name)
        const values = names.map((name) => (name === "id" ? "left(m.id, -4) || lpad(n::text, 4, '0')" : name))
        yield* sql.unsafe(
          `INSERT INTO messages (${names.join(", ")}) SELECT ${values.join(", ")} FROM messages m, generate_series(1, ${STUCK}) n WHERE m.id = $1`,
          [id]
        )
      })
    )

  it("sends input to a run while the Edge of another project answers none", async () => {
    const stuck = await talking()
    await stuck.talk.send("Work")
    const turn = await stuck.edge.turn(0)
    await stuck.edge.begin(turn)
    stuck.edge.edge.answers = () => undefined
    const message = await stuck.talk.send("and this", { when: "now" })
    await repeat(message.id)

    const { edge, talk } = await talking()
    await talk.send("Work")
    await edge.begin(await edge.turn(0))
    const sent = await talk.send("and this", { when: "now" })
    assert.strictEqual((await edge.input(0)).messageId, sent.id)
  })
})
