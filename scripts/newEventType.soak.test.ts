/**
 * Drill: a new event type in the vocabulary. The compiler must name the places that decide what the event means, and nothing else.
 *
 * Copies the sources of all packages into a temporary folder, adds `run.plan.updated` and a `plan` block there, and type-checks the copy.
 */
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import {
  copyFileSync,
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))
/** The vocabulary's own folds, then one table in each client: the paths in steps 2 and 3 of the recipe for contributors. */
const recipeFiles = (): ReadonlyArray<string> => {
  const recipes = readFileSync(join(root, "CONTRIBUTING.md"), "utf8")
  const steps = /### Add an event type\n[^]*?\n2\. ([^]*?)\n4\. /.exec(recipes)?.[1] ?? ""
  return [...steps.matchAll(/`(packages\/[^`]+)`/g)].map(([, path = ""]) => path).toSorted()
}

/** All packages: those without a table must compile with the new type as it is. */
const packages = globSync("packages/*/src", { cwd: root }).map((path) => path.split("/")[1] ?? "")

const copySources = (to: string): void => {
  mkdirSync(join(to, "node_modules/@corral"), { recursive: true })
  for (const name of readdirSync(join(root, "node_modules")))
    if (!name.startsWith(".") && name !== "@corral")
      symlinkSync(join(root, "node_modules", name), join(to, "node_modules", name))
  for (const name of packages) {
    for (const part of ["src", "package.json"])
      cpSync(join(root, "packages", name, part), join(to, "packages", name, part), { recursive: true })
    symlinkSync(join(to, "packages", name), join(to, "node_modules/@corral", name))
  }
}

const edit = (path: string, before: string, after: string): void => {
  const text = readFileSync(path, "utf8")
  assert.include(text, before, path)
  writeFileSync(path, text.replace(before, after))
}

const addEventType = (to: string): void => {
  const run = join(to, "packages/domain/src/run")
  edit(
    join(run, "RunEvent.ts"),
    '  "run.completed": {',
    '  "run.plan.updated": { steps: Schema.Array(text) },\n  "run.completed": {'
  )
  edit(
    join(run, "RunBlock.ts"),
    "export type RunBlock =\n",
    'export interface PlanBlock extends BlockStart {\n  readonly kind: "plan"\n}\n\nexport type RunBlock =\n  | PlanBlock\n'
  )
}

/** Files with errors, and the whole output for a person. */
const typeCheck = (to: string): { readonly files: ReadonlyArray<string>; readonly output: string } => {
  copyFileSync(join(root, "tsconfig.base.json"), join(to, "tsconfig.base.json"))
  const { compilerOptions } = JSON.parse(readFileSync(join(root, "tsconfig.json"), "utf8"))
  const config = {
    extends: "./tsconfig.base.json",
    compilerOptions: { ...compilerOptions, incremental: false, tsBuildInfoFile: null, plugins: [] },
    include: ["packages/*/src"]
  }
  writeFileSync(join(to, "tsconfig.json"), JSON.stringify(config))
  const { stdout } = spawnSync(join(root, "node_modules/.bin/tsc"), ["-p", ".", "--pretty", "false"], {
    cwd: to,
    encoding: "utf8"
  })
  const files = [...stdout.matchAll(/^(\S+)\(\d+,\d+\): error/gm)].map(([, file = ""]) => file)
  return { files: [...new Set(files)].toSorted(), output: stdout }
}

describe("A new event type", () => {
  it("is a type error in each client's table and in the folds of the vocabulary, and nowhere else", () => {
    const copy = mkdtempSync(join(tmpdir(), "corral-event-type-"))
    try {
      const expected = recipeFiles()
      assert.isAtLeast(expected.length, 7)
      copySources(copy)
      const before = typeCheck(copy)
      assert.notInclude(before.output, "Cannot find module '@corral/", "the copy lacks a package")
      addEventType(copy)
      const after = typeCheck(copy)
      // Node's types and the browser's disagree in one program: only new errors count.
      const added = after.files.filter((file) => !before.files.includes(file))
      assert.deepStrictEqual(added, expected, after.output)
    } finally {
      rmSync(copy, { recursive: true, force: true })
    }
  }, 240_000)
})
