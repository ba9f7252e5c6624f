/**
 * Checks of the structure and the language of the repository. Part of `npm run check`.
 *
 * `node scripts/walls.ts [FOLDER]` prints findings, of one folder where one is named. Exits with 1 where there are any.
 */
import { globSync, readFileSync } from "node:fs"
import { ambientAccessIn } from "./walls/AmbientAccess.ts"
import { refusedNamesIn } from "./walls/DeclaredNames.ts"
import { equalBodies } from "./walls/EqualBodies.ts"
import { refusedFormsOf } from "./walls/FileForms.ts"
import { folderCycles } from "./walls/FolderCycles.ts"
import { longFunctionsIn } from "./walls/FunctionLines.ts"
import { harnessImports } from "./walls/HarnessImports.ts"
import { refusedImportsIn } from "./walls/ImportForms.ts"
import { moduleMocksIn } from "./walls/ModuleMocks.ts"
import { modulesOf } from "./walls/Modules.ts"
import { refusedArrows } from "./walls/PackageArrows.ts"
import { phrasesIn } from "./walls/Phrases.ts"
import { recursiveFoldersIn } from "./walls/RecursiveFolders.ts"
import { foreignSpansIn } from "./walls/SpanNames.ts"
import { trackerReferencesIn } from "./walls/TrackerReferences.ts"
import { uncheckedCastsIn } from "./walls/UncheckedCasts.ts"

const [folder = ""] = process.argv.slice(2)

const sources = modulesOf(".", ["packages/*/src/**/*.{ts,tsx}"])
const programs = modulesOf(".", ["scripts/**/*.ts", "bench/**/*.ts", "examples/**/*.ts"])
const tests = modulesOf(".", ["packages/*/test/**/*.{ts,tsx}"])

/** The contract, text from other projects, the list itself, and the page that says what to write instead. */
const EXEMPT = [
  /^docs\/contract\//,
  /gitleaksRules\.ts$/,
  /^scripts\/walls\/(?:Phrases|TrackerReferences)/,
  /^CONTRIBUTING\.md$/,
  /\/fixtures\//,
  /node_modules/
]
const texts = globSync(
  [
    "*.md",
    "docs/**/*.md",
    "packages/**/*.{ts,tsx,md,css,html}",
    "scripts/**/*.{ts,cjs}",
    "bench/**/*.ts",
    "examples/**/*.{ts,md}",
    "deploy/**/*"
  ],
  { exclude: ["**/node_modules/**", "**/fixtures/**"] }
).filter((path) => !EXEMPT.some((each) => each.test(path)) && /\.[a-z]+$/.test(path))

const findings = [
  ...folderCycles(sources).map(
    ({ imports, rooms }) => `folder cycle: ${rooms.join(", ")}\n  ${imports.join("\n  ")}`
  ),
  ...equalBodies(
    [...sources, ...programs].map(({ path }) => ({ path, text: readFileSync(path, "utf8") }))
  ).map((places) => `equal bodies:\n  ${places.map(({ line, path }) => `${path}:${line}`).join("\n  ")}`),
  ...refusedArrows([...sources, ...tests.filter(({ path }) => path.startsWith("packages/domain/"))]).map(
    (each) => `packages/${each.split("/")[1]} may not import this: ${each}`
  ),
  ...sources.flatMap(({ path }) => {
    const text = readFileSync(path, "utf8")
    return [
      ...ambientAccessIn(path, text).map(
        (each) => `${path}:${each} belongs to main files: receive it as a parameter or a service`
      ),
      ...foreignSpansIn(path, text).map(
        (name) => `${path}: the span "${name}" does not begin with the module's name`
      ),
      ...uncheckedCastsIn(text).map((line) => `${path}:${line}: say why the cast holds`)
    ]
  }),
  ...[...sources, ...programs].flatMap(({ path }) => {
    const text = readFileSync(path, "utf8")
    return [
      ...[...refusedFormsOf(path, text), ...refusedImportsIn(path, text)].map((each) => `${path}: ${each}`),
      ...longFunctionsIn(path, text).map(
        ({ line, lines, most }) => `${path}:${line}: a function of ${lines} lines: at most ${most}`
      )
    ]
  }),
  ...tests.flatMap(({ path }) =>
    moduleMocksIn(readFileSync(path, "utf8")).map(
      (line) => `${path}:${line}: run the module instead of a mock`
    )
  ),
  ...harnessImports([...tests, ...programs]).map((each) => `test code of another package: ${each}`),
  ...[...sources, ...programs, ...tests].flatMap(({ path }) =>
    refusedNamesIn(path, readFileSync(path, "utf8")).map(
      ({ line, name }) => `${path}:${line}: "${name}" does not say what it is`
    )
  ),
  ...sources.flatMap(({ path }) =>
    path.startsWith("packages/testing/")
      ? []
      : recursiveFoldersIn(path, readFileSync(path, "utf8")).map(
          (line) => `${path}:${line}: use makeFolder: Node's recursive mkdir does not end below /proc`
        )
  ),
  ...texts.flatMap((path) =>
    trackerReferencesIn(path, readFileSync(path, "utf8")).map(
      ({ line, text }) => `${path}:${line}: "${text}": say what it is, or name the ADR`
    )
  ),
  ...texts.flatMap((path) =>
    phrasesIn(readFileSync(path, "utf8")).map(({ line, phrase }) => `${path}:${line}: "${phrase}"`)
  )
].filter((finding) => finding.includes(folder))

if (findings.length > 0) console.error(`${findings.join("\n")}\n${findings.length} findings`)
process.exitCode = findings.length > 0 ? 1 : 0
