import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { AuditRecord, AuditVerification } from "@corral/domain/access/Audit"
import type { DeviceId, RunId, UserId } from "@corral/domain/identity/Ids"
import type { RequestId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as fc from "fast-check"
import { effort } from "@corral/testing/time/Effort"
import { Audit } from "../../src/audit/Audit.ts"
import { ApiKeyStore } from "../../src/signin/ApiKeyStore.ts"
import { codeOf, type HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { runCompleted, createdRun, Mirror, newId, runStarted } from "@corral/testing/hub/Mirror"
import { registerDevice } from "@corral/testing/hub/Offers"
import { walk } from "../harness/Pages.ts"
import { makeProject } from "@corral/testing/hub/People"

describe("Readers of the audit trail", () => {
  const hub = new HubInProcess()
  let ada: HubClient
  let bob: HubClient
  beforeAll(async () => {
    await hub.start()
    ada = await hub.signedIn("ada")
    bob = await hub.signedIn("bob")
  })
  afterAll(() => hub.remove())

  const onStore = (statement: string) =>
    hub.people.act(Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(statement)))
  const listed = (client: HubClient, query = "") => walk<AuditRecord>(client, `/client/audit${query}`)
  const exported = async (client: HubClient, query = ""): Promise<ReadonlyArray<AuditRecord>> => {
    const answer = await fetch(`${hub.url}/client/audit/export${query}`, {
      headers: { authorization: `Bearer ${client.token}` }
    })
    assert.strictEqual(answer.status, 200)
    const text = (await answer.text()).trimEnd()
    return text === "" ? [] : text.split("\n").map((line) => JSON.parse(line) as AuditRecord)
  }
  const verify = (client: HubClient, query = "") =>
    client.ask<AuditVerification>("GET", `/client/audit/verify${query}`)

  describe("of no project", () => {
    /** Things of Ada's, by their ids. */
    const things = async () => {
      const device = await registerDevice(ada)
      const signIn = await hub.people.signIn("ada")
      const wanted = { name: "ci", scopes: ["read"] as const, expiresInDays: 1 }
      const key = await hub.people.act(
        Effect.flatMap(ApiKeyStore, (keys) => keys.create(signIn.userId, wanted))
      )
      return { device: device.id, signIn: signIn.signInId, key: key.id }
    }

    it("see their own actions and every action on their own resources, in the list and the export", async () => {
      const { device, key, signIn } = await things()
      const ofAda: ReadonlySet<string> = new Set([device, key, signIn])
      const actions = [
        "device.flapping",
        "device.rotate",
        "device.connect",
        "sign_in.revoke",
        "device.manage"
      ] as const
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...actions),
          fc.constantFrom(
            String(ada.userId),
            String(bob.userId),
            "system",
            "gateway",
            device,
            newId<DeviceId>("dev")
          ),
          fc.constantFrom(device, key, signIn, newId<DeviceId>("dev"), "unknown"),
          async (action, actor, resource) => {
            const requestId = newId<RequestId>("req")
            const entry = {
              action,
              actor,
              resource,
              projectId: null,
              outcome: "failed",
              code: "conflict",
              requestId
            } as const
            await hub.people.act(Effect.flatMap(Audit, (audit) => audit.record(entry)))
            for (const client of [ada, bob]) {
              const expected = actor === client.userId || (client === ada && ofAda.has(resource))
              for (const records of [await listed(client), await exported(client)])
                assert.strictEqual(
                  records.some((record) => record.requestId === requestId),
                  expected,
                  `${action} of ${actor} on ${resource}`
                )
            }
          }
        ),
        { numRuns: 25 * effort }
      )
    })

    it("verify the chain and see where it was changed", async () => {
      const whole = await verify(bob)
      assert.isTrue(whole.body.ok)
      assert.isAbove(whole.body.checked, 0)
      const [second] = await onStore(
        "SELECT seq::int AS seq FROM audit WHERE chain = '' ORDER BY seq LIMIT 1 OFFSET 1"
      )
      const seq = (second as { readonly seq: number }).seq
      await onStore(`UPDATE audit SET actor = 'usr_x' WHERE chain = '' AND seq = ${seq}`)
      assert.deepStrictEqual((await verify(bob)).body, { ok: false, checked: 1, brokenAtSeq: seq })
    })
  })

  describe("of a deleted project", () => {
    it("are only those who could read it before the deletion", async () => {
      const [admin, member] = [await hub.signedIn("admin"), await hub.signedIn("member")]
      const { id } = await makeProject(ada, "internal", [
        [admin, "admin"],
        [member, "member"]
      ])
      assert.strictEqual((await ada.ask("DELETE", `/client/projects/${id}`)).status, 204)
      const query = `?projectId=${id}`
      for (const client of [ada, admin]) {
        const records = await listed(client, query)
        assert.deepInclude(records[0] ?? {}, {
          action: "project.delete",
          actor: ada.userId,
          outcome: "allowed"
        })
        assert.deepStrictEqual((await exported(client, query)).toReversed(), records)
        assert.deepInclude((await verify(client, query)).body, { ok: true })
      }
      for (const client of [member, bob])
        assert.strictEqual(codeOf(await client.ask("GET", `/client/audit${query}`)), "permission_denied")
      // The owner's own actions still include its id. The project itself is gone.
      const entries = await listed(ada, "?action=project.delete")
      assert.include(
        entries.map(({ resource }) => resource),
        id
      )
      assert.strictEqual(codeOf(await ada.ask("GET", `/client/projects/${id}`)), "permission_denied")
    })
  })
})

