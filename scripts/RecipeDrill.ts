/**
 * A recipe of CONTRIBUTING.md, followed in a copy of the repository: what the compiler, the generated documents and the tests say after each step.
 *
 * Does not: copy recordings, which no recipe changes. The copy shares the installed packages.
 */
import { spawnSync } from "node:child_process"
import {
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
import { basename, join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))

/** Paths that each step of a recipe names, by its number. `<Group>` is replaced. */
export const recipeSteps = (heading: string, group = "Group"): ReadonlyMap<number, ReadonlyArray<string>> => {
  const recipes = readFileSync(join(root, "CONTRIBUTING.md"), "utf8")
  const [, recipe = ""] = recipes.split(`### ${heading}\n`)
  const steps = (recipe.split(/^##/m)[0] ?? "").split(/^(?=\d+\. )/m).filter((step) => /^\d/.test(step))
  return new Map(
    steps.map((step) => [
      Number.parseInt(step),
      // What follows the steps is no step.
      [
        ...(step.split("\n\n")[0] ?? "").matchAll(/`((?:packages|scripts|docs|openapi|schemas)\/[^`]*)`/g)
      ].map(([, path = ""]) => path.replaceAll("<Group>", group))
    ])
  )
}

export interface FileEdit {
  readonly path: string
  readonly before: string
  readonly after: string
}

const COPIED = [
  "packages",
  "scripts",
  "docs",
  "openapi",
  "asyncapi",
  "schemas",
  "examples",
  "deploy",
  "bench"
]
const LEFT_OUT = new Set(["node_modules", "fixtures", "dist", ".build"])

/** The same for every copy: what is installed, and the packages of the copy. */
const linkPackages = (folder: string): void => {
  mkdirSync(join(folder, "node_modules/@corral"), { recursive: true })
  for (const name of readdirSync(join(root, "node_modules")))
    if (name !== "@corral" && !/^\.(?!bin$)/.test(name))
      symlinkSync(join(root, "node_modules", name), join(folder, "node_modules", name))
  for (const path of globSync("packages/*/src", { cwd: folder })) {
    const name = path.split("/")[1] ?? ""
    symlinkSync(join(folder, "packages", name), join(folder, "node_modules/@corral", name))
  }
}

/** Variables of the run of tests that this is part of would change the inner one. */
const environment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(?:VITEST|NODE_OPTIONS)/.test(name)))

export class RecipeDrill {
  readonly folder: string

  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), "corral-recipe-"))
    for (const name of COPIED)
      cpSync(join(root, name), join(this.folder, name), {
        recursive: true,
        filter: (path) => !LEFT_OUT.has(basename(path))
      })
    for (const path of globSync(["*.json", "*.ts", "*.md"], { cwd: root }))
      cpSync(join(root, path), join(this.folder, path))
    linkPackages(this.folder)
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }

  apply(edits: ReadonlyArray<FileEdit>): void {
    for (const edit of edits) this.#replace(edit)
  }

  revert(edits: ReadonlyArray<FileEdit>): void {
    for (const { after, before, path } of edits.toReversed())
      this.#replace({ path, before: after, after: before })
  }

  /** Files with type errors, sorted. */
  typeErrors(
    include: ReadonlyArray<string> = ["packages/*/src", "packages/*/test", "scripts"]
  ): ReadonlyArray<string> {
    const { compilerOptions } = JSON.parse(readFileSync(join(root, "tsconfig.json"), "utf8"))
    const config = {
      extends: "./tsconfig.base.json",
      compilerOptions: { ...compilerOptions, plugins: [] },
      include
    }
    writeFileSync(join(this.folder, "tsconfig.json"), JSON.stringify(config))
    const { stdout } = this.#run(["node_modules/typescript/lib/tsc.js", "-p", ".", "--pretty", "false"])
    const files = [...stdout.matchAll(/^(\S+)\(\d+,\d+\): error/gm)].map(([, file = ""]) => file)
    return [...new Set(files)].toSorted()
  }

  /** Writes the generated documents, and returns those that changed, or what went wrong. */
  generate(): ReadonlyArray<string> | string {
    const texts = () =>
      new Map(
        globSync(["docs/**/*.md", "openapi/*", "asyncapi/*", "schemas/*", "packages/*/src/**/*.ts"], {
          cwd: this.folder
        }).map((path) => [path, readFileSync(join(this.folder, path), "utf8")])
      )
    const before = texts()
    const { status, stderr } = this.#run(["scripts/generate.ts"])
    if (status !== 0) return stderr
    return [...texts()]
      .filter(([path, text]) => before.get(path) !== text)
      .map(([path]) => path)
      .toSorted()
  }

  /** Names of tests that fail in these files, or of files that cannot run. */
  failures(files: ReadonlyArray<string>, ...options: ReadonlyArray<string>): ReadonlyArray<string> {
    const report = join(this.folder, "report.json")
    rmSync(report, { force: true })
    this.#run([
      "node_modules/vitest/vitest.mjs",
      "run",
      "--reporter=json",
      `--outputFile=${report}`,
      ...options,
      ...files
    ])
    const { numTotalTests, testResults }: TestReport = JSON.parse(readFileSync(report, "utf8"))
    if (numTotalTests === 0) return ["no test ran"]
    return testResults.flatMap(({ assertionResults, name, status }) =>
      status === "passed"
        ? []
        : [name, ...assertionResults.filter((each) => each.status === "failed").map((each) => each.fullName)]
    )
  }

  #replace({ after, before, path }: FileEdit): void {
    const file = join(this.folder, path)
    const text = readFileSync(file, "utf8")
    if (!text.includes(before)) throw new Error(`${path} does not contain: ${before}`)
    writeFileSync(
      file,
      text.replace(before, () => after)
    )
  }

  #run(args: ReadonlyArray<string>) {
    return spawnSync(process.execPath, [...args], { cwd: this.folder, encoding: "utf8", env: environment() })
  }
}

interface TestReport {
  readonly numTotalTests: number
  readonly testResults: ReadonlyArray<{
    readonly name: string
    readonly status: string
    readonly assertionResults: ReadonlyArray<{ readonly status: string; readonly fullName: string }>
  }>
}
