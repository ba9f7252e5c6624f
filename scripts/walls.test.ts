/** Each check of the structure and the language finds what it is for. */
import { assert, describe, it } from "@effect/vitest"
import { globSync } from "node:fs"
import { ambientAccessIn } from "./walls/AmbientAccess.ts"
import { refusedNames, refusedNamesIn } from "./walls/DeclaredNames.ts"
import { equalBodies } from "./walls/EqualBodies.ts"
import { refusedFormsOf } from "./walls/FileForms.ts"
import { folderCycles } from "./walls/FolderCycles.ts"
import { harnessImports } from "./walls/HarnessImports.ts"
import { refusedImportsIn } from "./walls/ImportForms.ts"
import { moduleOf } from "./walls/Modules.ts"
import { packageArrows, refusedArrows } from "./walls/PackageArrows.ts"
import { phrases, phrasesIn } from "./walls/Phrases.ts"
import { recursiveFoldersIn } from "./walls/RecursiveFolders.ts"
import { foreignSpansIn } from "./walls/SpanNames.ts"
import { trackerReferencesIn } from "./walls/TrackerReferences.ts"
import { uncheckedCastsIn } from "./walls/UncheckedCasts.ts"

const hub = (path: string, text: string) => moduleOf(`packages/hub/src/${path}`, text)

describe("moduleOf", () => {
  it("reads imports of types, re-exports, dynamic imports and own packages", () => {
    const { imports } = hub(
      "run/Runs.ts",
      `import type { A } from "../store/A.ts"
       export { B } from "./B.ts"
       export * from "@corral/domain/run/Run"
       import { Effect } from "effect"
       export const layer = () => import("../log/C.ts")
       export interface Runs {}
       const own = 1
       export { own as renamed }`
    )
    assert.sameMembers(
      [...imports],
      [
        "packages/hub/src/store/A.ts",
        "packages/hub/src/run/B.ts",
        "packages/domain/src/run/Run.ts",
        "packages/hub/src/log/C.ts"
      ]
    )
  })
})

describe("folderCycles", () => {
  const store = hub("store/Store.ts", `import type { Run } from "../run/Run.ts"`)
  const run = hub("run/Run.ts", `import { log } from "../log/Log.ts"`)

  it("finds folders that reach each other through others, by types alone", () => {
    const log = hub("log/Log.ts", `import { store } from "../store/Store.ts"`)
    assert.deepStrictEqual(
      folderCycles([store, run, log]).map(({ rooms }) => rooms),
      [["packages/hub/src/log", "packages/hub/src/run", "packages/hub/src/store"]]
    )
  })

  it("accepts an order of folders, and a root module that composes them", () => {
    const log = hub("log/Log.ts", `import { own } from "./Own.ts"`)
    const main = hub("Hub.ts", `import { run } from "./run/Run.ts"`)
    assert.deepStrictEqual(folderCycles([store, run, log, main]), [])
  })
})

describe("equalBodies", () => {
  const body = (input: string, local: string) => `{
    const ${local} = ${input}.trim()
    if (${local} === "") return undefined
    return ${local}.length > 3 ? ${local}.slice(0, 3) : ${local}
  }`
  const placesIn = (...texts: ReadonlyArray<string>) =>
    equalBodies(texts.map((text, at) => ({ path: `packages/hub/src/run/Module${at}.ts`, text }))).map(
      (places) => places.map(({ line, path }) => `${path.slice(-10)}:${line}`)
    )
  const first = `const shorten = (text: string) => ${body("text", "trimmed")}`

  it.each([
    [
      "with other names of its parameter and variable",
      `const cut = (name: string) => ${body("name", "short")}`
    ],
    ["as a declaration", `export function cut(name: string | undefined) ${body("name", "short")}`],
    ["as a method", `class Cut { static cut(name: string) ${body("name", "short")} }`],
    ["as a property", `const all = { cut: (name: string) => ${body("name", "short")} }`],
    [
      "as a function in a call",
      `const cut = traced("cut", function (name: string) ${body("name", "short")})`
    ],
    [
      "with comments and other white space",
      `const cut = (name) => ${body("name", "short").replaceAll("\n", "\n // why\n")}`
    ]
  ])("finds the same body %s", (_, text) => {
    assert.deepStrictEqual(placesIn(first, text), [["Module0.ts:1", "Module1.ts:1"]])
  })

  it("finds two in one module, by their lines", () => {
    const text = `${first}\nconst cut = (name: string) => ${body("name", "short")}`
    assert.deepStrictEqual(placesIn(text), [["Module0.ts:1", "Module0.ts:6"]])
  })

  it.each([
    ["another limit", `const cut = (name: string) => ${body("name", "short").replace("> 3", "> 4")}`],
    [
      "another function",
      `const cut = (name: string) => ${body("name", "short").replace("slice", "substring")}`
    ],
    ["a variable from outside", `const cut = (name: string) => ${body("other", "short")}`],
    ["parameters in another order", `const cut = (a: string, name: string) => ${body("name", "short")}`],
    ["an operator", `const cut = (name: string) => ${body("name", "short").replace("===", "!==")}`]
  ])("accepts bodies that differ in %s", (_, text) => {
    assert.deepStrictEqual(placesIn(first, text), [])
  })

  it("accepts small bodies, callbacks, and methods that pass on what their object has", () => {
    const small = "const f = (a: string) => a.trim()"
    const callback = `texts.map((text) => ${body("text", "trimmed")})`
    const method =
      "class A { end() { this.#a.close(); this.#b.close(); this.#isOver = true; return this.#a } }"
    assert.deepStrictEqual(placesIn(small, small, callback, callback, method, method), [])
  })

  it("names functions within equal functions once, with the outer ones", () => {
    const text = `const f = () => { const g = (text) => ${body("text", "cut")}; return g }`
    assert.deepStrictEqual(placesIn(text, text), [["Module0.ts:1", "Module1.ts:1"]])
  })
})

