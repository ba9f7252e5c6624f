/** The part of a file in conflict that differs between its versions, so that a person need not search for it in whole files. Pure. */
import type { ConflictSides } from "@corral/domain/edge-api/ChangeSet"

export const sideNames = ["workspace", "change", "base"] as const
export type SideName = (typeof sideNames)[number]

export interface ConflictLine {
  readonly number: number
  readonly text: string
  /** Whether the base has no such line at this place. */
  readonly isOther: boolean
}

/** `undefined` for a version without text to show. */
export type ConflictRegion = { readonly [S in SideName]: ReadonlyArray<ConflictLine> | undefined }

/** Lines around the difference. */
const CONTEXT = 3
/** Most lines of a version. */
const MOST = 400

const linesOf = (text: string | undefined): ReadonlyArray<string> | undefined =>
  text === undefined ? undefined : text.replace(/\n$/, "").split("\n")

/** Lines at the start that all have. */
const commonStart = (versions: ReadonlyArray<ReadonlyArray<string>>): number => {
  const [first = [], ...others] = versions
  let count = 0
  while (
    count < first.length &&
    others.every((lines) => lines.length > count && lines[count] === first[count])
  )
    count++
  return count
}

export const conflictRegion = (sides: ConflictSides): ConflictRegion => {
  const versions = sideNames.map((name) => linesOf(sides[name]))
  const texts = versions.filter((lines) => lines !== undefined)
  const start = commonStart(texts)
  const end = commonStart(texts.map((lines) => lines.slice(start).toReversed()))
  const from = Math.max(0, start - CONTEXT)
  const base = new Set(linesOf(sides.base)?.slice(start))
  const region = (lines: ReadonlyArray<string> | undefined, name: SideName) =>
    lines
      ?.slice(from, Math.max(from, lines.length - end + CONTEXT))
      .slice(0, MOST)
      .map((text, at) => {
        const index = from + at
        const isChanged = index >= start && index < lines.length - end
        return { number: index + 1, text, isOther: name !== "base" && isChanged && !base.has(text) }
      })
  const [workspace, change, before] = versions
  return {
    workspace: region(workspace, "workspace"),
    change: region(change, "change"),
    base: region(before, "base")
  }
}
