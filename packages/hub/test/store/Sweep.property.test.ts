import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import * as fc from "fast-check"
import { sweepRows } from "@corral/hub/store/Sweep"

const PAGE = 3

/** What a visit does with a row. A row that stays or fails remains due. */
const fates = fc.array(fc.constantFrom("moves", "stays", "fails"), { maxLength: 20 })

describe("sweepRows", () => {
  it("visits each due row once, whichever rows stay due or fail", () =>
    fc.assert(
      fc.asyncProperty(fates, async (each) => {
        const due = new Map(each.map((fate, index) => [String(index).padStart(3, "0"), fate]))
        const visited: Array<string> = []
        const hasChanged = await Effect.runPromise(
          sweepRows({
            page: (after) =>
              Effect.sync(() =>
                [...due.keys()]
                  .filter((id) => id > after)
                  .slice(0, PAGE)
                  .map((id) => ({ id }))
              ),
            keyOf: ({ id }) => id,
            visit: ({ id }) => {
              visited.push(id)
              if (due.get(id) === "fails") return Effect.die("damaged")
              return Effect.sync(() => due.get(id) === "moves" && due.delete(id))
            },
            failure: "failed to visit"
          }).pipe(Effect.provide(Logger.layer([])))
        )
        assert.deepStrictEqual(
          visited,
          each.map((_, index) => String(index).padStart(3, "0"))
        )
        assert.strictEqual(hasChanged, each.includes("moves"))
        assert.lengthOf([...due], each.filter((fate) => fate !== "moves").length)
      })
    ))
})
