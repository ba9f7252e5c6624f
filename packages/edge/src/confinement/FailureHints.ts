/**
 * Failures that the confinement of a run may have to do with, by the words that programs print: refusals of the kernel in the output of a failed
 * tool call, and the end of a program without a result, which its failure tells with the last words of stderr. Pure.
 *
 * Does not: know what refused, or why the program ended. The same words have other causes, also outside of a confinement.
 */
import type { KernelRefusal } from "@corral/domain/run/Confinement"
import type { ConfinedHint } from "@corral/domain/run/ConfinementText"
import type { RunFailure } from "@corral/domain/run/Run"
import { draft } from "@corral/domain/run/RunEvent"
import type { AdapterEvent, ProcessEnd } from "@corral/domain/run/RuntimeAdapter"

/** Characters that are read at each end of an output. */
const READ = 8_192

/** Git prints it and succeeds, for example if a new branch has no upstream. */
const GIT_SETTINGS = "could not write config file"

/** A protected file or folder of a run is a mount, which is busy for a program that replaces or renames it. */
const words: ReadonlyArray<readonly [KernelRefusal, ReadonlyArray<string>]> = [
  ["write", ["Read-only file system", "read-only file system", "EROFS", "Device or resource busy", "EBUSY"]],
  ["access", ["ermission denied", "peration not permitted", "EACCES", "EPERM"]]
]

export const refusalIn = (output: string): KernelRefusal | undefined => {
  const read = output.length <= 2 * READ ? output : `${output.slice(0, READ)}\n${output.slice(-READ)}`
  return words.find(([, each]) => each.some((word) => read.includes(word)))?.[0]
}

/** The event with a hint, if its call failed, or a part of it did, and its output has one. */
export const withRefusal = (event: AdapterEvent): AdapterEvent => {
  if (event.type !== "run.tool.result") return event
  const { exitCode = 0, output, status } = event.payload
  if (output === undefined) return event
  if (status !== "failed" && exitCode === 0 && !output.includes(GIT_SETTINGS)) return event
  const kernelRefusal = refusalIn(output)
  return kernelRefusal === undefined ? event : draft(event.type, { ...event.payload, kernelRefusal })
}

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
