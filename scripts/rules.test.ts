/**
 * Each rule that AGENTS.md calls checked has a check, and a planted violation that the programs of `npm run check` find.
 *
 * The violations are planted together in a folder that has nothing else, next to modules that break no rule.
 */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { copyFileSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { packageArrows } from "./walls/PackageArrows.ts"
import { phrases } from "./walls/Phrases.ts"

const root = fileURLToPath(new URL("..", import.meta.url))

interface CheckedRule {
  /** As AGENTS.md says it. */
  readonly rule: string
  /** Module of `scripts/walls`, or rule of oxlint. */
  readonly check: string
  /** Path → text. */
  readonly planted: Readonly<Record<string, string>>
  /** What the finding says, next to a planted path. */
  readonly finding: string
}

const doc = "/** A planted module. */\n"
const planted = (name: string): string => `packages/edge/src/${name}/Planted.ts`
const importing = (path: string, specifier: string, name: string): Readonly<Record<string, string>> => ({
  [path]: `${doc}import { a } from "${specifier}"\nexport const ${name} = a\n`
})

/** A file for each import between two packages that the table does not allow. */
const arrows = (pairs: ReadonlyArray<readonly [from: string, to: string]>) =>
  Object.fromEntries(
    pairs.map(([from, to]) => [
      `packages/${from}/src/arrow/To${to}.ts`,
      `${doc}import { a } from "@corral/${to}/planted/A"\nexport const from${from}To${to} = a\n`
    ])
  )
const packages = Object.keys(packageArrows)
const services = ["edge", "gateway", "hub"]
const isService = (name: string): boolean => services.includes(name)
const refusedPairs = packages.flatMap((from) =>
  packages
    .filter((to) => to !== from && packageArrows[from]?.includes(to) !== true)
    .map((to) => [from, to] as const)
)

/** Statements of a function, which has two lines more. */
const lines = (count: number): string => "  touch()\n".repeat(count)

const body = "{\n  const cut = text.trim()\n  return cut.length > 3 ? cut.slice(0, 3) : cut\n}\n"

const checkedRules: ReadonlyArray<CheckedRule> = [
  {
    rule: "Each package imports those of its row in `scripts/walls/PackageArrows.ts`",
    check: "PackageArrows",
    planted: arrows(refusedPairs.filter(([from, to]) => !isService(from) || !isService(to))),
    finding: "may not import this"
  },
  {
    rule: "Hub, Edge and Gateway never import each other",
    check: "PackageArrows",
    planted: arrows(
      services.flatMap((from) => services.filter((to) => to !== from).map((to) => [from, to] as const))
    ),
    finding: "may not import this"
  },
  {
    rule: "Folders of a package import each other in one direction",
    check: "FolderCycles",
    planted: {
      "packages/edge/src/one/Circle.ts": `${doc}import { b } from "../two/Circle.ts"\nexport const a = b\n`,
      "packages/edge/src/two/Circle.ts": `${doc}import type { C } from "../one/Third.ts"\nexport const b: C = 1\n`,
      "packages/edge/src/one/Third.ts": `${doc}export type C = number\n`
    },
    finding: "folder cycle"
  },
  {
    rule: "Import a module by its path, `@corral/domain/run/RunEvent`",
    check: "ImportForms",
    planted: importing(planted("bare"), "@corral/domain", "bare"),
    finding: "by its path"
  },
  {
    rule: "Relative imports carry `.ts`",
    check: "ImportForms",
    planted: importing(planted("extension"), "./Other", "extension"),
    finding: "has its extension"
  },
  {
    rule: "Relative imports stay in their package",
    check: "ImportForms",
    planted: importing(planted("outside"), "../../../service/src/Other.ts", "outside"),
    finding: "stays in its package"
  },
  {
    rule: "No module only exports others",
    check: "ImportForms",
    planted: { [planted("barrel")]: `${doc}export * from "./Other.ts"\nexport { a } from "./Another.ts"\n` },
    finding: "only exports others"
  },
  {
    rule: "Tests import no test code of another package",
    check: "HarnessImports",
    planted: {
      "packages/edge/test/Planted.test.ts":
        'import { a } from "../../hub/test/harness/A.ts"\nexport const b = a\n'
    },
    finding: "test code of another package"
  },
  {
    rule: "`domain` imports nothing of Node",
    check: "no-restricted-imports",
    planted: importing("packages/domain/src/node/Planted.ts", "node:fs", "ofNode"),
    finding: "no-restricted-imports"
  },
  {
    rule: "`redaction` imports nothing of Node",
    check: "no-restricted-imports",
    planted: importing("packages/redaction/src/node/Planted.ts", "node:fs", "ofNode"),
    finding: "no-restricted-imports"
  },
  {
    rule: "The console imports nothing of Node",
    check: "no-restricted-imports",
    planted: importing("packages/console/src/node/Planted.ts", "node:fs", "inBrowser"),
    finding: "no-restricted-imports"
  },
  {
    rule: "No `utils`, `helpers`, `types`, `common`",
    check: "FileForms",
    planted: Object.fromEntries(
      ["run/Utils", "run/helpers", "run/types", "common/Planted"].map((path, at) => [
        `packages/edge/src/${path}.ts`,
        `${doc}export const nameless${at} = ${at}\n`
      ])
    ),
    finding: "does not say what is in it"
  },
  {
    rule: "A function has at most 80 lines, one that builds a layer or a service 150",
    check: "FunctionLines",
    planted: {
      [planted("long")]: `${doc}export const long = (): number => {\n${lines(80)}}\n`,
      [planted("layer")]: `${doc}export const layerLong = f(() => g(() => {\n${lines(150)}}))\n`,
      [planted("inner")]: `${doc}export const make = f(() => {\n  const a = () => {\n${lines(80)}  }\n})\n`
    },
    finding: "a function of"
  },
  {
    rule: "No two functions have equal bodies",
    check: "EqualBodies",
    planted: {
      [planted("first")]: `${doc}export const first = (text: string): string => ${body}`,
      [planted("second")]:
        `${doc}export function second(name: string): string ${body.replaceAll("text", "name")}`
    },
    finding: "equal bodies"
  },
  {
    rule: "A docblock opens each module",
    check: "FileForms",
    planted: { [planted("plain")]: "// A comment.\nexport const plain = 1\n" },
    finding: "docblock"
  },
  {
    rule: "The name of a span begins with its module",
    check: "SpanNames",
    planted: { [planted("span")]: `${doc}export const span = Effect.fn("Other.run")(f)\n` },
    finding: "does not begin with the module's name"
  },
  {
    rule: "No `any`",
    check: "no-explicit-any",
    planted: { [planted("any")]: `${doc}export const something: any = 1\n` },
    finding: "no-explicit-any"
  },
  {
    rule: "No `!`",
    check: "no-non-null-assertion",
    planted: { [planted("assertion")]: `${doc}export const present = f()!\n` },
    finding: "no-non-null-assertion"
  },
  {
    rule: "An `as unknown as` needs a comment with the invariant",
    check: "UncheckedCasts",
    planted: { [planted("cast")]: `${doc}\n\n\n\n\nexport const cast = f() as unknown as string\n` },
    finding: "say why the cast holds"
  },
  {
    rule: "`Date.now`, `fetch` and `process.env` only in main files, scripts and tests",
    check: "AmbientAccess",
    planted: Object.fromEntries(
      ["Date.now()", 'fetch("http://a")', 'process.env["A"]'].map((code, at) => [
        planted(`ambient${at}`),
        `${doc}export const ambient${at} = ${code}\n`
      ])
    ),
    finding: "belongs to main files"
  },
  {
    rule: "`console` only in the command line, scripts, benchmarks and tests",
    check: "no-console",
    planted: { [planted("print")]: `${doc}export const print = (): void => console.log("a")\n` },
    finding: "no-console"
  },
  {
    rule: "Services make folders with `makeFolder`",
    check: "RecursiveFolders",
    planted: {
      [planted("folder")]: `${doc}export const make = (): void => void mkdirSync("a", { recursive: true })\n`
    },
    finding: "use makeFolder"
  },
  {
    rule: "No mocks of our own modules",
    check: "ModuleMocks",
    planted: { "packages/edge/test/run/Mock.test.ts": 'vi.mock("../src/run/A.ts", () => ({}))\n' },
    finding: "instead of a mock"
  },
  {
    rule: "Nothing refers to a tracker or a list of findings",
    check: "TrackerReferences",
    planted: {
      "docs/planted.md": "As issue 12 says.\n",
      [planted("tracker")]: `${doc}// See #123.\nexport const tracker = 1\n`
    },
    finding: "name the ADR"
  },
  {
    rule: "No phrase of its table",
    check: "Phrases",
    planted: { "docs/phrase.md": `The run ${phrases[0]} needs.\n` },
    finding: phrases[0]
  },
  {
    rule: "No name that does not say what a value is",
    check: "DeclaredNames",
    planted: { [planted("name")]: `${doc}export const told = 1\n` },
    finding: "does not say what it is"
  }
]

/** Sentences of the rules that end in `(checked)`, without their point. */
const marked = (): ReadonlyArray<string> => {
  const [, rules = ""] = readFileSync(join(root, "AGENTS.md"), "utf8").split(/^## Rules$/m)
  const text = (rules.split(/^## /m)[0] ?? "").replaceAll(/\s+/g, " ").replace(/^.*?(?= 1\. )/, "")
  return text
    .split(" (checked)")
    .slice(0, -1)
    .map(
      (part) =>
        part
          .split(/(?:^[.;] |\. |\*\* )/)
          .at(-1)
          ?.trim() ?? ""
    )
}

describe("rules that AGENTS.md calls checked", () => {
  let folder = ""
  let output: Readonly<Record<"walls" | "lint", string>> = { walls: "", lint: "" }
  const run = (program: string, args: ReadonlyArray<string>): string => {
    const { stderr, stdout } = spawnSync(program, args, { cwd: folder, encoding: "utf8" })
    return `${stdout}\n${stderr}`
  }
  const write = (path: string, text: string): void => {
    mkdirSync(join(folder, dirname(path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  const check = () => ({
    walls: run(process.execPath, [join(root, "scripts/walls.ts")]),
    lint: run(join(root, "node_modules/.bin/oxlint"), ["--deny-warnings", "--format", "unix", "."])
  })
  let clean = output

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "corral-rules-"))
    copyFileSync(join(root, ".oxlintrc.json"), join(folder, ".oxlintrc.json"))
    write("packages/edge/src/run/Sound.ts", `${doc}export const sound = (text: string): string => text\n`)
    write(
      "packages/edge/src/run/Layer.ts",
      `${doc}export const layer = f(() => g(() => {\n${lines(140)}}))\n`
    )
    write("packages/edge/test/Sound.test.ts", 'it("is sound", () => {})\n')
    write("docs/sound.md", "The run continues.\n")
    clean = check()
    for (const { planted: files } of checkedRules)
      for (const [path, text] of Object.entries(files)) write(path, text)
    output = check()
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it("are these", () => {
    assert.deepStrictEqual(
      marked(),
      checkedRules.map(({ rule }) => rule)
    )
  })

  it("use every check of scripts/walls", () => {
    const modules = globSync("scripts/walls/*.ts", { cwd: root }).map((path) => basename(path, ".ts"))
    const used = new Set(checkedRules.map((rule) => rule.check))
    assert.deepStrictEqual(
      modules.filter((name) => name !== "Modules" && name !== "Trees" && !used.has(name)),
      []
    )
  })

  it("are not broken by modules that are sound", () => {
    assert.strictEqual(clean.walls.trim(), "")
    assert.match(clean.lint, /^\s*(?:\d+ problems?)?\s*$/)
  })

  it.each(checkedRules)("$rule", ({ check: name, finding, planted: files }) => {
    const text = /^[A-Z]/.test(name) ? output.walls : output.lint
    const findings = text.split(/\n(?! )/).filter((each) => each.includes(finding))
    assert.isNotEmpty(Object.keys(files))
    const isPart = (path: string): boolean => findings.some((each) => each.includes(path))
    // Of several files that are one violation, one is named first, and the others below.
    assert.deepStrictEqual(
      Object.keys(files).filter((path) => !isPart(path)),
      []
    )
  })

  it("are part of `npm run check`", () => {
    const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
    assert.strictEqual(
      scripts.check,
      "npm run format:check && npm run lint && npm run walls && npm run types"
    )
    assert.strictEqual(scripts.lint, "oxlint --deny-warnings .")
    assert.strictEqual(scripts.walls, "node scripts/walls.ts")
  })
})
