import type { AgentId } from "@corral/domain/identity/Ids"
import { makeScripted } from "@corral/adapters/Scripted"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { type KeyEntry, makeEdgeConfig } from "../../src/config/EdgeConfig.ts"
import { admitWithKeys, checkKeys } from "../../src/runtime/KeyAdmission.ts"
import { fromAdapter, type OfferedAgent } from "../../src/runtime/Offers.ts"

const scripted = makeScripted({ node: "/usr/bin/node", program: "/nowhere/scripted.mjs" })
const agent: OfferedAgent = {
  ...fromAdapter(scripted),
  id: "a" as AgentId, // an id of the test
  label: "Agent A",
  adapter: {
    ...scripted,
    network: { hosts: [], keys: [{ variable: "MODEL_KEY", headers: ["x-api-key"], hosts: ["model.test"] }] }
  }
}
const required: KeyEntry = { adapter: "scripted" }
const preferred: KeyEntry = { ...required, setting: "preferred" }
const unconfined = { kind: "none", reason: "A run with full access is not confined." } as const
const confined = { kind: "bubblewrap" } as const
const config = makeEdgeConfig({ home: "/nowhere" })

const failureOf = <A, E>(effect: Effect.Effect<A, E>): Promise<E> => Effect.runPromise(Effect.flip(effect))

describe("admitWithKeys", () => {
  it("changes nothing without the setting, and for a confined run", async () => {
    assert.strictEqual(await Effect.runPromise(admitWithKeys(undefined, agent, unconfined)), unconfined)
    assert.strictEqual(await Effect.runPromise(admitWithKeys(required, agent, confined)), confined)
  })

  it.each([unconfined, undefined])(
    "refuses a run that is not confined by default: %j",
    async (confinement) => {
      const failure = await failureOf(admitWithKeys(required, agent, confinement))
      assert.strictEqual(failure.code, "permission_denied")
      assert.include(failure.message, "Agent A runs only where its key stays outside of the run")
      assert.include(failure.message, confinement?.reason ?? "The confinement of runs is off.")
    }
  )

  it.each(["landlock", "seatbelt"] as const)(
    "counts %s as a means that leaves the key in the run",
    async (kind) => {
      const failure = await failureOf(admitWithKeys(required, agent, { kind }))
      assert.strictEqual(failure.code, "permission_denied")
      assert.include(failure.message, "which needs bubblewrap")
      assert.deepStrictEqual(await Effect.runPromise(admitWithKeys(preferred, agent, { kind })), {
        kind,
        reason: "This machine confines runs without bubblewrap. It has the key of its model service."
      })
      await Effect.runPromise(checkKeys(required, agent, { kind }, {}, config))
    }
  )

  it("starts such a run with preferred, and the run says that it has the key", async () => {
    assert.deepStrictEqual(await Effect.runPromise(admitWithKeys(preferred, agent, unconfined)), {
      kind: "none",
      reason: "A run with full access is not confined. It has the key of its model service."
    })
  })
})

describe("checkKeys", () => {
  const check = (entry: KeyEntry | undefined, env: Readonly<Record<string, string>>) =>
    checkKeys(entry, agent, confined, env, config)

  it("accepts a run with a key", () => Effect.runPromise(check(required, { MODEL_KEY: "sk-0123456789" })))

  it("refuses a run without one, and names the variable", async () => {
    const { code, details, message } = await failureOf(check(required, {}))
    assert.deepStrictEqual([code, details?.["reason"]], ["runtime_unavailable", "key_missing"])
    assert.include(message, "Set one of MODEL_KEY for the Edge.")
    await Effect.runPromise(check(preferred, {}))
    await Effect.runPromise(check(undefined, {}))
  })

  it("refuses a value that is not a key, and does not show it", async () => {
    const { details, message } = await failureOf(check(preferred, { MODEL_KEY: "two words" }))
    assert.strictEqual(details?.["reason"], "key_unusable")
    assert.notInclude(message, "two words")
  })
})
