/**
 * Failures of programs that ended without a result, with the end of their stderr, and for confined runs with what the confinement may have
 * to do with it. Pure.
 *
 * Does not: know why the program ended. The same words have other causes.
 */
import type { ConfinedHint } from "@corral/domain/run/ConfinementText"
import type { RunFailure } from "@corral/domain/run/Run"
import type { ProcessEnd } from "@corral/domain/run/RuntimeAdapter"
import { refusalIn } from "./KernelRefusals.ts"

/** Characters of stderr in the details. */
const MAX_WORDS = 2_000
/** A shell that does not find a program, or may not start it. */
const NOT_STARTED: ReadonlyArray<number | null> = [126, 127]
/** Reasons of adapters that do not name a cause. */
const UNEXPLAINED: ReadonlyArray<unknown> = [
  undefined,
  "crashed",
  "no_result",
  "exit_code",
  "not_startable",
  "runtime_error"
]

const MISSING = [
  "No such file or directory",
  "ENOENT",
  "Cannot find module",
  "MODULE_NOT_FOUND",
  "not found",
  "does not exist"
]
const REFUSED_CALLS = ["Bad system call", "Function not implemented", "ENOSYS"]
const NETWORK = [
  "EAI_AGAIN",
  "ECONNREFUSED",
  "ENETUNREACH",
  "ENOTFOUND",
  "Could not resolve host",
  "Temporary failure in name resolution",
  "status code 403",
  "tunneling"
]

const hintOf = (words: string, code: number | null): ConfinedHint => {
  const hasOne = (texts: ReadonlyArray<string>) => texts.some((text) => words.includes(text))
  const isMissing = hasOne(MISSING)
  if (isMissing && words.includes("/tmp/")) return "temporary"
  if (hasOne(NETWORK)) return "network"
  if (isMissing) return "hidden"
  if (refusalIn(words) !== undefined || hasOne(REFUSED_CALLS)) return "refused"
  return NOT_STARTED.includes(code) ? "hidden" : "unknown"
}

/** The end of the text, from the beginning of a line if it has one. */
const lastLines = (text: string): string => {
  const trimmed = text.trim()
  if (trimmed.length <= MAX_WORDS) return trimmed
  const tail = trimmed.slice(-MAX_WORDS).toWellFormed()
  return tail.slice(tail.indexOf("\n") + 1)
}

/** The failure with what explains it. One whose adapter knows the cause has that. `end`: how the program ended. */
export const explainedFailure = (error: RunFailure, end: ProcessEnd, isConfined: boolean): RunFailure => {
  const { details = {} } = error
  if (!UNEXPLAINED.includes(details["reason"])) return error
  const words = lastLines(end.stderr)
  return {
    ...error,
    details: {
      ...details,
      ...(words === "" || details["said"] !== undefined ? {} : { said: words }),
      ...(isConfined && end.signal === null ? { confined: hintOf(words, end.code) } : {})
    }
  }
}
