/**
 * Refusals of the kernel in the output of a failed tool call, by the words that programs print. Pure.
 *
 * Does not: know what refused. Outside of a confinement, the same words have other causes.
 */
import type { KernelRefusal } from "@corral/domain/run/Confinement"
import { draft } from "@corral/domain/run/RunEvent"
import type { AdapterEvent } from "@corral/domain/run/RuntimeAdapter"

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
