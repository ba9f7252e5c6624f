/** `/client/devices/{id}/presets`: who changes presets of a device, and what the trail has of it. */
import type { AuditRecord } from "@corral/domain/access/Audit"
import type { CommandOutcome, EdgeCommand } from "@corral/domain/link/EdgeCommand"
import { edgeCommands } from "@corral/domain/link/EdgeCommand"
import type { AgentId } from "@corral/domain/identity/Ids"
import type { Preset } from "@corral/domain/run/Preset"
import type { BrowserClient } from "@corral/testing/hub/Browser"
import { codeOf, HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { makeProject } from "@corral/testing/hub/People"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { ApiKeyStore } from "../../src/signin/ApiKeyStore.ts"
import { LinkedEdge, offer } from "../harness/LinkedEdge.ts"
import { deviceOf } from "./World.ts"

const preset: Preset = {
  id: "careful" as AgentId,
  kind: "profile",
  source: "api",
  settings: { label: "Careful", adapter: "scripted", mode: "ask" },
  editable: true
}
const careful = { id: preset.id, kind: preset.kind, settings: preset.settings }

const answers = (command: EdgeCommand): CommandOutcome | undefined => {
  if (command.name === "ListPresets") return { _tag: "Done", value: [preset] }
  if (command.name !== "ChangePreset") return undefined
  return { _tag: "Done", value: command.payload.change._tag === "Remove" ? {} : { preset } }
}

describe("presets of a device", () => {
  const hub = new HubInProcess()
  beforeAll(() => hub.start())
  afterAll(() => hub.remove())

  let worlds = 0
  const linked = async () => {
    const owner = await hub.atBrowser(`owner ${++worlds}`)
    const { id: projectId } = await makeProject(owner)
    const { deviceId, key } = await deviceOf(owner, "edge", projectId)
    const edge = await LinkedEdge.link(hub.url, { deviceId, key, answers })
    await edge.heartbeat({ ...offer, commands: Object.keys(edgeCommands) })
    return { owner, projectId, deviceId, edge, path: `/client/devices/${deviceId}/presets` }
  }

  const changes = (path: string) =>
    [
      ["POST", path, careful],
      ["PATCH", `${path}/careful`, { settings: { label: "Mine" } }],
      ["DELETE", `${path}/careful`, undefined]
    ] as const

  /** The newest records about presets that a user caused. */
  const trailOf = async (client: HubClient): Promise<ReadonlyArray<string>> => {
    const { body } = await client.ask<{ readonly items: ReadonlyArray<AuditRecord> }>(
      "GET",
      "/client/audit?action=device.presets&limit=50"
    )
    return body.items.map(({ actor, code, outcome }) => `${actor === client.userId} ${outcome} ${code}`)
  }

  it("are read and changed by the owner, and each change is recorded", async () => {
    const { edge, owner, path } = await linked()
    const list = await owner.ask<{ readonly items: ReadonlyArray<Preset> }>("GET", path)
    assert.deepStrictEqual(list.body.items, [preset])
    const statuses: Array<number> = []
    for (const [method, target, body] of changes(path))
      statuses.push((await owner.ask(method, target, { body })).status)
    assert.deepStrictEqual(statuses, [201, 200, 204])
    const sent = edge.commands.flatMap((command) =>
      command.name === "ChangePreset" ? [command.payload] : []
    )
    assert.deepStrictEqual(
      sent.map(({ change }) => change._tag),
      ["Create", "Update", "Remove"]
    )
    for (const { by } of sent) assert.strictEqual(by, owner.userId)
    assert.deepStrictEqual(
      await trailOf(owner),
      Array.from({ length: 3 }, () => "true allowed null")
    )
  })

  it("are created once per idempotency key", async () => {
    const { edge, owner, path } = await linked()
    const headers = { "idempotency-key": "once" }
    const first = await owner.ask("POST", path, { body: careful, headers })
    const again = await owner.ask("POST", path, { body: careful, headers })
    assert.deepStrictEqual([again.status, again.body], [first.status, first.body])
    assert.strictEqual(again.headers.get("idempotency-replayed"), "true")
    assert.lengthOf(
      edge.commands.filter(({ name }) => name === "ChangePreset"),
      1
    )
  })

  const refused = async (client: HubClient, path: string, edge: LinkedEdge, code: string) => {
    for (const [method, target, body] of changes(path)) {
      const answer = await client.ask(method, target, { body })
      assert.strictEqual(codeOf(answer), code, `${method} ${answer.text}`)
    }
    assert.isUndefined(edge.commands.find(({ name }) => name === "ChangePreset"))
  }

  it.each(["viewer", "member", "admin", undefined] as const)(
    "are neither read nor changed by a user with the role %s in a project of the device",
    async (role) => {
      const { edge, owner, path, projectId } = await linked()
      const other = await hub.atBrowser(`other ${++worlds}`)
      if (role !== undefined) {
        const added = await owner.ask("POST", `/client/projects/${projectId}/members`, {
          body: { userId: other.userId, role }
        })
        assert.strictEqual(added.status, 201, added.text)
      }
      assert.strictEqual(codeOf(await other.ask("GET", path)), "permission_denied")
      await refused(other, path, edge, "permission_denied")
      assert.deepStrictEqual(
        await trailOf(other),
        Array.from({ length: 4 }, () => "true denied permission_denied")
      )
    }
  )

  const agedBy = (owner: BrowserClient, minutes: number) =>
    hub.people.act(
      Effect.flatMap(
        SqlClient.SqlClient,
        (sql) =>
          sql`UPDATE sign_ins SET authenticated_at = now() - make_interval(mins => ${minutes}) WHERE id = ${owner.signInId}`
      )
    )

  it("require a browser and a sign-in of the last 15 minutes, and say so in the trail", async () => {
    const { edge, owner, path } = await linked()
    await refused(await hub.signedIn(`owner ${worlds}`), path, edge, "permission_denied")
    await agedBy(owner, 16)
    await refused(owner, path, edge, "conflict")
    const old = await owner.ask("POST", path, { body: careful })
    assert.deepInclude<object>(old.body as object, { details: { reason: "sign_in_old" } })
    assert.strictEqual((await owner.ask("GET", path)).status, 200)
    const trail = await trailOf(owner)
    assert.deepStrictEqual([...new Set(trail)].toSorted(), [
      "true denied permission_denied",
      "true failed conflict"
    ])
    await agedBy(owner, 14)
    assert.strictEqual((await owner.ask("POST", path, { body: careful })).status, 201)
  })

  it("are closed to API keys", async () => {
    const { edge, owner, path } = await linked()
    const { userId = assert.fail("no user") } = owner
    const { token } = await hub.people.act(
      Effect.flatMap(ApiKeyStore, (keys) =>
        keys.create(userId, { name: "ci", scopes: ["read", "write"], expiresInDays: 1 })
      )
    )
    const client = new HubClient(hub.url, token, userId)
    assert.strictEqual(codeOf(await client.ask("GET", path)), "permission_denied")
    await refused(client, path, edge, "permission_denied")
  })

  it("are what the device says: its refusals are passed on and recorded", async () => {
    const { edge, owner, path } = await linked()
    const issues = [{ path: "settings.mode", message: "this adapter cannot be held to such a mode" }]
    const refusals = [
      [{ code: "permission_denied", message: "From a Hub, only profiles." }, 403, "denied"],
      [{ code: "schema_validation_failed", message: "x", details: { issues } }, 422, "failed"],
      [{ code: "conflict", message: "The configuration file of the Edge defines this id." }, 409, "failed"]
    ] as const
    for (const [error, status, outcome] of refusals) {
      edge.answers = () => ({ _tag: "Refused", error })
      const answer = await owner.ask<{ readonly message: string }>("POST", path, { body: careful })
      assert.deepStrictEqual([answer.status, codeOf(answer)], [status, error.code], answer.text)
      if ("details" in error) assert.deepInclude<object>(answer.body, { details: { issues } })
      else assert.strictEqual(answer.body.message, error.message)
      assert.include(await trailOf(owner), `true ${outcome} ${error.code}`)
    }
  })

  it("need a device that is online, with an Edge that manages presets", async () => {
    const { edge, owner, path } = await linked()
    await edge.heartbeat({
      ...offer,
      commands: Object.keys(edgeCommands).filter(
        (name) => !name.endsWith("Preset") && !name.endsWith("Presets")
      )
    })
    for (const answer of [await owner.ask("GET", path), await owner.ask("POST", path, { body: careful })]) {
      assert.deepStrictEqual([answer.status, codeOf(answer)], [409, "conflict"])
      assert.deepInclude<object>(answer.body as object, { details: { reason: "edge_outdated" } })
    }
    const { deviceId } = await deviceOf(owner, "desktop")
    const offline = await owner.ask("GET", `/client/devices/${deviceId}/presets`)
    assert.deepStrictEqual([offline.status, codeOf(offline)], [503, "target_offline"])
  })
})
