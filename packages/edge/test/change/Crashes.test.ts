/** A decision that ends in the middle is complete or absent after the next start. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Seeded } from "../harness/Seeded.ts"
import { checkCrashes } from "./Crashes.ts"
import type { Tree, TreeFile } from "./RandomTrees.ts"
import { shadowPlace } from "./Subsets.ts"

const file = (content: string): TreeFile => ({ mode: "100644", content: Buffer.from(content) })
const tree = (files: Readonly<Record<string, TreeFile>>): Tree => new Map(Object.entries(files))

describe("A decision that ends in the middle", () => {
  it.live(
    "is complete or absent after each beginning of its steps",
    () =>
      Effect.gen(function* () {
        const { folder, shadow } = yield* shadowPlace
        const seeded = new Seeded("decisions that end in the middle")
        const chosen = {
          base: tree({ a: file("1\n"), gone: file("x\n"), "folder/in": file("in\n") }),
          result: tree({
            a: { mode: "100755", content: Buffer.from("2\n") },
            folder: file("a file\n"),
            "new/deep/b": file("b\n"),
            link: { mode: "120000", content: Buffer.from("a") }
          })
        }
        let tried = yield* checkCrashes(folder, shadow, seeded, chosen)
        while (tried < 200) tried += yield* checkCrashes(folder, shadow, seeded)
        assert.isAbove(tried, 199)
      }).pipe(Effect.scoped),
    120_000
  )

  const one = tree({ a: file("1\n") })
  it.live.each([
    ["begins in a folder without files", { base: tree({}), result: one }],
    ["leaves a folder without files", { base: one, result: tree({}) }]
  ] as const)("is complete or absent where it %s", ([, trees]) =>
    Effect.gen(function* () {
      const { folder, shadow } = yield* shadowPlace
      const seeded = new Seeded("decisions that end beside a folder without files")
      assert.isAbove(yield* checkCrashes(folder, shadow, seeded, trees), 0)
    }).pipe(Effect.scoped)
  )
})
