/**
 * The regular expressions of all sources, and how each is known to end soon: proven linear, capped, or assembled and reviewed.
 */
import { globSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { parseSync } from "vite"

const root = fileURLToPath(new URL("..", import.meta.url))
export const provenFile = `${root}scripts/patterns.json`

export interface FoundPattern {
  /** As it is written, `/a+/i`. What is assembled when it runs has the source of its argument, and no slashes. */
  readonly text: string
  readonly file: string
  readonly isAssembled: boolean
  /** It is the argument of `capped`. */
  readonly isCapped: boolean
}

type Node = Readonly<Record<string, unknown>>

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null

const calls = (node: Node, name: string): boolean =>
  (node["type"] === "CallExpression" || node["type"] === "NewExpression") &&
  isNode(node["callee"]) &&
  node["callee"]["name"] === name

const patternsOf = (file: string): ReadonlyArray<FoundPattern> => {
  const source = readFileSync(root + file, "utf8")
  const { errors, program } = parseSync(file, source)
  if (errors.length > 0) throw new Error(`${file} cannot be parsed`)
  const found: Array<FoundPattern> = []
  const visit = (value: unknown, isCapped: boolean): void => {
    if (Array.isArray(value)) return value.forEach((item) => visit(item, isCapped))
    if (!isNode(value)) return
    const { end, regex, start } = value
    if (isNode(regex))
      found.push({ text: `/${regex["pattern"]}/${regex["flags"]}`, file, isAssembled: false, isCapped })
    if (calls(value, "RegExp"))
      found.push({ text: source.slice(Number(start), Number(end)), file, isAssembled: true, isCapped })
    const isCap = calls(value, "capped")
    for (const child of Object.values(value)) if (isNode(child)) visit(child, isCap || isCapped)
  }
  visit(program, false)
  return found
}

/** Every expression in what is shipped. */
export const patterns = (): ReadonlyArray<FoundPattern> =>
  globSync(["packages/*/{src,runtime}/**/*.{ts,tsx,mjs}", "scripts/launcher.cjs"], {
    cwd: root,
    // Test code sees no text from outside.
    exclude: ["packages/testing/**"]
  })
    .toSorted()
    .flatMap(patternsOf)

/** They look around, which the automaton does not know; `redaction/test/Redaction.test.ts` bounds their time. */
export const unproven = ["packages/redaction/src/Redaction.ts", "packages/redaction/src/SecretFinder.ts"]

/** The expressions that were proven linear: `npm run patterns` proves new ones. */
export const proven = (): ReadonlyArray<string> => JSON.parse(readFileSync(provenFile, "utf8"))
