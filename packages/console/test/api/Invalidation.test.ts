/** Invalidation of cached data by changes. */
import { assert, describe, it } from "@effect/vitest"
import type { ChangeHint } from "@corral/domain/hub-api/ChangeHint"
import type { DeviceId } from "@corral/domain/identity/Ids"
import { QueryClient, QueryObserver } from "@tanstack/react-query"
import { afterEach, beforeEach, vi } from "vitest"
import { Invalidation } from "../../src/api/ChangeFeed.ts"

const hint: ChangeHint = { kind: "device", id: "device" as DeviceId, state: "offline" }

describe("invalidation", () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  /** A visible query of a group whose reads the test answers, in order. */
  const visible = <A = string>(client: QueryClient, group: string) => {
    const answers: Array<(state: A) => void> = []
    const queryFn = () => new Promise<A>((answer) => answers.push(answer))
    const observer = new QueryObserver(client, { queryKey: [group, "list"], queryFn, staleTime: 60_000 })
    observer.subscribe(() => {})
    return { answers, shown: () => observer.getCurrentResult().data }
  }
  const settle = () => vi.advanceTimersByTimeAsync(300)

  it("reads again what a change concerns, once for a burst, and nothing else", async () => {
    const client = new QueryClient()
    const [devices, tasks] = [visible(client, "devices"), visible(client, "tasks")]
    devices.answers[0]?.("online")
    tasks.answers[0]?.("queued")
    await settle()
    const invalidation = new Invalidation(client)
    for (let each = 0; each < 10; each++) invalidation.add([hint])
    await settle()
    devices.answers[1]?.("offline")
    await settle()
    assert.deepStrictEqual([devices.answers.length, tasks.answers.length], [2, 1])
    assert.strictEqual(devices.shown(), "offline")
  })

  for (const [name, invalidate] of [
    ["a change", (invalidation: Invalidation) => invalidation.add([hint])],
    ["a lost connection", (invalidation: Invalidation) => invalidation.addAll()]
  ] as const)
    it(`reads again after a first read that began before ${name}`, async () => {
      const client = new QueryClient()
      const devices = visible(client, "devices")
      const invalidation = new Invalidation(client)
      for (let each = 0; each < 3; each++) {
        invalidate(invalidation)
        await settle()
      }
      assert.strictEqual(devices.answers.length, 1)
      // The answer is older than the change.
      devices.answers[0]?.("online")
      await settle()
      assert.strictEqual(devices.answers.length, 2)
      devices.answers[1]?.("offline")
      await settle()
      assert.strictEqual(devices.shown(), "offline")
      assert.strictEqual(devices.answers.length, 2)
    })

  const seen = { id: "device", state: "online", lastSeenAt: "2026-01-01T00:00:00.000Z" }
  const present = { ...hint, ...seen } as ChangeHint
  const approval = {
    kind: "approval",
    id: "approval",
    runId: "run",
    projectId: "project",
    state: "pending"
  } as ChangeHint
  const waiting = { id: "run", state: "waiting_approval", pendingApprovals: ["approval"] }

  it.each([
    ["a list", present, "devices", { items: [seen] }],
    ["pages", present, "devices", { pages: [{ items: [] }, { items: [seen] }] }],
    ["one device", present, "devices", seen],
    ["the approval", approval, "approvals", { items: [{ id: "approval", state: "pending" }] }],
    ["the run that waits", approval, "runs", [waiting]]
  ] as const)("reads nothing again that contains the present state: %s", async (_, first, group, data) => {
    for (const isEarly of [false, true]) {
      const client = new QueryClient()
      const query = visible<unknown>(client, group)
      const invalidation = new Invalidation(client)
      if (isEarly) invalidation.add([first])
      if (isEarly) await settle()
      query.answers[0]?.(data)
      await settle()
      if (!isEarly) invalidation.add([first])
      await settle()
      assert.strictEqual(query.answers.length, 1)
      // A further hint is a change.
      invalidation.add([first])
      await settle()
      assert.strictEqual(query.answers.length, 2)
    }
  })

  it.each([
    ["another state", present, "devices", { items: [{ ...seen, state: "offline" }] }],
    [
      "an earlier heartbeat",
      present,
      "devices",
      { items: [{ ...seen, lastSeenAt: "2025-12-31T23:59:45.000Z" }] }
    ],
    ["no such device", present, "devices", { items: [] }],
    [
      "an approval that was decided",
      { ...approval, state: "approved" },
      "approvals",
      { items: [{ id: "approval", state: "approved" }] }
    ],
    ["a run that did not wait", approval, "runs", [{ ...waiting, pendingApprovals: [] }]]
  ] as const)("reads again what differs from the present state: %s", async (_, first, group, data) => {
    const client = new QueryClient()
    const query = visible<unknown>(client, group)
    query.answers[0]?.(data)
    await settle()
    new Invalidation(client).add([first as ChangeHint])
    await settle()
    assert.strictEqual(query.answers.length, 2)
  })

  it("reads a list of other devices again only if no list has the device", async () => {
    const client = new QueryClient()
    const query = visible<unknown>(client, "devices")
    query.answers[0]?.({ items: [] })
    client.setQueryData(["devices", "all"], { items: [seen] })
    await settle()
    new Invalidation(client).add([present])
    await settle()
    assert.strictEqual(query.answers.length, 1)
    client.setQueryData(["devices", "all"], { items: [] })
    new Invalidation(client).add([present])
    await settle()
    assert.strictEqual(query.answers.length, 2)
  })

  it("reads all again after a lost connection, and then the present state nothing", async () => {
    const client = new QueryClient()
    const query = visible<unknown>(client, "devices")
    const invalidation = new Invalidation(client)
    query.answers[0]?.({ items: [seen] })
    await settle()
    invalidation.add([present])
    await settle()
    invalidation.addAll()
    invalidation.add([present])
    query.answers[1]?.({ items: [seen] })
    await settle()
    assert.strictEqual(query.answers.length, 2)
  })
})
