/** The pages of the two main paths are true: every step is joined to the next one by the imports, and a wrong step is found. */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { brokenSteps, partsOf, type PathStep } from "./PathPages.ts"
import { modulesOf } from "./walls/Modules.ts"

const root = fileURLToPath(new URL("..", import.meta.url))
const sources = new Map(
  modulesOf(root, ["packages/*/src/**/*.{ts,tsx}"]).map((module) => [
    module.path,
    { ...module, text: readFileSync(join(root, module.path), "utf8") }
  ])
)
type Steps = ReadonlyArray<PathStep>

const partsIn = (page: string) => partsOf(readFileSync(join(root, page), "utf8"))
const [holder = [], outputs = [], durable = [], toTerminal = [], toConsole = []] =
  partsIn("docs/event-path.md")
const [atTerminal = [], inConsole = [], inRun = [], toProgram = []] = partsIn("docs/decision-path.md")

/** A path continues where another part begins with its last module, or with the next step. */
const paths: ReadonlyArray<readonly [name: string, steps: Steps]> = [
  ["a line, from the program to the disk", [...holder, ...outputs, ...durable]],
  ["a line, from the log to the terminal", toTerminal],
  ["a line, from the log to the console", toConsole],
  ["a decision, from the terminal to the disk", [...atTerminal, ...inRun.slice(1)]],
  ["a decision, from the console to the disk", [...inConsole, ...inRun.slice(1)]],
  ["a decision, from the actor to the program", toProgram]
]

/** Modules that are on no path. */
const strangers = [
  "packages/edge/src/approval/PathTarget.ts",
  "packages/domain/src/text/RelativeTime.ts",
  "packages/console/src/ui/messages.ts",
  "packages/edge/src/run/Missing.ts"
]

const withStep = (steps: Steps, at: number, change: Partial<PathStep>): Steps =>
  steps.map((step, index) => (index === at ? { ...step, ...change } : step))

describe.each(paths)("%s", (_, steps) => {
  it("follows the imports", () => {
    assert.isAtLeast(steps.length, 7)
    assert.deepStrictEqual(brokenSteps(steps, sources), [])
  })

  it("enters no module twice", () => {
    assert.strictEqual(new Set(steps.map(({ module }) => module)).size, steps.length)
  })

  it.each(strangers)("does not hold with %s as any of its steps", (module) => {
    for (const at of steps.keys())
      assert.isNotEmpty(brokenSteps(withStep(steps, at, { module, names: [] }), sources), `step ${at + 1}`)
  })

  it("does not hold with a name that the module of a step lacks", () => {
    for (const at of steps.keys())
      assert.lengthOf(brokenSteps(withStep(steps, at, { names: ["publishedTwice"] }), sources), 1)
  })

  it("does not hold without what joins two steps, or with a name that they do not share", () => {
    for (const [at, { joint }] of steps.slice(0, -1).entries()) {
      if (joint === undefined) continue
      const changed: Array<PathStep["joint"]> = [undefined]
      if (joint.names.length > 0)
        changed.push({ ...joint, names: [] }, { ...joint, names: ["publishedTwice"] })
      for (const other of changed)
        assert.lengthOf(brokenSteps(withStep(steps, at, { joint: other }), sources), 1, `step ${at + 1}`)
    }
  })
})

it("the parts of a page begin where others end", () => {
  const moduleOf = (step: PathStep | undefined): string | undefined => step?.module
  assert.include(durable.map(moduleOf), moduleOf(toConsole[0]))
  assert.strictEqual(moduleOf(inRun[0]), moduleOf(atTerminal.at(-1)))
  assert.strictEqual(moduleOf(inRun[0]), moduleOf(inConsole.at(-1)))
  assert.include(inRun.map(moduleOf), moduleOf(toProgram[0]))
})
