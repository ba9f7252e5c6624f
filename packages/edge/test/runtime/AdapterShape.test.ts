import { registry } from "@corral/testing/recordings/Fixtures"
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { adapterOf } from "../../src/runtime/AdapterShape.ts"

const withState = (state: object): Result.Result<{ readonly folders?: unknown }, string> =>
  adapterOf({ ...registry.get("scripted"), folders: { state: [{ path: ".agent", ...state }] } })

describe("adapterOf", () => {
  it.each([...registry.values()].map(({ id }) => id))("accepts the state of %s", (id) => {
    assert.isTrue(Result.isSuccess(adapterOf(registry.get(id))))
  })

  it.each<[string, object]>([
    ["a pattern that leads out", { settings: ["../.ssh"] }],
    ["an absolute pattern", { conversations: [{ files: ["/etc/*"] }] }],
    ["an unknown part", { settings: ["{home}/x"] }],
    ["a pattern of many stars", { settings: ["*a*b*"] }],
    ["a copy with a star", { copied: [{ path: "*.json" }] }],
    ["a sign-in that leads out", { credentials: [{ path: "../x.json", tokens: [] }] }],
    ["a token without values", { credentials: [{ path: "x", tokens: [{ values: [], time: ["at"] }] }] }],
    ["a variable of a loader", { database: { folder: "db", variable: "LD_PRELOAD" } }],
    ["a folder of the Edge's variables", { variable: "CORRAL_HOME" }]
  ])("refuses %s", (_, state) => {
    assert.isTrue(Result.isFailure(withState(state)))
  })

  it("takes the names that an earlier adapter protects as settings", () => {
    const loaded = withState({ settings: ["a"], executed: ["settings.json", "hooks/"] })
    assert.deepStrictEqual(Result.isSuccess(loaded) ? loaded.success.folders : loaded.failure, {
      state: [{ path: ".agent", settings: ["a", "settings.json", "hooks"] }]
    })
  })
})
