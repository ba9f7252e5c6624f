/**
 * Drill: a new error code, by the recipe. Without a step, the compiler or a test fails; with all of them, nothing does, and no other file is needed.
 *
 * Adds `budget_exhausted` to a copy of the repository, and returns it from an endpoint of the Edge.
 */
import { afterAll, assert, describe, it } from "@effect/vitest"
import { type FileEdit, recipeSteps, RecipeDrill } from "./RecipeDrill.ts"

const drill = new RecipeDrill()
const recipe = recipeSteps("Add an error code")

const steps: ReadonlyMap<number, ReadonlyArray<FileEdit>> = new Map([
  [
    1,
    [
      {
        path: "packages/domain/src/errors/ErrorCodes.ts",
        before: "  run_timeout: {",
        after:
          '  budget_exhausted: { status: 402, message: "This project has no budget left." },\n  run_timeout: {'
      }
    ]
  ],
  [
    2,
    [
      {
        path: "packages/domain/src/errors/Failures.ts",
        before: "export class RunTimeout ",
        after: 'export class BudgetExhausted extends failure("budget_exhausted") {}\nexport class RunTimeout '
      },
      {
        path: "packages/domain/test/errors/Failures.test.ts",
        before: "  new Failures.RunTimeout(),",
        after: "  new Failures.BudgetExhausted(),\n  new Failures.RunTimeout(),"
      }
    ]
  ],
  [
    3,
    [
      {
        path: "packages/domain/test/contract.test.ts",
        before: '      ["changes_unknown", "409"],',
        after: '      ["budget_exhausted", "402"],\n      ["changes_unknown", "409"],'
      }
    ]
  ],
  [
    4,
    [
      {
        path: "packages/console/src/ui/chineseErrors.ts",
        before: "  run_timeout: ",
        after: '  budget_exhausted: "此项目的预算已用完。",\n  run_timeout: '
      }
    ]
  ]
])

/** Advice is for codes about which a user can do something. */
const advice: ReadonlyArray<FileEdit> = [
  ["Reload", "Ask a project admin for more."],
  ["请重新加载", "请联系项目管理员。"]
].map(([next = "", text = ""]) => ({
  path: "packages/console/src/ui/messages.ts",
  before: `    conflict: "${next}`,
  after: `    budget_exhausted: "${text}",\n    conflict: "${next}`
}))

const endpoint: FileEdit = {
  path: "packages/domain/src/edge-api/Permissions.ts",
  before: 'error: responses("not_found")\n    }).annotate(OpenApi.Description, "Revokes the grant',
  after:
    'error: responses("not_found", "budget_exhausted")\n    }).annotate(OpenApi.Description, "Revokes the grant'
}
const handler: ReadonlyArray<FileEdit> = [
  {
    path: "packages/edge/src/http/Decisions.ts",
    before: "withErrorObject(stored.remove(params.id))",
    after: "withErrorObject(Effect.andThen(Effect.fail(new BudgetExhausted()), stored.remove(params.id)))"
  },
  {
    path: "packages/edge/src/http/Decisions.ts",
    before: "import { Effect }",
    after: 'import { BudgetExhausted } from "@corral/domain/errors/Failures"\nimport { Effect }'
  }
]

/** Tests of the tables. Each looks at every code. */
const tableTests = [
  "packages/domain/test/errors",
  "packages/domain/test/contract.test.ts",
  "packages/console/test/ui/errorSentence.test.ts",
  "scripts/generated.test.ts"
]
/** Those that show codes to people and programs, too. */
const tests = [
  ...tableTests,
  "packages/service/test/http/Refusal.test.ts",
  "packages/client/test/http",
  "packages/cli/test/run/RefusalAdvice.test.ts",
  "scripts/prose.test.ts"
]

const pathsOf = (edits: ReadonlyArray<FileEdit>) => [...new Set(edits.map(({ path }) => path))].toSorted()
const problems = () => [...drill.typeErrors(), ...drill.failures(tests)]

describe("A new error code", { timeout: 900_000 }, () => {
  afterAll(() => drill.remove())

  it("needs the files that the recipe names, and no others", () => {
    drill.apply([...steps.values()].flat())
    drill.apply(advice)
    const named = [1, 2, 3, 4].flatMap((step) => recipe.get(step) ?? []).toSorted()
    assert.deepStrictEqual(pathsOf([...[...steps.values()].flat(), ...advice]), named)
    assert.deepStrictEqual(drill.generate(), ["docs/errors.md"])
    assert.deepStrictEqual(problems(), [])
  })

  it.each(
    [...steps.keys()].flatMap((step) => (steps.get(step) ?? []).map((edit) => [step, edit.path] as const))
  )("is found without step %i in %s", (step, path) => {
    const edits = (steps.get(step) ?? []).filter((edit) => edit.path === path)
    drill.revert(edits)
    drill.generate()
    assert.isNotEmpty(problems())
    drill.apply(edits)
    drill.generate()
  })

  it("is a type error in a handler until its endpoint declares it", () => {
    drill.apply(handler)
    assert.deepStrictEqual(drill.typeErrors(), pathsOf(handler))
    drill.apply([endpoint])
    const folders = recipe.get(5) ?? []
    assert.isTrue(folders.some((folder) => endpoint.path.startsWith(`${folder}/`)))
    const changed = drill.generate()
    const generated = recipe.get(6) ?? []
    assert.isNotEmpty(changed)
    assert.deepStrictEqual(
      [...changed].filter((path) => !generated.some((each) => path.startsWith(each))),
      []
    )
    assert.deepStrictEqual([...drill.typeErrors(), ...drill.failures(tableTests)], [])
  })
})
