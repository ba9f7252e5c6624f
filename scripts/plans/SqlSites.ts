/** Statements and parts of statements in sources: the templates with the tag `sql`. */
import { globSync, readFileSync } from "node:fs"
import { relative } from "node:path"

export interface SqlSite {
  /** File and line. */
  readonly place: string
  /** Text around what is inserted. */
  readonly chunks: ReadonlyArray<string>
}

const normal = (text: string): string => text.replaceAll(/\s+/g, " ")

/** The chunks of the template whose text begins at `from`. */
const chunksFrom = (source: string, from: number): ReadonlyArray<string> => {
  const chunks: Array<string> = []
  let chunk = ""
  for (let at = from; at < source.length; at++) {
    const character = source.charAt(at)
    if (character === "`") return [...chunks, chunk]
    if (character === "\\") chunk += JSON.parse(`"${source.slice(at, ++at + 1)}"`) as string
    else if (character === "$" && source.charAt(at + 1) === "{") {
      chunks.push(chunk)
      chunk = ""
      at = endOfInsertion(source, at + 2)
    } else chunk += character
  }
  throw new Error("a template does not end")
}

/** Position of the brace that ends an inserted expression. */
const endOfInsertion = (source: string, from: number): number => {
  let depth = 0
  for (let at = from; ; at++) {
    const character = source.charAt(at)
    if (character === "{") depth++
    else if (character === "}" && depth-- === 0) return at
    else if (character === '"') at = source.indexOf('"', at + 1)
    else if (character === "`") at = endOfTemplate(source, at + 1)
  }
}

const endOfTemplate = (source: string, from: number): number => {
  for (let at = from; ; at++) {
    const character = source.charAt(at)
    if (character === "`") return at
    if (character === "\\") at++
    else if (character === "$" && source.charAt(at + 1) === "{") at = endOfInsertion(source, at + 2)
  }
}

const OPENING = /\bsql(?:<[^`]*?>)?`/g

/** All sites of the TypeScript files in a folder of the repository. */
export const sqlSitesIn = (root: string, folder: string): ReadonlyArray<SqlSite> =>
  globSync(`${root}/${folder}/**/*.ts`).flatMap((file) => {
    const source = readFileSync(file, "utf8")
    return [...source.matchAll(OPENING)].map(({ 0: opening, index }) => ({
      place: `${relative(root, file)}:${source.slice(0, index).split("\n").length}`,
      chunks: chunksFrom(source, index + opening.length).map(normal)
    }))
  })

/** Whether the text contains the site; `isWhole`: nothing else. */
export const matches = ({ chunks }: SqlSite, text: string, isWhole: boolean): boolean => {
  const [first = "", ...others] = chunks.map((chunk, i) => {
    const end = i === chunks.length - 1 ? chunk.trimEnd() : chunk
    return i === 0 ? end.trimStart() : end
  })
  const found = normal(text).trim()
  const last = others.at(-1) ?? first
  if (isWhole && !(found.startsWith(first) && found.endsWith(last))) return false
  let at = found.indexOf(first)
  if (at < 0) return false
  at += first.length
  for (const chunk of others) {
    const next = found.indexOf(chunk, at)
    if (next < 0) return false
    at = next + chunk.length
  }
  return !isWhole || others.length > 0 || found.length === first.length
}