describe("harnessImports", () => {
  it("finds an import of another package's test code only", () => {
    const text = `import { a } from "../../hub/test/harness/A.ts"; import { b } from "./harness/B.ts"`
    assert.deepStrictEqual(harnessImports([moduleOf("packages/edge/test/Some.test.ts", text)]), [
      "packages/edge/test/Some.test.ts > packages/hub/test/harness/A.ts"
    ])
  })
})

describe("phrasesIn", () => {
  it.each(phrases)("finds %s, also in capitals and across lines of a comment", (phrase) => {
    const [first = "", ...rest] = phrase.toUpperCase().split(" ")
    const text = `/**\n * Some text ${[first, ...rest].join("\n * ")} ends.\n */`
    assert.deepStrictEqual(phrasesIn(text), [{ line: 2, phrase }])
  })

  it("finds no part of a word", () => {
    assert.deepStrictEqual(phrasesIn("anewborn whatevers nobodys, his own, network at workplaces"), [])
  })
})

describe("refusedNamesIn", () => {
  it.each(refusedNames)("finds the variable %s", (name) => {
    assert.deepStrictEqual(refusedNamesIn("Some.ts", `\nconst ${name} = 1`), [{ line: 2, name }])
  })

  it.each([
    ["a parameter", "const f = (told: string) => 1"],
    ["a parameter with a default", "function f(a: number, told = 1) {}"],
    ["a rest parameter", "const f = (...told: Array<string>) => 1"],
    ["a function", "function told() {}"],
    ["a renamed binding", "const { message: told } = error"],
    ["a nested binding", "const [{ message: [, told] }] = errors"],
    ["a parameter of a function type", "type F = (told: string) => void"],
    ["a type", "type Told = string"],
    ["an interface", "interface Told {}"],
    ["a class", "class Told {}"],
    ["a constant in capitals", "const TOLD = 1"],
    ["a variable without a value", "let told\nread()"],
    ["a variable of a loop", "for (const told in errors) read()"],
    ["a property of a type", "interface A { readonly told: string }"],
    ["a method of a type", "interface A { told(): string }"],
    ["a parameter of a method", "class A { f(told: string) {} }"],
    ["a property of a class", "class A { told = 1 }"],
    ["a private property", "class A { #told = 1 }"],
    ["a method", "class A { told() {} }"],
    ["an accessor", "class A { get told() { return 1 } }"]
  ])("finds %s", (_, text) => {
    assert.deepStrictEqual(
      refusedNamesIn("Some.ts", text).map(({ name }) => name.toLowerCase()),
      ["told"]
    )
  })

  it("finds a parameter of a component", () => {
    assert.deepStrictEqual(refusedNamesIn("Some.tsx", "const A = (told: Props) => <p>{told.text}</p>"), [
      { line: 1, name: "told" }
    ])
  })

  it.each([
    ["a key of data", "const row = { told: 1, details: { said: text } }"],
    ["a binding that repeats a key", "const { said } = details"],
    ["a longer name", "const knownNames = isGone(ownFolder)"],
    ["a use", "read(error.said)"]
  ])("accepts %s", (_, text) => {
    assert.deepStrictEqual(refusedNamesIn("Some.ts", text), [])
  })
})

describe("recursiveFoldersIn", () => {
  it("finds Node's recursive creation of folders by its line, and no other calls", () => {
    const text = `mkdirSync(folder)
mkdirSync(join(a, b), { mode: 0o700, recursive: true })
await fs.mkdir(folder, { recursive })
rmSync(folder, { recursive: true })
makeFolder(folder)`
    assert.deepStrictEqual(recursiveFoldersIn("module.ts", text), [2, 3])
  })
})

