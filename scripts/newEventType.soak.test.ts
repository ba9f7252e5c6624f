/**
 * Drill: a new event type in the vocabulary. The compiler must name the places that decide what the event means, and nothing else.
 *
 * Adds `run.plan.updated` and a `plan` block to a copy of the repository.
 */
import { afterAll, assert, describe, it } from "@effect/vitest"
import { recipeSteps, RecipeDrill } from "./RecipeDrill.ts"

const drill = new RecipeDrill()
const steps = recipeSteps("Add an event type")

describe("A new event type", () => {
  afterAll(() => drill.remove())

  it("is a type error in each client's table and in the folds of the vocabulary, and nowhere else", () => {
    // The vocabulary's own folds, then one table in each client.
    const expected = [2, 3].flatMap((step) => steps.get(step) ?? []).toSorted()
    assert.isAtLeast(expected.length, 7)
    const sources = ["packages/*/src"]
    // Node's types and the browser's disagree in one program: only new errors count.
    const before = drill.typeErrors(sources)
    drill.apply([
      {
        path: "packages/domain/src/run/RunEvent.ts",
        before: '  "run.completed": {',
        after: '  "run.plan.updated": { steps: Schema.Array(text) },\n  "run.completed": {'
      },
      {
        path: "packages/domain/src/run/RunBlock.ts",
        before: "export type RunBlock =\n",
        after:
          'export interface PlanBlock extends BlockStart {\n  readonly kind: "plan"\n}\n\nexport type RunBlock =\n  | PlanBlock\n'
      }
    ])
    assert.deepStrictEqual(
      drill.typeErrors(sources).filter((file) => !before.includes(file)),
      expected
    )
  }, 480_000)
})
