/**
 * Public interface of each package as text: every declaration of every public module, without comments. A change of it is a change of a file in
 * `api`, which a reviewer sees.
 *
 * Reads the declarations of `npm run declarations`. Does not follow imports: a declaration names types of other modules as it is written.
 */
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { parseSync, type Program, Visitor } from "oxc-parser"
import { declarationOf } from "./Modules.ts"
import { isBrowserForm } from "./Manifest.ts"
import { publicModules } from "./pack.ts"
import { packed } from "./packages.ts"

/** The command that brings the reports up to date. */
export const apiCommand = "npm run api"

/** Longer declarations are cut, and end with a hash of the whole: most are schemas, which the documents of the HTTP interfaces show in full. */
const MAX_LENGTH = 400

const shortened = (declaration: string): string => {
  if (declaration.length <= MAX_LENGTH) return declaration
  const hash = createHash("sha256").update(declaration).digest("hex").slice(0, 16)
  return `${declaration.slice(0, MAX_LENGTH)}… (${declaration.length} characters, ${hash})`
}

interface Span {
  readonly start: number
  readonly end: number
}

/** Members of every union in a declaration file, by where the union starts and ends. */
const unionsIn = (program: Program): ReadonlyArray<Span & { readonly members: ReadonlyArray<Span> }> => {
  const unions: Array<Span & { readonly members: ReadonlyArray<Span> }> = []
  new Visitor({
    TSUnionType: ({ end, start, types }) => void unions.push({ end, members: types, start })
  }).visit(program)
  return unions.toSorted((a, b) => a.start - b.start || b.end - a.end)
}

/** The statements of a declaration file, each on one line. Members of a union are sorted: the compiler writes them in the order of its work. */
export const declarationsIn = (text: string): ReadonlyArray<string> => {
  const { comments, program } = parseSync("module.d.ts", text)
  const code = comments
    .toReversed()
    .reduce((rest, { end, start }) => rest.slice(0, start) + " ".repeat(end - start) + rest.slice(end), text)
  const unions = unionsIn(program)
  const textOf = (span: Span): string => {
    let rest = span.start
    let written = ""
    for (const union of unions) {
      if (union.start < rest || union.end > span.end) continue
      const members = union.members.map((member) => textOf(member).trim()).toSorted()
      written += code.slice(rest, union.start) + members.join(" | ")
      rest = union.end
    }
    return written + code.slice(rest, span.end)
  }
  return program.body
    .filter(({ type }) => type !== "ImportDeclaration")
    .map((statement) => textOf(statement).replaceAll(/\s+/g, " ").trim())
    .filter((statement) => statement !== "export {};")
    .map(shortened)
}

/** Repository path → text. */
export const apiReports = (): ReadonlyMap<string, string> =>
  new Map(
    packed.map((each) => [
      `api/${each.name}.txt`,
      [
        `Public interface of @corral/${each.name}. Written by \`${apiCommand}\`.`,
        ...publicModules(each)
          .filter((path) => !isBrowserForm(path))
          .map((path) =>
            [
              `@corral/${each.name}/${path}`,
              ...declarationsIn(readFileSync(declarationOf({ owner: each.name, path }), "utf8")).map(
                (declaration) => `  ${declaration}`
              )
            ].join("\n")
          )
      ]
        .join("\n\n")
        .concat("\n")
    ])
  )
