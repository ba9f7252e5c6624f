import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { createRequire } from "node:module"
import { requireNode } from "../src/NodeVersion.ts"

const { isNewEnough }: { readonly isNewEnough: (version: string) => boolean } = createRequire(
  import.meta.url
)("../../../scripts/launcher.cjs")

const versions = [18, 20, 21, 22, 23, 24, 26].flatMap((major) =>
  [0, 9, 18, 19, 20].map((minor) => `${major}.${minor}.1`)
)

describe("requireNode", () => {
  it.each(versions)("judges Node %s as the launcher does", (version) => {
    assert.strictEqual(Exit.isSuccess(Effect.runSyncExit(requireNode(version))), isNewEnough(version))
  })

  it("says which Node is needed and which this is, in one sentence and a hint", () => {
    const { message } = Effect.runSync(Effect.flip(requireNode("20.20.2")))
    assert.match(
      message,
      /^An Edge needs Node 22\.19 or newer, and this is Node 20\.20\.2\. Install Node 24 /
    )
  })
})
