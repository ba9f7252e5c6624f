/**
 * Public interface of each package as text: every declaration of every public module, without comments. A change of it is a change of a file in
 * `api`, which a reviewer sees.
 *
 * Reads the declarations that the type check writes. Does not follow imports: a declaration names types of other modules as it is written.
 */
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { parseSync } from "oxc-parser"
import { declarationOf } from "./Modules.ts"
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

/** The statements of a declaration file, each on one line. */
export const declarationsIn = (text: string): ReadonlyArray<string> => {
  const { comments, program } = parseSync("module.d.ts", text)
  const code = comments
    .toReversed()
    .reduce((rest, { end, start }) => rest.slice(0, start) + " ".repeat(end - start) + rest.slice(end), text)
  return program.body
    .filter(({ type }) => type !== "ImportDeclaration")
    .map(({ end, start }) => code.slice(start, end).replaceAll(/\s+/g, " ").trim())
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
        ...publicModules(each).map((path) =>
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
