/** Passes of a Hub whose batch is full of rows that another program holds: the rows after them are reached. */
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { until } from "@corral/testing/time/Until"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Client } from "pg"
import { Uploads } from "../../src/attachment/Uploads.ts"
import { dropLogsEndedBefore } from "../../src/run/Retention.ts"
import { execute as executeIn, repeatRows } from "../harness/RepeatedRows.ts"
import { TalkingEdge } from "../harness/TalkingEdge.ts"
import { Talk } from "../harness/Talks.ts"
import { type World, worldOf } from "../link/World.ts"

/** More than the largest batch. */
const HELD = 210

describe("A batch of rows that another program holds", () => {
  const hub = new HubInProcess()
  beforeAll(() => hub.start())
  afterAll(() => hub.remove())

  const execute = (text: string) => executeIn(hub, text)

  /** Runs `pass` while the rows of a project that a table has are held. */
  const whileHeld = async (table: string, where: string, pass: () => Promise<void>): Promise<void> => {
    const holder = new Client({ connectionString: hub.databaseUrl })
    await holder.connect()
    try {
      await holder.query("BEGIN")
      await holder.query(`SELECT 1 FROM ${table} WHERE ${where} FOR UPDATE`)
      await pass()
    } finally {
      await holder.end()
    }
  }

  /** A user whose device is online. */
  const connected = async () => {
    const world = await worldOf(hub)
    const edge = await TalkingEdge.link(hub.url, world)
    return { world, edge, talk: await Talk.open(world) }
  }

  /** A user whose device was online. */
  const offline = async () => {
    const { edge, talk, world } = await connected()
    await edge.edge.leave()
    return { talk, world }
  }

  /** A session with a message that waits for an offline device, `HELD` times. */
  const manySessions = async () => {
    const { talk, world } = await offline()
    const message = await talk.send("Work")
    await talk.inState(message, "pending")
    await until(
      async () =>
        (await execute(`SELECT 1 FROM messages WHERE id = '${message.id}' AND task_id IS NOT NULL`))[0],
      "its task"
    )
    const inSession = `session_id = '${talk.sessionId}'`
    await repeatRows(hub, "sessions", `id = '${talk.sessionId}'`, HELD, { id: true })
    // They do not share a place, so each is due.
    const agents = { session_id: true, id: true, isolation: "'worktree'" } as const
    await repeatRows(hub, "session_agents", inSession, HELD, agents)
    return { world, talk, message, inSession }
  }
  const copyMessages = (
    { inSession }: { readonly inSession: string },
    columns: Readonly<Record<string, string | true>>
  ) =>
    repeatRows(hub, "messages", inSession, HELD, { session_id: true, id: true, recipient: true, ...columns })

  const projectOf = ({ projectId }: World) => `id = '${projectId}'`

  it("holds up no message: Deliveries", async () => {
    const many = await manySessions()
    const other = await connected()
    await whileHeld("projects", projectOf(many.world), async () => {
      await copyMessages(many, { task_id: "NULL" })
      await other.talk.send("Work")
      await other.edge.turn(0)
      // Otherwise they are delivered during the next test.
      await execute("DELETE FROM messages WHERE delivery = 'pending' AND task_id IS NULL")
    })
  })

  it("holds up no end of a task, and no message that expires: TaskOutcomes", async () => {
    const many = await manySessions()
    const { taskId } = (await many.talk.inState(many.message, "pending")).delivery ?? {}
    await repeatRows(hub, "tasks", `id = '${taskId}'`, HELD, {
      id: true,
      session_id: true,
      state: "'failed'"
    })
    await copyMessages(many, { task_id: true })
    await copyMessages(many, {
      // Ids of other numbers than the copies before.
      id: `left(source.id, -4) || lpad((n + ${HELD})::text, 4, '0')`,
      task_id: "NULL",
      expires_at: "now() - interval '1 hour'"
    })
    const { talk } = await offline()
    await whileHeld("projects", projectOf(many.world), async () => {
      const failing = await talk.send("Work")
      const [task] = await until(async () => {
        const rows = await execute(
          `SELECT task_id FROM messages WHERE id = '${failing.id}' AND task_id IS NOT NULL`
        )
        return rows.length === 1 ? rows : undefined
      }, "its task")
      // Behind the task, so that it gets none.
      const expiring = await talk.send("More")
      await execute(`UPDATE messages SET expires_at = now() - interval '1 hour' WHERE id = '${expiring.id}'`)
      await execute(`UPDATE tasks SET state = 'failed' WHERE id = '${task?.["task_id"]}'`)
      await talk.send("Look")
      await talk.inState(failing, "failed")
      await talk.inState(expiring, "failed")
    })
  })

  it("holds up no message to an idle run: LiveInputs", async () => {
    const idle = async () => {
      const { edge, talk, world } = await connected()
      await talk.send("Work")
      const turn = await edge.turn(0)
      await edge.begin(turn)
      await edge.work(turn, "w1", "running")
      await edge.endTurn(turn, "working")
      return { edge, talk, turn, world }
    }
    const many = await idle()
    const other = await idle()
    const inSession = `session_id = '${many.talk.sessionId}'`
    await repeatRows(hub, "sessions", `id = '${many.talk.sessionId}'`, HELD, { id: true })
    await repeatRows(hub, "session_agents", inSession, HELD, { session_id: true, id: true })
    await repeatRows(hub, "runs", `id = '${many.turn.runId}'`, HELD, { id: true, session_id: true })
    await repeatRows(hub, "tasks", `run_id = '${many.turn.runId}'`, HELD, {
      id: true,
      session_id: true,
      run_id: true,
      agent_instance_id: true
    })
    await whileHeld("runs", `project_id = '${many.world.projectId}'`, async () => {
      await repeatRows(hub, "messages", `${inSession} AND user_id IS NOT NULL`, HELD, {
        session_id: true,
        id: true,
        recipient: true,
        task_id: "NULL",
        run_id: "NULL",
        delivery: "'pending'"
      })
      const sent = await other.talk.send("and this")
      assert.strictEqual((await other.edge.input(0)).messageId, sent.id)
    })
  })

  it("holds up no log that is dropped: Retention", async () => {
    const { edge, talk, world } = await connected()
    await talk.send("Work")
    const turn = await edge.turn(0)
    await edge.perform(turn, "done")
    const ended = { ended_at: "now() - interval '90 days' + n * interval '1 second'" }
    await repeatRows(hub, "runs", `id = '${turn.runId}'`, HELD, { id: true, ...ended })
    await whileHeld("runs", `project_id = '${world.projectId}'`, async () => {
      const other = await connected()
      await other.talk.send("Work")
      const last = await other.edge.turn(0)
      await other.edge.perform(last, "done")
      await execute(`UPDATE runs SET ended_at = now() - interval '80 days' WHERE id = '${last.runId}'`)
      const before = new Date(Date.now() - 30 * 86_400_000)
      assert.strictEqual(await hub.people.act(dropLogsEndedBefore(before)), 1)
    })
  })

  it("holds up no file that expired: Uploads", async () => {
    const { userId } = (await worldOf(hub)).client
    const add = (from: number, count: number) =>
      execute(`
        INSERT INTO uploads (id, user_id, name, media_type, bytes, created_at)
        SELECT 'att_held' || n, '${userId}', 'a.txt', 'text/plain', 1, now() - interval '90 days' FROM generate_series(${from}, ${from + count - 1}) AS n`)
    await add(0, HELD)
    await whileHeld("uploads", "true", async () => {
      await add(HELD, 1)
      await hub.people.act(Effect.flatMap(Uploads, ({ sweep }) => sweep))
      assert.lengthOf(await execute("SELECT 1 FROM uploads"), HELD)
    })
  })

  it("holds up no text: SearchIndexer", async () => {
    const { talk, world } = await connected()
    const message = await talk.send("held")
    await whileHeld("projects", projectOf(world), async () => {
      await repeatRows(hub, "messages", `id = '${message.id}'`, HELD, { id: true })
      const other = await connected()
      await other.talk.send("searchable")
      await until(
        async () =>
          (
            await execute(
              "SELECT 1 FROM search_documents WHERE message_id IS NOT NULL AND text LIKE '%searchable%'"
            )
          )[0],
        "the text in the index"
      )
    })
  })
})
