/**
 * Unified diff from a diff with a line number before each line: ` 1 same`, `-2 before`, `+2 after`, `   ...` between parts.
 */
import { unifiedDiff, type Hunk } from "../text/UnifiedDiff.ts"

const LINE = /^([ +-]) *(\d+)/

interface Part {
  oldStart: number
  newStart: number
  oldLines: number
  newLines: number
  readonly lines: Array<string>
}

/** Hunk that begins with a line. `shift`: number of lines that the new file has more, so far. */
const beginPart = (sign: string, number: number, shift: number): Part => ({
  oldStart: sign === "+" ? number - shift : number,
  newStart: sign === "+" ? number : number + shift,
  oldLines: 0,
  newLines: 0,
  lines: []
})

const hunksOf = (text: string): ReadonlyArray<Hunk> => {
  const parts: Array<Part> = []
  let part: Part | undefined
  let shift = 0
  for (const line of text.split("\n")) {
    const [head = "", sign = "", number = ""] = LINE.exec(line) ?? []
    const content = line.slice(head.length + 1)
    if (sign === "") {
      part = undefined
      continue
    }
    if (part === undefined) parts.push((part = beginPart(sign, Number(number), shift)))
    part.lines.push(sign + content)
    if (sign !== "+") part.oldLines++
    if (sign !== "-") part.newLines++
    if (sign === "+") shift++
    if (sign === "-") shift--
  }
  // A hunk without lines on one side starts at the line before it.
  return parts.map((one) => ({
    ...one,
    oldStart: one.oldLines === 0 ? Math.max(0, one.oldStart - 1) : one.oldStart,
    newStart: one.newLines === 0 ? Math.max(0, one.newStart - 1) : one.newStart
  }))
}

/** The patch of one file; `undefined` if no line is added or removed. */
export const patchOfNumbered = (text: string, path: string): string | undefined => {
  const hunks = hunksOf(text)
  const changes = hunks.some(({ lines }) => lines.some((line) => !line.startsWith(" ")))
  return changes ? unifiedDiff(path, hunks, false) : undefined
}
