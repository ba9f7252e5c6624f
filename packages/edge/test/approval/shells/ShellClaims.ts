/** What the policy claims of a line, compared with what a shell did with it. */
import { basename, posix } from "node:path"
import type { ParsedSegment } from "../../../src/approval/ParsedSegment.ts"
import { inFolder, segmentsOf } from "../../../src/approval/ShellCommand.ts"
import { policyOf, shell } from "../RunPolicies.ts"
import type { Recording } from "./ShellRecorder.ts"

const policy = policyOf()

/** Whether the policy claims to know all that a line does: a decision about it could be remembered. */
export const isKnown = (line: string): boolean =>
  policy.assess(shell(line)).needs !== undefined || segmentsOf(line).every(isFolderChange)

/** A line that only changes its folder needs no grant. */
const isFolderChange = ({ exact, opaque, words }: ParsedSegment): boolean =>
  exact && opaque === undefined && words[0] === "cd"

const ranAs = (folder: string, [program = "", ...args]: ReadonlyArray<string>): string =>
  JSON.stringify([posix.normalize(folder), basename(program), ...args])

const plainPath = (folder: string, file: string): string => inFolder(folder, file).replace(/(.)\/$/, "$1")

/** What a shell did with a line beyond the claim. */
export const beyondClaim = (line: string, { ran, read, written }: Recording): ReadonlyArray<string> => {
  const segments = segmentsOf(line)
  const programs = new Set<string>()
  const writes = new Set(["/dev/null"])
  const reads = new Set<string>()
  for (const { cwd = ".", inner, input = "", words, writes: files } of segments) {
    programs.add(ranAs(cwd, words)).add(ranAs(cwd, inner))
    for (const { file } of files) writes.add(plainPath(cwd, file))
    for (const text of input.split("\n")) if (text.startsWith("< ")) reads.add(plainPath(cwd, text.slice(2)))
  }
  return [
    ...ran.map(({ folder, words }) => ranAs(folder, words)).filter((program) => !programs.has(program)),
    ...written.filter((file) => !writes.has(file)).map((file) => `writes ${file}`),
    ...read.filter((file) => !reads.has(file) && !writes.has(file)).map((file) => `reads ${file}`)
  ]
}
