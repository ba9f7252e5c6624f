/** Comparison of outputs: with each other, and with the expected outputs of a recording. */
import type { AdapterOutput } from "@corral/domain/run/RuntimeAdapter"
import { isDeepStrictEqual } from "node:util"
import { type Finding, findingsOf } from "./Rules.ts"

const short = (value: unknown): string => {
  const text = JSON.stringify(value) ?? "nothing"
  return text.length > 300 ? `${text.slice(0, 300)}…` : text
}

/** A clause about the first output that differs; empty if none does. */
export const differences = (
  name: string,
  actual: ReadonlyArray<AdapterOutput>,
  expected: ReadonlyArray<AdapterOutput>
): ReadonlyArray<string> => {
  for (let at = 0; at < Math.max(actual.length, expected.length); at++) {
    const [a, b] = [actual[at], expected[at]]
    if (!isDeepStrictEqual(a, b)) return [`${name}: output ${at} is ${short(a)}, not ${short(b)}`]
  }
  return []
}

/** How often each output occurs, as JSON. */
const counted = (outputs: ReadonlyArray<string>): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  for (const output of outputs) counts.set(output, (counts.get(output) ?? 0) + 1)
  return counts
}

/** What differs from the expected outputs: lost ones, repeated ones, changed ones, or their order. */
export const goldenFindings = (
  outputs: ReadonlyArray<AdapterOutput>,
  golden: ReadonlyArray<unknown> | undefined
): ReadonlyArray<Finding> => {
  if (golden === undefined) return []
  const actual = outputs.map((output) => JSON.stringify(output))
  const expected = golden.map((output) => JSON.stringify(output))
  const [has, wants] = [counted(actual), counted(expected)]
  const lost = [...wants]
    .filter(([output, count]) => (has.get(output) ?? 0) < count)
    .map(([output]) => output)
  const more = [...has]
    .filter(([output, count]) => count > (wants.get(output) ?? 0))
    .map(([output]) => output)
  const repeated = more.filter((output) => wants.has(output))
  const added = more.filter((output) => !wants.has(output))
  if (lost.length > 0 && added.length > 0)
    return findingsOf("changed-output", [
      `an output is ${added[0]?.slice(0, 300)}, not ${lost[0]?.slice(0, 300)}`
    ])
  const at = actual.findIndex((output, index) => output !== expected[index])
  const isReordered = lost.length + more.length === 0 && at !== -1
  return [
    ...findingsOf(
      "lost-output",
      lost.slice(0, 1).map((output) => `there is no output ${output.slice(0, 300)}`)
    ),
    ...findingsOf(
      "repeated-output",
      repeated.slice(0, 1).map((output) => `more than once: ${output.slice(0, 300)}`)
    ),
    ...findingsOf(
      "changed-output",
      added.slice(0, 1).map((output) => `an output was not expected: ${output.slice(0, 300)}`)
    ),
    ...findingsOf(
      "order",
      isReordered ? [`output ${at} is ${actual[at]?.slice(0, 300)}, not ${expected[at]?.slice(0, 300)}`] : []
    )
  ]
}
