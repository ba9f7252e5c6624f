import { assert, describe, it } from "@effect/vitest"
import { readLastChoice, storeLastChoice } from "../../src/start/LastChoice.ts"

describe("LastChoice", () => {
  it("returns the last choice of the same user", () => {
    const entries = new Map<string, string>()
    const storage = {
      getItem: (key: string) => entries.get(key) ?? null,
      setItem: (key: string, value: string) => void entries.set(key, value)
    }
    const choice = { projectId: "p", targetId: "t", workspace: "w", agentId: "a", mode: "ask" }
    storeLastChoice("ana", choice, storage)
    assert.deepStrictEqual(readLastChoice("ana", storage), choice)
    assert.deepStrictEqual(readLastChoice("ben", storage), {})
  })

  it.each(["{", "null", "[]", '{"projectId":1,"else":"x"}'])("ignores %s", (content) => {
    assert.deepStrictEqual(readLastChoice("ana", { getItem: () => content }), {})
  })
})
