/** Every kind of row that requests lock, held by another program: requests that need it are refused within seconds, and others are answered. */
import { codeOf } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { makeSession } from "@corral/testing/hub/Teams"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Client } from "pg"
import { TalkingEdge } from "../harness/TalkingEdge.ts"
import { Talk } from "../harness/Talks.ts"
import { worldOf } from "../link/World.ts"

/** What the row of a project, its session, its user or its device is locked by. */
const rows = {
  projects: "id = $1",
  project_members: "project_id = $1",
  sessions: "project_id = $1",
  session_agents: "session_id IN (SELECT id FROM sessions WHERE project_id = $1)",
  messages: "session_id IN (SELECT id FROM sessions WHERE project_id = $1)",
  tasks: "project_id = $1",
  runs: "project_id = $1",
  audit_heads: "chain = $1",
  devices: "id IN (SELECT device_id FROM device_shares WHERE project_id = $1)",
  sign_ins: "user_id IN (SELECT user_id FROM project_members WHERE project_id = $1)",
  users: "id IN (SELECT user_id FROM project_members WHERE project_id = $1)"
} as const

describe("A row that another program holds", { timeout: 120_000 }, () => {
  const hub = new HubInProcess()
  beforeAll(() => hub.start())
  afterAll(() => hub.remove())

  it.each(Object.entries(rows))(
    "of the table %s delays nothing of another project",
    async (table, condition) => {
      const [world, others] = [await worldOf(hub), await worldOf(hub)]
      await TalkingEdge.link(hub.url, world)
      await TalkingEdge.link(hub.url, others)
      const [locked, other] = [await Talk.open(world), await Talk.open(others)]
      await locked.send("first")
      const holder = new Client({ connectionString: hub.databaseUrl })
      await holder.connect()
      await holder.query("BEGIN")
      await holder.query(`SELECT 1 FROM ${table} WHERE ${condition} FOR UPDATE`, [world.projectId])
      const { client } = locked
      const requests = Promise.all(
        Array.from({ length: 5 }, (_, index) => [
          locked.trySend(`${index}`),
          client.ask("PATCH", `/client/sessions/${locked.sessionId}`, { body: { title: `${index}` } }),
          client.ask("PATCH", `/client/projects/${world.projectId}`, { body: { name: `${index}` } }),
          client.ask("PATCH", `/client/devices/${world.deviceId}`, { body: { name: `${index}` } }),
          client.ask("GET", "/client/auth/me")
        ]).flat()
      )
      assert.strictEqual((await other.trySend("work")).status, 201)
      assert.strictEqual((await makeSession(others.client, { id: others.projectId })).state, "active")
      for (const path of [
        "/client/auth/me",
        "/client/projects",
        "/client/sessions",
        "/client/devices",
        "/client/tasks"
      ])
        assert.strictEqual((await others.client.ask("GET", path)).status, 200, path)
      for (const answer of await requests)
        if (answer.status >= 400)
          assert.deepStrictEqual([answer.status, codeOf(answer)], [503, "overloaded"], answer.text)
      await holder.query("ROLLBACK")
      await holder.end()
      assert.strictEqual((await locked.trySend("again")).status, 201)
    }
  )
})
