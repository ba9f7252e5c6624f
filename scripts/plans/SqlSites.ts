/**
 * Statements and pieces of statements in sources: the templates with the tag `sql`. Also which of them has made a logged text.
 *
 * Does not: follow a piece to the statements that insert it. Those are seen whole in the log.
 */
import { globSync, readFileSync } from "node:fs"
import { relative } from "node:path"

export interface SqlSite {
  readonly file: string
  readonly line: number
  /** Text around what is inserted. */
  readonly chunks: ReadonlyArray<string>
  /** Sources of the expressions between the chunks. */
  readonly insertions: ReadonlyArray<string>
}

const VERB = /^\s*(?:SELECT|INSERT|UPDATE|DELETE|WITH)\b/i

export const isStatement = (text: string): boolean => VERB.test(text)

/** The other sites are pieces, and commands without a plan. */
export const isStatementSite = ({ chunks }: SqlSite): boolean => isStatement(chunks[0] ?? "")

const normal = (text: string): string => text.replaceAll(/\s+/g, " ")

/** The template whose text begins at `from`. */
const templateFrom = (source: string, from: number): Pick<SqlSite, "chunks" | "insertions"> => {
  const chunks: Array<string> = []
  const insertions: Array<string> = []
  let chunk = ""
  for (let at = from; at < source.length; at++) {
    const character = source.charAt(at)
    if (character === "`") return { chunks: [...chunks, chunk].map(normal), insertions }
    if (character === "\\") chunk += JSON.parse(`"${source.slice(at, ++at + 1)}"`) as string
    else if (character === "$" && source.charAt(at + 1) === "{") {
      chunks.push(chunk)
      chunk = ""
      const end = endOfInsertion(source, at + 2)
      insertions.push(source.slice(at + 2, end).trim())
      at = end
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

/** All sites of a source. */
export const sqlSitesOf = (file: string, source: string): ReadonlyArray<SqlSite> =>
  [...source.matchAll(OPENING)].map(({ 0: opening, index }) => ({
    file,
    line: source.slice(0, index).split("\n").length,
    ...templateFrom(source, index + opening.length)
  }))

/** All sites of the TypeScript files in a folder of the repository. */
export const sqlSitesIn = (root: string, folder: string): ReadonlyArray<SqlSite> =>
  globSync(`${root}/${folder}/**/*.ts`).flatMap((file) =>
    sqlSitesOf(relative(root, file), readFileSync(file, "utf8"))
  )

/** What the helpers of the SQL client insert, without spaces. All other insertions may be any text. */
const FORMS: ReadonlyArray<readonly [opening: string, inserted: RegExp]> = [
  ["sql(", /"\w+"(?:\."\w+")?/y],
  ["sql.insert(", /\("\w+"(?:,"\w+")*\)VALUES\(\$[$\d,()]*\)/y]
]

const formOf = (insertion: string): RegExp | undefined =>
  FORMS.find(([opening]) => insertion.startsWith(opening))?.[1]

/** Ends of all occurrences, in their order. */
const endsOf = (text: string, chunk: string, from: number): ReadonlyArray<number> => {
  const ends: Array<number> = []
  for (let at = text.indexOf(chunk, from); at >= 0; at = at < text.length ? text.indexOf(chunk, at + 1) : -1)
    ends.push(at + chunk.length)
  return ends
}

/** Ends of the chunk where it follows an insertion that begins at one of `starts`. */
const endsAfter = (
  text: string,
  starts: ReadonlyArray<number>,
  form: RegExp | undefined,
  chunk: string
): ReadonlyArray<number> => {
  const [first] = starts
  if (first === undefined) return []
  if (form === undefined) return endsOf(text, chunk, first)
  return starts.flatMap((start) => {
    form.lastIndex = start
    const end = form.test(text) ? form.lastIndex : -1
    return end >= 0 && text.startsWith(chunk, end) ? [end + chunk.length] : []
  })
}

/** Without spaces: an empty insertion leaves those before and after it. */
const dense = (text: string): string => {
  const found = denseTexts.get(text) ?? text.replaceAll(/\s+/g, "")
  denseTexts.set(text, found)
  return found
}

/** Each template is compared with each text. */
const denseTexts = new Map<string, string>()

/** Whether the text contains the site; `isWhole`: nothing else. */
export const matches = ({ chunks, insertions }: SqlSite, text: string, isWhole: boolean): boolean => {
  const found = dense(text)
  const [first = "", ...others] = chunks.map(dense)
  if (isWhole && !(found.startsWith(first) && found.endsWith(others.at(-1) ?? first))) return false
  let ends: ReadonlyArray<number> = isWhole ? [first.length] : endsOf(found, first, 0)
  others.forEach((chunk, i) => {
    ends = endsAfter(found, ends, formOf(insertions[i] ?? ""), chunk)
  })
  return isWhole ? ends.includes(found.length) : ends.length > 0
}

const KEYWORDS = /\b(?:SELECT|FROM|WHERE|ORDER BY|LIMIT|INSERT INTO|UPDATE|SET|DELETE|AND)\b/g

/** Letters and digits of the template that are more than the frame of a statement. */
const wordsOf = ({ chunks }: SqlSite): string =>
  chunks.join(" ").replaceAll(KEYWORDS, "").replaceAll(/\W+/g, "")

/** Whether the text contains a piece of the site's file that has words. */
const hasPieceOf = (file: string, sites: ReadonlyArray<SqlSite>, text: string): boolean =>
  sites.some(
    (site) =>
      site.file === file && !isStatementSite(site) && wordsOf(site) !== "" && matches(site, text, false)
  )

/** Services pass ids as parameters. Tests also write them into their texts. */
const ID = /'[a-z]+_[0-9A-Z]{26}'/

/**
 * The statement that has made the text: of those that match, the one with the most words in its template. A template without words fits any
 * statement: it has made a text that contains a piece of its file.
 */
export const siteOfStatement = (sites: ReadonlyArray<SqlSite>, text: string): SqlSite | undefined => {
  if (ID.test(text)) return undefined
  return sites
    .filter((site) => isStatementSite(site) && matches(site, text, true))
    .filter((site) => wordsOf(site) !== "" || hasPieceOf(site.file, sites, text))
    .toSorted((a, b) => wordsOf(b).length - wordsOf(a).length)[0]
}