describe("Deleting a project", () => {
  const hub = new HubInProcess()
  let ada: HubClient
  beforeAll(async () => {
    await hub.start()
    ada = await hub.signedIn("ada")
  })
  afterAll(() => hub.remove())

  const remove = (id: string) =>
    ada.ask<{
      readonly details?: { readonly reason: string; readonly runs: ReadonlyArray<{ readonly id: RunId }> }
    }>("DELETE", `/client/projects/${id}`)
  const onStore = (statement: string) =>
    hub.people.act(Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(statement)))

  const owner = (): UserId => ada.userId as UserId

  const states = fc.array(fc.constantFrom("queued", "created", "running", "completed"), { maxLength: 4 })
  const fates = fc.constantFrom("present", "away for an hour", "away for two days", "revoked", "removed")

  it("is refused while runs are in progress on a device that may still report, and names them", () =>
    fc.assert(
      fc.asyncProperty(states, fates, async (runs, fate) => {
        const mirror = new Mirror(hub, newId<DeviceId>("dev"))
        const project = await mirror.project(owner())
        await mirror.device(owner(), project)
        const live: Array<RunId> = []
        for (const state of runs) {
          const events = {
            queued: [],
            created: [createdRun],
            running: [createdRun, runStarted],
            completed: [createdRun, runStarted, runCompleted]
          }
          const id = await mirror.run(project, ...(events[state as keyof typeof events] ?? []))
          if (state !== "completed") live.push(id)
        }
        const seen = {
          present: "0",
          "away for an hour": "1",
          "away for two days": "48",
          revoked: "0",
          removed: "0"
        }
        await onStore(
          `UPDATE devices SET created_at = now() - interval '3 days', last_seen_at = now() - interval '${seen[fate as keyof typeof seen]} hours'
           WHERE id = '${mirror.targetId}'`
        )
        if (fate === "revoked")
          await ada.ask("PATCH", `/client/devices/${mirror.targetId}`, { body: { state: "revoked" } })
        if (fate === "removed") await ada.ask("DELETE", `/client/devices/${mirror.targetId}`)
        const counts = fate === "present" || fate === "away for an hour"
        const answer = await remove(project)
        if (!counts || live.length === 0) return assert.strictEqual(answer.status, 204, answer.text)
        assert.deepStrictEqual([answer.status, codeOf(answer)], [409, "conflict"])
        assert.deepStrictEqual(
          [answer.body.details?.reason, answer.body.details?.runs.map(({ id }) => id)],
          ["live_runs", live]
        )
        assert.strictEqual((await ada.ask("GET", `/client/projects/${project}`)).status, 200)
      }),
      { numRuns: 25 * effort }
    ))

  it("leaves no run behind that begins meanwhile", async () => {
    for (let i = 0; i < 10; i++) {
      const mirror = new Mirror(hub, newId<DeviceId>("dev"))
      const project = await mirror.project(owner())
      await mirror.device(owner(), project)
      const [removed] = await Promise.all([
        remove(project),
        mirror.run(project, createdRun).catch(() => undefined)
      ])
      const left = await onStore(`SELECT 1 FROM runs WHERE project_id = '${project}'`)
      assert.strictEqual(left.length, removed.status === 204 ? 0 : 1)
    }
  })
})
