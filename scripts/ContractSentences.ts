/**
 * The sentences of the founding contract, and the page that says which tests hold each of them.
 *
 * Guarantees: a sentence of the contract that the page does not list, lists twice, or lists under another heading is a problem; so is a test
 * that does not exist, a label beyond the closed ones, and one label too many.
 *
 * Does not: judge whether a test holds its sentences.
 */

export interface ContractSentence {
  /** The headings above it, joined: tables of two services share some rows. */
  readonly heading: string
  readonly text: string
}

interface SentenceGroup {
  readonly sentences: ReadonlyArray<ContractSentence>
  /** The line after the list: its tests, or a label. */
  readonly evidence: string
}

/** What the check reads besides the two pages. */
export interface Evidence {
  /** First cells of the rows of all decisions. */
  readonly decisions: ReadonlySet<string>
  /** Titles of a test file, or `undefined` where there is no such file. */
  readonly titlesOf: (path: string) => ReadonlySet<string> | undefined
}

export const MAX_LABELS = 60

const LABEL =
  /^Label: (?:gap filled by DECISIONS rows? (?<rows>"[^"]+"(?:, "[^"]+")*)|advice to clients|about the document)\. \S.*\.$/
const NAMED_TEST = /`(?<file>[\w/.-]+\.test\.tsx?)` "(?<title>[^"]+)"/g

/** A line and the headings above it. */
function* linesUnderHeadings(page: string): Generator<{ heading: string; line: string; next: string }> {
  const above: Array<string> = []
  const lines = page.split("\n")
  for (const [i, line] of lines.entries()) {
    const [, signs = "", title = ""] = /^(#+) (.*)$/.exec(line) ?? []
    if (signs !== "") above.splice(Math.max(0, signs.length - 2), above.length, title)
    else if (line.trim() !== "") yield { heading: above.join(" / "), line, next: lines[i + 1] ?? "" }
  }
}

const isRule = (line: string): boolean => /^\|[-| ]+\|$/.test(line)

/** A row of a table without its outer lines. A list item and a paragraph end their sentences with a full stop before a capital. */
const sentencesOfLine = (line: string): ReadonlyArray<string> =>
  line.startsWith("|")
    ? [line.slice(1, -1).trim()]
    : line.replace(/^(?:\d+\.|-) /, "").split(/(?<=\.) (?=[A-Z*{])/)

/** All sentences in order. The head of a table is none. */
export const sentencesOf = (contract: string): ReadonlyArray<ContractSentence> =>
  [...linesUnderHeadings(contract)].flatMap(({ heading, line, next }) =>
    isRule(line) || isRule(next) ? [] : sentencesOfLine(line).map((text) => ({ heading, text }))
  )

const groupsOf = (page: string): ReadonlyArray<SentenceGroup> => {
  const groups: Array<SentenceGroup> = []
  let sentences: Array<ContractSentence> = []
  let isListOver = false
  const close = (evidence: string): void => {
    groups.push({ sentences, evidence })
    sentences = []
    isListOver = false
  }
  for (const { heading, line, next } of linesUnderHeadings(page)) {
    if (line.startsWith("- ")) {
      if (isListOver) close("nothing follows the list")
      sentences.push({ heading, text: line.slice(2) })
      isListOver = next === ""
    } else if (/^(?:Tests|Label): /.test(line)) close(line)
  }
  if (sentences.length > 0) close("nothing follows the list")
  return groups
}

const evidenceProblems = (line: string, { decisions, titlesOf }: Evidence): ReadonlyArray<string> => {
  if (!line.startsWith("Tests: ")) {
    const label = LABEL.exec(line)
    if (label === null) return [`is neither tests nor a closed label with a reason: ${line}`]
    const rows = [...(label.groups?.["rows"] ?? "").matchAll(/"([^"]+)"/g)].map(([, row = ""]) => row)
    return rows.flatMap((row) => (decisions.has(row) ? [] : [`no decision has the row "${row}"`]))
  }
  const named = [...line.matchAll(NAMED_TEST)].map(({ groups }) => ({
    file: groups?.["file"] ?? "",
    title: groups?.["title"] ?? ""
  }))
  if (line.replaceAll(NAMED_TEST, "").replaceAll(", ", "") !== "Tests: .")
    return [`is not a list of tests: ${line}`]
  return named.flatMap(({ file, title }) => {
    const titles = titlesOf(file)
    if (titles === undefined) return [`no file ${file}`]
    return titles.has(title) ? [] : [`${file} has no test "${title}"`]
  })
}

const keyOf = ({ heading, text }: ContractSentence): string => `${heading}: ${text}`

/** How often each sentence occurs. */
const countsOf = (sentences: ReadonlyArray<ContractSentence>): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  for (const sentence of sentences) counts.set(keyOf(sentence), (counts.get(keyOf(sentence)) ?? 0) + 1)
  return counts
}

/** What is wrong with the page, one sentence each. */
export const sentenceProblems = (
  contract: string,
  page: string,
  evidence: Evidence
): ReadonlyArray<string> => {
  const groups = groupsOf(page)
  const expected = countsOf(sentencesOf(contract))
  const listed = countsOf(groups.flatMap(({ sentences }) => sentences))
  const labels = groups.filter((group) => group.evidence.startsWith("Label: "))
  const labelled = labels.reduce((count, { sentences }) => count + sentences.length, 0)
  return [
    ...[...expected].flatMap(([key, count]) =>
      (listed.get(key) ?? 0) < count ? [`is missing: ${key}`] : []
    ),
    ...[...listed].flatMap(([key, count]) => {
      const times = expected.get(key) ?? 0
      return times === 0
        ? [`is not in the contract: ${key}`]
        : count > times
          ? [`is listed twice: ${key}`]
          : []
    }),
    ...groups.flatMap((group) => {
      if (group.sentences.length === 0) return [`belongs to no sentence: ${group.evidence}`]
      return evidenceProblems(group.evidence, evidence)
    }),
    ...(labelled > MAX_LABELS ? [`${labelled} sentences have a label, more than ${MAX_LABELS}`] : [])
  ]
}