describe("refusedArrows", () => {
  const packages = Object.keys(packageArrows)
  const pairs = packages.flatMap((from) =>
    packages.filter((to) => to !== from).map((to) => [from, to] as const)
  )
  const forms = (to: string) => [
    `import { a } from "@corral/${to}/run/A"`,
    `import type { A } from "@corral/${to}/run/A"`,
    `export { a } from "@corral/${to}/run/A"`,
    `const a = () => import("@corral/${to}/run/A")`,
    `import { a } from "@corral/${to}"`,
    `import { a } from "../../../${to}/src/run/A.ts"`
  ]

  it("has a row for each package with sources", () => {
    const found = globSync("packages/*/src").map((path) => path.split("/")[1])
    assert.sameMembers(packages, found)
  })

  it.each(pairs)("judges every form of an import from %s to %s", (from, to) => {
    const isAllowed = packageArrows[from]?.includes(to) === true
    for (const text of forms(to)) {
      const found = refusedArrows([moduleOf(`packages/${from}/src/run/B.ts`, text)])
      assert.lengthOf(found, isAllowed ? 0 : 1, text)
    }
  })

  it("lets tests import what tests share", () => {
    const text = `import { a } from "@corral/testing/run/A"`
    assert.deepStrictEqual(refusedArrows([moduleOf("packages/domain/test/B.test.ts", text)]), [])
  })
})

describe("ambientAccessIn", () => {
  it.each([
    "Date.now()",
    "setTimeout(f, 1, Date.now)",
    "process.env",
    `process.env["HOME"]`,
    `fetch("http://a")`
  ])("finds %s by its line", (code) => {
    assert.lengthOf(ambientAccessIn("packages/edge/src/run/A.ts", `const f = 1\nconst a = ${code}`), 1)
    assert.match(ambientAccessIn("packages/edge/src/run/A.ts", `\n${code}`)[0] ?? "", /^2: /)
  })

  it.each([
    ["packages/edge/src/main.ts", "process.env"],
    ["packages/edge/src/run/A.ts", "transport.fetch(1)"],
    ["packages/edge/src/run/A.ts", "const text = `fetch(a); Date.now()`"],
    ["packages/edge/src/run/A.ts", "// process.env"]
  ])("accepts in %s: %s", (path, code) => {
    assert.deepStrictEqual(ambientAccessIn(path, code), [])
  })
})

describe("uncheckedCastsIn", () => {
  it("finds a cast without a comment, and none with one", () => {
    const bare = "const a = 1\n\n\n\n\nconst b = a as unknown as string"
    assert.deepStrictEqual(uncheckedCastsIn(bare), [6])
    assert.deepStrictEqual(uncheckedCastsIn(`${bare} // a string`), [])
    assert.deepStrictEqual(uncheckedCastsIn("// a is a string\nconst b = a as unknown as string"), [])
    assert.deepStrictEqual(uncheckedCastsIn("// write no `as unknown as` here"), [])
  })
})

describe("foreignSpansIn", () => {
  it("finds spans of another module, and of none", () => {
    const text = `Effect.fn("Runs.get")(f); Effect.fn("Run.get")(f); effect.pipe(Effect.withSpan("runs", {}))`
    assert.deepStrictEqual(foreignSpansIn("packages/hub/src/run/Runs.ts", text), ["Run.get", "runs"])
  })
})

describe("trackerReferencesIn", () => {
  it.each([
    "issue 12",
    "Issues 3",
    "finding X14",
    "issue #7",
    "#123",
    "see (K5)",
    "H1 says",
    "pull request 9"
  ])("finds %s in a document, a comment and the name of a test", (text) => {
    assert.lengthOf(trackerReferencesIn("docs/a.md", `A\n${text} b`), 1)
    assert.deepStrictEqual(
      trackerReferencesIn("a.ts", `const a = 1\n/**\n * Why: ${text}.\n */`).map(({ line }) => line),
      [3]
    )
    assert.lengthOf(trackerReferencesIn("a.ts", `const a = 1 // ${text}`), 1)
    assert.lengthOf(trackerReferencesIn("a.test.ts", `it("is what ${text} wants", () => {})`), 1)
    assert.lengthOf(trackerReferencesIn("a.test.ts", `it.each([1])("is what ${text} wants", f)`), 1)
  })

  it.each([
    ["docs/a.md", "Option `#2`, V8, C0, [a](#12-title), /x#123 and &#8217; in 0xB1, P-256 and 95 % of H2O"],
    ["a.ts", 'const a = { S1: "#123", colour: "#112233", b: this.#a, key: "K5" }'],
    ["a.ts", "/* an issue with 12 rows, issue `12`, the finding of 3 files */"]
  ])("accepts in %s: %s", (path, text) => {
    assert.deepStrictEqual(trackerReferencesIn(path, text), [])
  })
})

describe("refusedImportsIn", () => {
  it("accepts modules by their path, files with extensions, and a module that re-exports beside its own", () => {
    const text = `import { a } from "@corral/domain/run/A"
      import b from "./b.json"
      import "./c.css"
      import { d } from "./D.tsx"
      export { e } from "./E.ts"
      export const f = [a, b, d]`
    assert.deepStrictEqual(refusedImportsIn("a.ts", text), [])
  })
})

describe("refusedFormsOf", () => {
  it.each([
    "packages/edge/src/run/EventTypes.ts",
    "packages/hub/src/typesOfRuns/A.ts",
    "scripts/walls.test.ts"
  ])("accepts the name %s", (path) => {
    assert.deepStrictEqual(refusedFormsOf(path, "/** A module. */"), [])
  })
})
