import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { requireNode } from "../src/NodeVersion.ts"

describe("NodeVersion", () => {
  it.effect.each(["22.19.0", "22.20.1", "23.0.0", "24.21.0"])("accepts Node %s", (version) =>
    requireNode("An Edge", version)
  )

  it.effect.each(["12.0.0", "20.20.2", "22.18.9"])("refuses Node %s with one sentence", (version) =>
    Effect.gen(function* () {
      const refusal = yield* Effect.flip(requireNode("An Edge", version))
      assert.strictEqual(refusal._tag, "NodeTooOld")
      assert.match(refusal.message, /^An Edge needs Node 22\.19 or newer, and this is Node [\d.]+\. Install /)
      assert.include(refusal.message, version)
    })
  )
})
