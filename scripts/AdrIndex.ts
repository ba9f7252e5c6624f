/**
 * Index of the decision records, by subject, with what each amends: `docs/adr/README.md`.
 *
 * Guarantees: each record has one subject. A record says in its status what it changes, replaces, completes, extends or adds to; that the earlier one
 * was amended follows.
 */
import { globSync, readFileSync } from "node:fs"
import { basename, join } from "node:path"
import { fileURLToPath } from "node:url"

const folder = fileURLToPath(new URL("../docs/adr", import.meta.url))

/** Numbers of the records of each subject, in the order in which to read them. */
export const subjects: Readonly<Record<string, ReadonlyArray<number>>> = {
  "Language, tools and tests": [1, 5, 6, 36, 40, 68, 147, 48, 119],
  "Events and their store": [3, 4, 2, 59, 41, 74, 117, 134, 115, 118, 105, 12, 29],
  "Processes of runs": [11, 72, 133, 73, 78, 69, 71, 16, 111, 94],
  "Workspaces and their changes": [8, 101, 14, 102, 106, 130, 142, 131, 132, 140, 141],
  "Turns and questions": [95, 96, 52, 54, 109, 99, 123, 126, 138],
  Confinement: [60, 61, 62, 63, 64, 103, 104, 65, 66, 67, 70, 77, 116],
  "Approvals, policy and secrets": [9, 26, 27, 100, 28, 30, 120, 143, 107, 122],
  "Agents and adapters": [13, 127, 15, 35, 31, 32, 47, 58, 97, 98, 129, 135, 145],
  "Streams, previews and telemetry": [7, 10, 24, 23],
  "Services and packages": [17, 37, 110, 46, 25, 39, 125, 44, 45, 42, 43],
  "People and devices at the Hub": [18, 33, 20, 51, 55, 53, 83, 128, 136],
  "Work and data of the Hub": [
    19, 75, 76, 38, 139, 112, 121, 80, 81, 86, 144, 146, 113, 114, 108, 91, 92, 90, 93
  ],
  Chat: [21, 22, 34, 57, 56]
}

export interface DecisionRecord {
  readonly number: number
  readonly file: string
  readonly title: string
  /** Numbers of the earlier records that its status names as changed by it. */
  readonly amends: ReadonlyArray<number>
  /** Numbers of the later records that its status names as changing it. */
  readonly amendedBy: ReadonlyArray<number>
}

const numbersIn = (text: string): ReadonlyArray<number> =>
  [...text.matchAll(/\]\((\d{4})-[\w-]+\.md\)/g)].map(([, number]) => Number(number))

const AMENDS = /^(?:Changes|Replaces|Completes|Extends|Adds to)\b/
const AMENDED = /^(?:Changed|Added to) by\b/

export const recordOf = (file: string, text: string): DecisionRecord => {
  const title = /^# \d+\. (.*)$/m.exec(text)?.[1] ?? file
  const status = (/^Status: [^]*?(?=\n\n)/m.exec(text)?.[0] ?? "").replaceAll("\n", " ")
  // A point within a file name ends no sentence.
  const sentences = status.split(/(?<=\.) (?=[A-Z[])/)
  const named = (verb: RegExp) => sentences.filter((each) => verb.test(each)).flatMap(numbersIn)
  return { number: Number(file.slice(0, 4)), file, title, amends: named(AMENDS), amendedBy: named(AMENDED) }
}

export const records = (): ReadonlyArray<DecisionRecord> =>
  globSync("[0-9]*.md", { cwd: folder })
    .toSorted()
    .map((file) => recordOf(basename(file), readFileSync(join(folder, file), "utf8")))

const page = `# Decision records

An architecture decision record (ADR) states one decision: its context, the decision, its measurements and rejected alternatives if there are any, and its consequences.
Its title says what was decided. All are accepted, and from November 2026. A later record that changes an earlier one says so in its status, and the earlier one names it.
`

const after = `
A new record is \`docs/adr/<next number>-<subject>.md\` with the sections *Context*, *Decision*, *Measurements*, *Alternatives* and *Consequences*. Omit *Measurements* or
*Alternatives* if there are none. Describe the decision as it is now, in the [words of the glossary](../concepts.md). Add its number to a subject in \`scripts/AdrIndex.ts\`, then
\`npm run generate\`: the index is generated.
`

/** Records without a subject, with several, and subjects of records that are not there. */
export const misplaced = (all: ReadonlyArray<DecisionRecord>): ReadonlyArray<number> => {
  const placed = Object.values(subjects).flat()
  const numbers = all.map(({ number }) => number)
  const isOnce = (number: number) => placed.filter((each) => each === number).length === 1
  return [
    ...numbers.filter((number) => !isOnce(number)),
    ...placed.filter((number) => !numbers.includes(number))
  ]
}

export const adrIndex = (all: ReadonlyArray<DecisionRecord> = records()): string => {
  const wrong = misplaced(all)
  if (wrong.length > 0)
    throw new Error(`Give each ADR one subject in scripts/AdrIndex.ts: ${wrong.join(", ")}`)
  const byNumber = new Map(all.map((record) => [record.number, record]))
  const link = (number: number): string => `[${number}](${byNumber.get(number)?.file ?? ""})`
  const rowOf = ({ amends, file, number, title }: DecisionRecord): string => {
    const later = all.filter((record) => record.amends.includes(number))
    const linked = (numbers: ReadonlyArray<number>): string => numbers.map(link).join(", ")
    return `| [${number}. ${title}](${file}) | ${linked(amends)} | ${linked(later.map((each) => each.number))} |`
  }
  const sections = Object.entries(subjects).map(([subject, numbers]) => {
    const rows = numbers.flatMap((number) => byNumber.get(number) ?? []).map(rowOf)
    return `\n## ${subject}\n\n| Decision | amends | amended by |\n|---|---|---|\n${rows.join("\n")}\n`
  })
  return page + sections.join("") + after
}
