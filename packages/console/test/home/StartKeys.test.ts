import { assert, describe, it } from "@effect/vitest"
import { StartKeys } from "../../src/home/useStartSession.ts"

const storage = () => {
  const entries = new Map<string, string>()
  return {
    getItem: (key: string) => entries.get(key) ?? null,
    removeItem: (key: string) => void entries.delete(key),
    setItem: (key: string, value: string) => void entries.set(key, value)
  }
}

describe("StartKeys", () => {
  it("gives a step the same key for the same request, also after a reload", () => {
    const stored = storage()
    const first = new StartKeys("u", stored).headersOf("session", { projectId: "p" })
    assert.deepStrictEqual(new StartKeys("u", stored).headersOf("session", { projectId: "p" }), first)
    assert.notDeepEqual(new StartKeys("u", stored).headersOf("session", { projectId: "q" }), first)
    assert.notDeepEqual(new StartKeys("u", stored).headersOf("agent", { projectId: "p" }), first)
    assert.notDeepEqual(new StartKeys("v", stored).headersOf("session", { projectId: "p" }), first)
  })

  it("gives other keys after the start has succeeded", () => {
    const stored = storage()
    const keys = new StartKeys("u", stored)
    const first = keys.headersOf("session", {})
    keys.clear()
    assert.notDeepEqual(keys.headersOf("session", {}), first)
    assert.notDeepEqual(new StartKeys("u", stored).headersOf("session", {}), first)
  })

  it("starts without keys where the storage has something else", () => {
    const stored = storage()
    stored.setItem("corral.starting.u", '{"a":[1]}')
    assert.match(new StartKeys("u", stored).headersOf("session", {})["idempotency-key"], /^[0-9a-f]{32}$/)
  })
})
