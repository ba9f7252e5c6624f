import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { draft } from "@corral/domain/run/RunEvent"
import type { ProjectId, RunId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { SignInStore } from "../../src/signin/SignInStore.ts"
import { HubClient } from "@corral/testing/hub/HubClient"
import { HubProcess, openHub } from "@corral/testing/hub/HubProcess"
import {
  runCompleted,
  createdRun,
  createRun,
  linesOf,
  Mirror,
  newId,
  messageDelta,
  runStarted,
  startMirror
} from "@corral/testing/hub/Mirror"
import { refusedUpgrade, StreamReader } from "@corral/testing/hub/StreamReader"

describe("/client/events", () => {
  const hub = new HubProcess()
  let ada: HubClient
  let bob: HubClient
  let mirror: Mirror
  let project: ProjectId
  beforeAll(async () => {
    ;({ ada, mirror, project } = await startMirror(hub))
    bob = await hub.signedIn("bob")
  })
  afterAll(() => hub.remove())

  const notify = (channel: string, payload: string) =>
    hub.people.act(
      Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT pg_notify(${channel}, ${payload})`)
    )
  const many = (count: number, size = 10) =>
    Array.from({ length: count }, (_, i) => messageDelta(`${i} ${"x".repeat(size)}`))

  it("sends what is stored, then what comes, and closes after the run's last event", async () => {
    const runId = await mirror.run(project, createdRun, runStarted)
    const reader = await StreamReader.open(ada, `runId=${runId}`)
    await reader.count(2)
    await mirror.append(runId, 3, messageDelta("\u0000 \ud800 😀"), messageDelta("b"))
    await reader.count(4)
    await mirror.append(runId, 5, runCompleted)
    assert.strictEqual((await reader.closed()).code, 1000)
    assert.deepStrictEqual(
      reader.frames,
      linesOf(runId, 1, [
        createdRun,
        runStarted,
        messageDelta("\u0000 \ud800 😀"),
        messageDelta("b"),
        runCompleted
      ])
    )
  })

  it("continues after a position, and closes immediately when the run has ended", async () => {
    const runId = await mirror.run(project, createdRun, runStarted, messageDelta("a"), runCompleted)
    for (const [after, count] of [
      [0, 4],
      [1, 3],
      [3, 1],
      [4, 0]
    ] as const) {
      const reader = await StreamReader.open(ada, `runId=${runId}&after=${after}`)
      assert.strictEqual((await reader.closed()).code, 1000)
      assert.deepStrictEqual(
        reader.events.map(({ seq }) => seq),
        Array.from({ length: count }, (_, i) => after + 1 + i)
      )
    }
  })

  it("gives every event once and in order to readers who join while it is written", async () => {
    const drafts = [createdRun, runStarted, ...many(1_500), runCompleted]
    const runId = await mirror.open(project)
    const lines = linesOf(runId, 1, drafts)
    const readers: Array<{ readonly after: number; readonly reader: StreamReader }> = []
    const joins: Array<Promise<void>> = []
    let seq = 0
    for (let step = 1; seq < lines.length; step++) {
      const part = lines.slice(seq, seq + 1 + ((step * 7) % 40))
      // One joins while the push is under way, so that its replay meets what is live.
      const after = step % 3 === 0 ? seq : 0
      joins.push(
        StreamReader.open(ada, `runId=${runId}&after=${after}`).then(
          (reader) => void readers.push({ after, reader })
        )
      )
      seq = (await mirror.push(runId, seq + 1, part)).seq
    }
    await Promise.all(joins)
    assert.isAbove(readers.length, 20)
    for (const { after, reader } of readers) {
      assert.strictEqual((await reader.closed()).code, 1000)
      assert.deepStrictEqual(reader.frames, lines.slice(after))
    }
  })

  it("carries all runs of a session, each in its order, those that come later too", async () => {
    const session = await mirror.session(project)
    const create = { ...createRun, sessionId: session }
    const [first, second] = [await mirror.open(project, create), await mirror.open(project, create)]
    await mirror.append(first, 1, createdRun, runStarted)
    const reader = await StreamReader.open(ada, `sessionId=${session}`)
    await reader.count(2)
    await mirror.append(second, 1, createdRun)
    const third = await mirror.open(project, create)
    await mirror.append(third, 1, createdRun, runStarted)
    await mirror.append(first, 3, runCompleted)
    await mirror.append(second, 2, runStarted, runCompleted)
    await reader.count(8)
    const of = (runId: RunId) => reader.events.filter((event) => event.runId === runId).map(({ seq }) => seq)
    assert.deepStrictEqual([first, second, third].map(of), [
      [1, 2, 3],
      [1, 2, 3],
      [1, 2]
    ])
    // Another session's run is none of theirs.
    await mirror.run(project, createdRun)
    await mirror.append(third, 3, runCompleted)
    await reader.count(9)
    assert.strictEqual(reader.events.at(-1)?.runId, third)
    reader.drop()
  })

  it("refuses before the upgrade, with an error object", async () => {
    const runId = await mirror.run(project, createdRun, runStarted)
    const foreign = await refusedUpgrade(bob, `runId=${runId}`)
    const missing = await refusedUpgrade(bob, `runId=${newId("run")}`)
    const session = await refusedUpgrade(bob, `sessionId=${newId("ses")}`)
    for (const { body, requestId, status } of [foreign, missing, session]) {
      assert.deepStrictEqual([status, body.requestId], [403, requestId])
      assert.deepStrictEqual({ ...body, requestId: "" }, { ...foreign.body, requestId: "" })
    }
    assert.strictEqual(foreign.body.code, "permission_denied")
    for (const client of [hub.client, new HubClient(hub.url, `corral_s_${"A".repeat(43)}`)]) {
      const unsigned = await refusedUpgrade(client, `runId=${runId}`)
      assert.deepStrictEqual([unsigned.status, unsigned.body.code], [401, "unauthorized"])
    }
    for (const query of [
      "",
      `runId=${runId}&sessionId=${newId("ses")}`,
      `runId=${runId}&after=3`,
      `runId=${runId}&after=99999999999`,
      `runId=${runId}&after=-1`,
      `runId=${runId}&after=x`,
      `sessionId=${await mirror.session(project)}&after=1`,
      "runId=run_%00"
    ]) {
      const refused = await refusedUpgrade(ada, query)
      assert.deepStrictEqual([refused.status, refused.body.code], [422, "schema_validation_failed"], query)
    }
  })

  it("answers an upgrade elsewhere as it would any request", async () => {
    for (const path of ["/", "/client/event", "//", "//[", "/client/events/%00", "/%"]) {
      const refused = await refusedUpgrade(ada, "", path)
      assert.deepStrictEqual([refused.status, refused.body.code], [404, "not_found"], path)
    }
  })

  it("ends within a second when the sign-in ends, and not another's", async () => {
    const runId = await mirror.run(project, createdRun)
    const { signInId, token, userId } = await hub.people.signIn("ada")
    const revoked = await StreamReader.open(new HubClient(hub.url, token, userId), `runId=${runId}`)
    const stays = await StreamReader.open(ada, `runId=${runId}`)
    await Promise.all([revoked.count(1), stays.count(1)])
    await hub.people.act(Effect.flatMap(SignInStore, (signIns) => signIns.revoke(signInId)))
    assert.strictEqual((await revoked.closed(1_000)).code, 4401)
    await mirror.append(runId, 2, runStarted)
    await stays.count(2)
    stays.drop()
  })

  it("is followed with an API key that may read, as long as there is such a key", async () => {
    const runId = await mirror.run(project, createdRun)
    const keyOf = async (scope: string) => {
      const body = { name: scope, scopes: [scope] }
      const browser = await hub.atBrowser("ada")
      const created = await browser.ask<{ readonly id: string; readonly token: string }>(
        "POST",
        "/client/auth/keys",
        { body }
      )
      assert.strictEqual(created.status, 201)
      return created.body
    }
    const [reads, writes] = [await keyOf("read"), await keyOf("write")]
    const refused = await refusedUpgrade(new HubClient(hub.url, writes.token), `runId=${runId}`)
    assert.deepStrictEqual([refused.status, refused.body.code], [403, "permission_denied"])
    const reader = await StreamReader.open(new HubClient(hub.url, reads.token), `runId=${runId}`)
    await reader.count(1)
    await ada.ask("DELETE", `/client/auth/keys/${reads.id}`)
    assert.strictEqual((await reader.closed(1_000)).code, 4401)
  })

  it("ends within a second when its reader is no longer a member, and not for other members", async () => {
    const ownProject = await mirror.project(ada.userId)
    const runId = await mirror.run(ownProject, createdRun)
    await mirror.member(ada.userId, ownProject, bob.userId, "viewer")
    const [removed, stays] = [
      await StreamReader.open(bob, `runId=${runId}`),
      await StreamReader.open(ada, `runId=${runId}`)
    ]
    await Promise.all([removed.count(1), stays.count(1)])
    await mirror.noMember(ada.userId, ownProject, bob.userId)
    await notify("corral_membership", ownProject)
    assert.strictEqual((await removed.closed(1_000)).code, 4403)
    await mirror.append(runId, 2, runStarted)
    await stays.count(2)
    assert.strictEqual(removed.frames.length, 1)
    stays.drop()
  })

  it("does not wait for a reader that stalls: others get everything, and it continues where it stopped", async () => {
    const runId = await mirror.run(project, createdRun, runStarted)
    const stalled = await StreamReader.open(ada, `runId=${runId}`)
    await stalled.count(2)
    stalled.pause()
    const others = await Promise.all(
      Array.from({ length: 4 }, () => StreamReader.open(ada, `runId=${runId}`))
    )
    // More than any socket holds by itself.
    const drafts = many(150, 100_000)
    for (let i = 0; i < drafts.length; i += 20) await mirror.append(runId, 3 + i, ...drafts.slice(i, i + 20))
    await mirror.append(runId, 153, runCompleted)
    for (const reader of others) {
      assert.strictEqual((await reader.closed()).code, 1000)
      assert.strictEqual(reader.frames.length, 153)
    }
    assert.isBelow(stalled.frames.length, 153)
    stalled.resume()
    assert.strictEqual((await stalled.closed()).code, 1000)
    assert.deepStrictEqual(
      stalled.events.map(({ seq }) => seq),
      Array.from({ length: 153 }, (_, i) => i + 1)
    )
  })

  it("closes a stalled reader too when it loses access", async () => {
    const runId = await mirror.run(project, createdRun, runStarted)
    const { signInId, token, userId } = await hub.people.signIn("ada")
    const client = new HubClient(hub.url, token, userId)
    const [stalled, other] = [
      await StreamReader.open(client, `runId=${runId}`),
      await StreamReader.open(client, `runId=${runId}`)
    ]
    await stalled.count(2)
    stalled.pause()
    const drafts = many(200, 100_000)
    for (let i = 0; i < drafts.length; i += 50) await mirror.append(runId, 3 + i, ...drafts.slice(i, i + 50))
    await hub.people.act(Effect.flatMap(SignInStore, (signIns) => signIns.revoke(signInId)))
    await notify("corral_sign_in_ended", signInId)
    assert.strictEqual((await other.closed(1_000)).code, 4401)
    stalled.resume()
    await stalled.closed(2_000)
    // What was on its way by then, and nothing more.
    assert.isBelow(stalled.frames.length, 202)
  })

  it("closes with 1001 when the Hub stops", async () => {
    const other = await openHub()
    const client = await other.signedIn("ada")
    const there = new Mirror(other)
    const runId = await there.run(await there.project(client.userId), createdRun)
    const reader = await StreamReader.open(client, `runId=${runId}`)
    await reader.count(1)
    const ended = other.end()
    assert.strictEqual((await reader.closed()).code, 1001)
    assert.deepStrictEqual(await ended, { code: 0, signal: null })
    assert.strictEqual(other.stderr, "")
  })

  it("hears of events again after the connection that listens was lost", async () => {
    const runId = await mirror.run(project, createdRun)
    const reader = await StreamReader.open(ada, `runId=${runId}`)
    await reader.count(1)
    await hub.people.act(
      Effect.flatMap(
        SqlClient.SqlClient,
        (sql) =>
          // Other tests' Hubs listen on the same server.
          sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND query LIKE 'LISTEN%'`
      )
    )
    await mirror.append(runId, 2, runStarted, messageDelta("a"))
    await reader.count(3)
    await mirror.append(runId, 4, draft("run.cancelled", {}))
    assert.strictEqual((await reader.closed()).code, 1000)
  })
})
