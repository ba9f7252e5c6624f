/**
 * Rows that another program holds, the requests that need them, and the requests of a user who has nothing to do with them.
 *
 * The tables are those of the database: a new table is part of each test that uses this.
 */
import type { InputRequestId, SessionId } from "@corral/domain/identity/Ids"
import { type Answer, codeOf, HubClient } from "@corral/testing/hub/HubClient"
import type { HubProcess } from "@corral/testing/hub/HubProcess"
import { makeSession } from "@corral/testing/hub/People"
import { UncontendedTime, within } from "@corral/testing/time/Until"
import { assert } from "@effect/vitest"
import { Client } from "pg"
import { type World, worldOf } from "../link/World.ts"
import { TalkingEdge } from "./TalkingEdge.ts"
import { Talk } from "./Talks.ts"

/** Time in which every other request is answered, on a machine that has nothing else to do. */
const ANSWER_MS = 2_000
/** More than the time of the slowest answer without held rows. */
const SLOWDOWN = 4

/** All tables of a Hub. */
export const tablesOf = async (hub: HubProcess): Promise<ReadonlyArray<string>> => {
  const client = new Client({ connectionString: hub.databaseUrl })
  await client.connect()
  const { rows } = await client.query<{ readonly relname: string }>(
    "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition ORDER BY 1"
  )
  await client.end()
  return rows.map(({ relname }) => relname)
}

/** Actions outside of projects, such as sign-ins, need one of the heads that all users share. */
const ALL_BUT_ONE_HEAD = "WHERE part < (SELECT MAX(part) FROM audit_parts)"

/** Locks all rows that the table has, but one of those that all users share. Returns what ends the lock. */
export const holdRows = async (
  hub: HubProcess,
  table: string,
  rows = table === "audit_parts" ? ALL_BUT_ONE_HEAD : ""
): Promise<() => Promise<void>> => {
  const client = new Client({ connectionString: hub.databaseUrl })
  await client.connect()
  await client.query("BEGIN")
  await client.query(`SELECT 1 FROM "${table}" ${rows} FOR UPDATE`)
  return async () => {
    await client.query("ROLLBACK")
    await client.end()
  }
}

/** A user whose session has a run in progress with an open question, and a message that waits. */
export interface Busy extends World {
  readonly edge: TalkingEdge
  readonly sessionId: SessionId
  readonly inputId: InputRequestId
}

export const openBusy = async (hub: HubProcess): Promise<Busy> => {
  const world = await worldOf(hub)
  const edge = await TalkingEdge.link(hub.url, world)
  const talk = await Talk.open(world)
  await talk.send("first")
  const turn = await edge.turn(0)
  await edge.begin(turn)
  const inputId = await edge.ask(turn, {
    kind: "question",
    title: "Which?",
    questions: [{ id: "q", text: "Which?", kind: "text" }]
  })
  await talk.send("second")
  // Events of the answers would be refused while their run is held.
  edge.edge.answers = () => ({ _tag: "Refused", error: { code: "conflict", message: "The agent is busy." } })
  return { ...world, edge, sessionId: talk.sessionId, inputId }
}

/** Requests of that user, which write. */
type Write = (busy: Busy, client: HubClient, text: string) => Promise<Answer>

const writes: ReadonlyArray<Write> = [
  ({ sessionId }, client, text) =>
    client.ask("POST", `/client/sessions/${sessionId}/messages`, { body: { text, onOffline: "queue" } }),
  ({ sessionId }, client, title) => client.ask("PATCH", `/client/sessions/${sessionId}`, { body: { title } }),
  ({ projectId }, client, name) => client.ask("PATCH", `/client/projects/${projectId}`, { body: { name } }),
  ({ deviceId }, client, name) => client.ask("PATCH", `/client/devices/${deviceId}`, { body: { name } }),
  ({ projectId }, client, title) => client.ask("POST", "/client/sessions", { body: { projectId, title } }),
  ({ inputId }, client, text) =>
    client.ask("POST", `/client/inputs/${inputId}/answer`, { body: { answers: { q: text } } })
]

export interface Load {
  /** Ends it. All its answers were successes, or refusals of what could not be reached. */
  readonly end: () => Promise<void>
}

/** `count` requests of that user at any time, to a Hub. `isLost`: its connections may end, because the Hub is paused. */
export const loadOf = (busy: Busy, count: number, hub: HubProcess, isLost = false): Load => {
  const client = new HubClient(hub.url, busy.client.token, busy.client.userId)
  const load = { isOver: false }
  const write = async (_: unknown, index: number): Promise<void> => {
    for (let sent = index; !load.isOver; sent++) {
      const answer = await writes[sent % writes.length]?.(busy, client, `${sent}`).catch((error) => {
        if (!isLost) throw error
      })
      if (answer === undefined || answer.status < 400 || answer.status === 409) continue
      assert.strictEqual(answer.status, 503, answer.text)
      // A command of a Hub that is paused has no answer.
      assert.include(["overloaded", "target_offline"], codeOf(answer), answer.text)
      if (codeOf(answer) === "overloaded")
        assert.isAbove(Number(answer.headers.get("retry-after")), 0, answer.text)
    }
  }
  const writing = Promise.all(Array.from({ length: count }, write))
  writing.catch(() => undefined)
  return {
    end: async () => {
      load.isOver = true
      await writing
    }
  }
}

/** A user does what users do, up to the end of a run. Each answer comes within `millis`. Returns the milliseconds of the slowest. */
export const serveOther = async (hub: HubProcess, world: World, millis: number): Promise<number> => {
  const { client, deviceId, projectId } = world
  let slowest = 0
  const inTime = async <A>(what: string, answer: Promise<A>): Promise<A> => {
    const time = new UncontendedTime()
    const result = await within(answer, millis, what)
    slowest = Math.max(slowest, time.millis)
    return result
  }
  for (const path of [
    "/health",
    "/client/auth/me",
    "/client/projects",
    "/client/sessions",
    "/client/devices",
    "/client/tasks",
    "/client/inputs",
    "/client/approvals"
  ])
    assert.strictEqual((await inTime(path, client.ask("GET", path))).status, 200, path)
  const edge = await inTime("a link", TalkingEdge.link(hub.url, world))
  const { id } = await inTime("a session", makeSession(client, { id: projectId }))
  const agent = { agentId: "scripted", targetId: deviceId, workspace: "demo" }
  const added = await inTime("an agent", client.ask("POST", `/client/sessions/${id}/agents`, { body: agent }))
  assert.strictEqual(added.status, 201, added.text)
  const message = { text: "work", onOffline: "queue" }
  const sent = await inTime(
    "a message",
    client.ask("POST", `/client/sessions/${id}/messages`, { body: message })
  )
  assert.strictEqual(sent.status, 201, sent.text)
  await edge.perform(await edge.turn(0), "done")
  edge.edge.cut()
  return slowest
}

/** Time in which every answer comes on this machine. */
export const answerMsOf = async (hub: HubProcess): Promise<number> =>
  Math.max(ANSWER_MS, SLOWDOWN * (await serveOther(hub, await worldOf(hub), 60_000)))
