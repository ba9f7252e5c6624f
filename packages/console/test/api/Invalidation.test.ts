/** Invalidation of cached data by changes. */
import { assert, describe, it } from "@effect/vitest"
import type { ChangeHint } from "@corral/domain/hub-api/ChangeHint"
import type { DeviceId } from "@corral/domain/identity/Ids"
import { QueryClient, QueryObserver } from "@tanstack/react-query"
import { afterEach, beforeEach, vi } from "vitest"
import { Invalidation } from "../../src/api/Invalidation.ts"

const hint: ChangeHint = { kind: "device", id: "device" as DeviceId, state: "offline" }

describe("invalidation", () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  /** A visible query of a group whose reads the test answers, in order. */
  const visible = (client: QueryClient, group: string) => {
    const answers: Array<(state: string) => void> = []
    const queryFn = () => new Promise<string>((answer) => answers.push(answer))
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
})
