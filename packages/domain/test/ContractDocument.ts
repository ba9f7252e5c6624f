/**
 * `docs/contract` as tables: what the contract tests compare the code with.
 */
import { assert } from "@effect/vitest"
import { readFileSync } from "node:fs"

const read = (name: string) =>
  readFileSync(new URL(`../../../docs/contract/${name}`, import.meta.url), "utf8").split("\n")

export const contract = read("CONTRACT.md")
export const decisions = read("DECISIONS.md")

const cells = (line: string) =>
  line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim())

/** Body rows of the table under a heading that starts so. */
export const table = (
  lines: ReadonlyArray<string>,
  heading: string
): ReadonlyArray<ReadonlyArray<string>> => {
  const start = lines.findIndex((line) => /^#+ /.test(line) && line.replace(/^#+ /, "").startsWith(heading))
  assert.isAtLeast(start, 0, `no heading ${heading}`)
  const first = lines.findIndex((line, i) => i > start && line.startsWith("|"))
  const end = lines.findIndex((line, i) => i > first && !line.startsWith("|"))
  const rows = lines.slice(first + 2, end === -1 ? undefined : end).map(cells)
  assert.isNotEmpty(rows, `no table under ${heading}`)
  return rows
}

export const column = (row: ReadonlyArray<string>, index: number): string =>
  row[index] ?? assert.fail(`no column ${index}`)

/** The text of a decision, whichever section it stands in. */
export const decision = (gap: string): string => {
  const row = decisions
    .filter((line) => line.startsWith("|"))
    .map(cells)
    .find((cells) => cells[0] === gap)
  return row === undefined ? assert.fail(`no decision on ${gap}`) : column(row, 1)
}

export const quoted = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? "")
export const words = (texts: ReadonlyArray<string>) =>
  [...new Set(texts.flatMap((text) => text.match(/[a-z_]+/g) ?? []))].toSorted()
export const sorted = (texts: Iterable<string>) => [...texts].toSorted()
