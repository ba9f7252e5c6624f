/** `/client/devices` and `/client/targets` over a real Hub: how a device comes, whose it is, who may route to it. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { AuditRecord } from "@corral/domain/access/Audit"
import type { Device, JoinToken, Target } from "@corral/domain/device/Device"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { codeOf, type HubClient } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { heardWhile } from "../harness/Notices.ts"
import { newKey, registerDevice, reportOffer } from "@corral/testing/hub/Offers"
import { walk } from "../harness/Pages.ts"
import { makeProject } from "@corral/testing/hub/People"

const nowhere = "/client/devices/dev_01K0000000000000000000000Z"

describe("/client/devices", () => {
  const hub = new HubInProcess()
  let ada: HubClient
  let bob: HubClient
  let eve: HubClient

  beforeAll(async () => {
    await hub.start()
    ada = await hub.signedIn("ada")
    bob = await hub.signedIn("bob")
    eve = await hub.signedIn("eve")
  })
  afterAll(() => hub.remove())

  const joinToken = async (client: HubClient, body: object = {}): Promise<JoinToken> => {
    const created = await client.ask<JoinToken>("POST", "/client/devices/join-tokens", { body })
    assert.strictEqual(created.status, 201)
    return created.body
  }
  it("registers a device for the signed-in user", async () => {
    const publicKey = newKey()
    const created = await ada.ask<Device>("POST", "/client/devices/register", {
      body: { name: "Ädas laptop", kind: "desktop", publicKey }
    })
    assert.strictEqual(created.status, 201)
    assert.deepInclude(created.body, {
      name: "Ädas laptop",
      kind: "desktop",
      state: "offline",
      publicKey,
      sharedWith: []
    })
    assert.strictEqual(created.body.ownerId, ada.userId)
    assert.deepStrictEqual((await ada.ask("GET", `/client/devices/${created.body.id}`)).body, created.body)
    const again = await bob.ask("POST", "/client/devices/register", {
      body: { name: "mine", kind: "edge", publicKey }
    })
    assert.deepStrictEqual([again.status, codeOf(again)], [409, "conflict"])
  })

  it("registers one device for a join token, owned by its creator", async () => {
    const { expiresAt, token } = await joinToken(ada)
    const left = new Date(expiresAt).getTime() - Date.now()
    assert.isTrue(left > 3_500_000 && left <= 3_600_000)
    assert.match(token, /^corral_j_/)
    const body = { name: "build box", kind: "edge", publicKey: newKey(), joinToken: token }
    const headers = { "idempotency-key": "join" }
    const created = await hub.client.ask<Device>("POST", "/client/devices/register", { body, headers })
    assert.deepStrictEqual([created.status, created.body.ownerId], [201, ada.userId])
    const replayed = await hub.client.ask("POST", "/client/devices/register", { body, headers })
    assert.deepStrictEqual([replayed.status, replayed.body], [201, created.body])
    assert.strictEqual(replayed.headers.get("idempotency-replayed"), "true")
    const second = await hub.client.ask("POST", "/client/devices/register", {
      body: { ...body, publicKey: newKey() }
    })
    assert.deepStrictEqual([second.status, codeOf(second)], [401, "unauthorized"])
    assert.notInclude(hub.stderr, token)
  })

  it("keeps a join token after a refused registration, and admits one of two devices", async () => {
    const { token } = await joinToken(ada)
    const { publicKey } = await registerDevice(ada)
    const ask = (key: string) =>
      hub.client.ask("POST", "/client/devices/register", {
        body: { name: "box", kind: "edge", publicKey: key, joinToken: token }
      })
    assert.strictEqual(codeOf(await ask(publicKey)), "conflict")
    const answers = await Promise.all(Array.from({ length: 6 }, () => ask(newKey())))
    assert.deepStrictEqual(answers.map(({ status }) => status).sort(), [201, 401, 401, 401, 401, 401])
  })

  it("rejects expired, invented and other tokens", async () => {
    const { token } = await joinToken(ada, { expiresInSeconds: 1 })
    await hub.people.act(
      Effect.flatMap(
        SqlClient.SqlClient,
        (sql) => sql`UPDATE join_tokens SET expires_at = now() - interval '1 second'`
      )
    )
    for (const joinToken of [token, `corral_j_${"A".repeat(43)}`, ada.token, "x", "a\0b", ""]) {
      const answer = await hub.client.ask("POST", "/client/devices/register", {
        body: { name: "box", kind: "edge", publicKey: newKey(), joinToken }
      })
      assert.deepStrictEqual([answer.status, codeOf(answer)], [401, "unauthorized"], String(joinToken))
    }
    for (const bearer of [null, "corral_s_none", token]) {
      const answer = await hub.client.ask("POST", "/client/devices/register", {
        body: { name: "box", kind: "edge", publicKey: newKey() },
        token: bearer
      })
      assert.strictEqual(codeOf(answer), "unauthorized")
    }
    for (const [method, path] of [
      ["POST", "/client/devices/join-tokens"],
      ["GET", "/client/devices"],
      ["GET", nowhere],
      ["PATCH", nowhere],
      ["DELETE", nowhere],
      ["GET", "/client/targets"]
    ] as const) {
      const body = method === "POST" || method === "PATCH" ? {} : undefined
      assert.strictEqual(codeOf(await hub.client.ask(method, path, { body })), "unauthorized")
      assert.strictEqual(codeOf(await hub.client.ask(method, path, { body, token })), "unauthorized")
    }
  })

  it.each([
    ["a short key", { publicKey: "A".repeat(42) }],
    ["a key in another spelling", { publicKey: `${"A".repeat(42)}B` }],
    ["an unknown kind", { kind: "phone" }],
    ["no name", { name: "" }],
    ["a long name", { name: "x".repeat(10_000) }],
    ["U+0000", { name: "a\0" }],
    ["half of a surrogate pair", { name: "\udfff" }]
  ])("refuses %s", async (_, wrong) => {
    const answer = await ada.ask("POST", "/client/devices/register", {
      body: { name: "box", kind: "edge", publicKey: newKey(), ...wrong }
    })
    assert.deepStrictEqual([answer.status, codeOf(answer)], [422, "schema_validation_failed"])
  })

  it("limits join tokens to an hour", async () => {
    for (const expiresInSeconds of [0, 3_601, "60", 1.5]) {
      const answer = await ada.ask("POST", "/client/devices/join-tokens", { body: { expiresInSeconds } })
      assert.deepStrictEqual([answer.status, codeOf(answer)], [422, "schema_validation_failed"])
    }
  })

  it("gives the same answer for missing devices and devices of others", async () => {
    const { id } = await registerDevice(ada)
    for (const [method, body] of [
      ["GET", undefined],
      ["PATCH", { name: "mine" }],
      ["PATCH", { state: "revoked" }],
      ["DELETE", undefined]
    ] as const) {
      const seen = async (path: string) => {
        const answer = await eve.ask(method, path, { body })
        return [answer.status, { ...(answer.body as object), requestId: "" }]
      }
      const foreign = await seen(`/client/devices/${id}`)
      assert.strictEqual(foreign[0], 403)
      assert.deepStrictEqual(foreign, await seen(nowhere))
    }
    const tried = await walk<AuditRecord>(eve, "/client/audit?action=device.manage", 200)
    assert.strictEqual(tried.length, 6)
    assert.strictEqual((await ada.ask("GET", `/client/devices/${id}`)).status, 200)
  })

  it("can be shared with projects where its owner manages devices", async () => {
    const ownProject = await makeProject(ada, "private", [
      [bob, "member"],
      [eve, "viewer"]
    ])
    const other = await makeProject(bob, "private", [[ada, "member"]])
    const path = `/client/devices/${(await registerDevice(ada)).id}`
    const share = (client: HubClient, sharedWith: ReadonlyArray<string>) =>
      client.ask<Device>("PATCH", path, { body: { sharedWith } })

    assert.strictEqual(codeOf(await bob.ask("GET", path)), "permission_denied")
    assert.strictEqual(codeOf(await share(ada, [ownProject.id, other.id])), "permission_denied")
    assert.strictEqual(codeOf(await share(ada, ["prj_01K0000000000000000000000Z"])), "permission_denied")
    assert.deepStrictEqual((await share(ada, [ownProject.id, ownProject.id])).body.sharedWith, [
      ownProject.id
    ])
    for (const reader of [bob, eve]) {
      const seen = await reader.ask<Device>("GET", path)
      assert.deepStrictEqual([seen.status, seen.body.sharedWith], [200, [ownProject.id]])
    }
    assert.strictEqual(codeOf(await share(bob, [])), "permission_denied")

    // Of its other projects a member sees those that they may read.
    const hidden = await makeProject(ada)
    assert.sameMembers(
      [...(await share(ada, [ownProject.id, hidden.id])).body.sharedWith],
      [ownProject.id, hidden.id]
    )
    assert.deepStrictEqual((await bob.ask<Device>("GET", path)).body.sharedWith, [ownProject.id])
    assert.deepStrictEqual((await share(ada, [])).body.sharedWith, [])
    assert.strictEqual(codeOf(await bob.ask("GET", path)), "permission_denied")
    const trail = await walk<AuditRecord>(
      ada,
      `/client/audit?projectId=${ownProject.id}&action=device.manage`
    )
    assert.deepStrictEqual(
      trail.map(({ outcome }) => outcome),
      ["allowed", "allowed"]
    )
  })

  it("can be renamed, and is online while its lease lasts", async () => {
    const { id } = await registerDevice(ada)
    const renamed = await ada.ask<Device>("PATCH", `/client/devices/${id}`, { body: { name: "desk" } })
    assert.deepStrictEqual([renamed.status, renamed.body.name, renamed.body.state], [200, "desk", "offline"])
    await reportOffer(hub, id)
    const online = await ada.ask<Device>("GET", `/client/devices/${id}`)
    assert.deepInclude(online.body, { state: "online", version: "1.2.3" })
    const stats = await hub.client.ask<{ devicesOnline: number }>("GET", "/api/public/stats")
    assert.strictEqual(stats.body.devicesOnline, 1)
    await reportOffer(hub, id, { online: false })
    assert.strictEqual((await ada.ask<Device>("GET", `/client/devices/${id}`)).body.state, "offline")
    for (const name of ["", "a\0b", 5]) {
      const wrong = await ada.ask("PATCH", `/client/devices/${id}`, { body: { name } })
      assert.strictEqual(codeOf(wrong), "schema_validation_failed")
    }
  })

  it("stays revoked, and notifies every Hub", async () => {
    const project = await makeProject(ada)
    const device = await registerDevice(ada, { sharedWith: [project.id] })
    const path = `/client/devices/${device.id}`
    await reportOffer(hub, device.id)
    const received = await heardWhile(hub, "deviceEnded", () =>
      ada.ask("PATCH", path, { body: { state: "revoked" } })
    )
    assert.strictEqual(received, device.id)
    assert.strictEqual((await ada.ask<Device>("GET", path)).body.state, "revoked")
    await reportOffer(hub, device.id)
    assert.strictEqual((await ada.ask<Device>("GET", path)).body.state, "revoked")
    const again = await ada.ask<Device>("PATCH", path, { body: { state: "revoked" } })
    assert.deepStrictEqual([again.status, again.body.state], [200, "revoked"])
    for (const body of [{ name: "new" }, { sharedWith: [] }]) {
      const answer = await ada.ask("PATCH", path, { body })
      assert.deepStrictEqual([answer.status, codeOf(answer)], [409, "conflict"])
    }
    for (const state of ["online", "offline"])
      assert.strictEqual(
        codeOf(await ada.ask("PATCH", path, { body: { state } })),
        "schema_validation_failed"
      )
    const same = await ada.ask("POST", "/client/devices/register", {
      body: { name: "again", kind: "edge", publicKey: device.publicKey }
    })
    assert.strictEqual(codeOf(same), "conflict")
    const targets = await walk<Target>(ada, "/client/targets", 200)
    assert.notInclude(
      targets.map(({ id }) => id),
      device.id
    )
  })

  it("is removed, and notifies every Hub", async () => {
    const { id } = await registerDevice(ada)
    const received = await heardWhile(hub, "deviceEnded", async () => {
      assert.strictEqual((await ada.ask("DELETE", `/client/devices/${id}`)).status, 204)
    })
    assert.strictEqual(received, id)
    assert.strictEqual(codeOf(await ada.ask("GET", `/client/devices/${id}`)), "permission_denied")
    assert.strictEqual(codeOf(await ada.ask("DELETE", `/client/devices/${id}`)), "permission_denied")
  })

  it("lists own and shared devices, by state", async () => {
    const zoe = await hub.signedIn("zoe")
    const project = await makeProject(zoe, "private", [[bob, "viewer"]])
    const [first, second, third] = [
      await registerDevice(zoe),
      await registerDevice(zoe, { sharedWith: [project.id] }),
      await registerDevice(zoe)
    ]
    await reportOffer(hub, first.id)
    await zoe.ask("PATCH", `/client/devices/${third.id}`, { body: { state: "revoked" } })
    const ids = async (client: HubClient, query = "") =>
      (await walk<Device>(client, `/client/devices${query}`, 1)).map(({ id }) => id)
    assert.deepStrictEqual(await ids(zoe), [third.id, second.id, first.id].toSorted().toReversed())
    assert.deepStrictEqual(await ids(zoe, "?state=online"), [first.id])
    assert.deepStrictEqual(await ids(zoe, "?state=offline"), [second.id])
    assert.deepStrictEqual(await ids(zoe, "?state=revoked"), [third.id])
    assert.include(await ids(bob), second.id)
    assert.notInclude(await ids(bob), first.id)
    for (const query of ["?state=gone", "?limit=0", "?cursor=AAAA"])
      assert.strictEqual(codeOf(await zoe.ask("GET", `/client/devices${query}`)), "schema_validation_failed")
  })

  it("lists the devices that the caller may route to as targets", async () => {
    const [owner, member, viewer] = [
      await hub.signedIn("owner"),
      await hub.signedIn("member"),
      await hub.signedIn("viewer")
    ]
    const project = await makeProject(owner, "internal", [
      [member, "member"],
      [viewer, "viewer"]
    ])
    const ownDevice = await registerDevice(owner)
    const shared = await registerDevice(owner, { sharedWith: [project.id] })
    await reportOffer(hub, shared.id, { workspaces: ["site", "api"], agents: ["scripted"] })
    const ids = async (client: HubClient, query = "") =>
      (await walk<Target>(client, `/client/targets${query}`, 1)).map(({ id }) => id).sort()
    assert.deepStrictEqual(await ids(owner), [ownDevice.id, shared.id].sort())
    assert.deepStrictEqual(await ids(owner, `?projectId=${project.id}`), [shared.id])
    assert.deepStrictEqual(await ids(member), [shared.id])
    assert.deepStrictEqual(await ids(member, `?projectId=${project.id}`), [shared.id])
    for (const none of [viewer, eve]) assert.deepStrictEqual(await ids(none, `?projectId=${project.id}`), [])
    const [target] = await walk<Target>(member, "/client/targets")
    assert.deepInclude(target, { name: "laptop", state: "online" })
    assert.deepStrictEqual(
      target?.workspaces.map(({ id }) => id as string),
      ["site", "api"]
    )
    assert.deepStrictEqual(
      target?.agents.map(({ id }) => id as string),
      ["scripted"]
    )

    const hidden = await makeProject(owner)
    for (const projectId of [hidden.id, "prj_01K0000000000000000000000Z"]) {
      const answer = await eve.ask("GET", `/client/targets?projectId=${projectId}`)
      assert.deepStrictEqual([answer.status, codeOf(answer)], [403, "permission_denied"])
    }
    await owner.ask("DELETE", `/client/projects/${project.id}/members/${member.userId}`)
    assert.deepStrictEqual(await ids(member), [])
  })
})
