/**
 * Checks of an adapter's module in a thread, each with a time limit.
 *
 * Guarantees: a module that blocks, exits or uses too much memory is a finding. Nothing of it runs in the caller's thread.
 */
import { existsSync } from "node:fs"
import { fileURLToPath, pathToFileURL } from "node:url"
import { Worker } from "node:worker_threads"
import type { CheckMessage, CheckWorkerData } from "./CheckWorker.ts"
import { type ConformanceOptions, planChecks } from "./Conformance.ts"
import type { Recording } from "./Replay.ts"
import type { Finding } from "./Rules.ts"

export interface ModuleCheck extends ConformanceOptions {
  /** The module, whose default export or export `adapter` is the adapter. */
  readonly module: string | URL
  readonly recordings: ReadonlyArray<Recording>
  /** Limit of the import and of each check. Default: 60 seconds. */
  readonly limitMs?: number | undefined
}

/** Findings of one check, by its name. */
export interface CheckedFindings {
  readonly name: string
  readonly findings: ReadonlyArray<Finding>
}

const LIMIT_MS = 60_000
const MAX_HEAP_MEGABYTES = 512

/** Next to this file, and `checks.cjs` next to the entry in a build. */
const workerFile = (): URL => {
  const built = new URL("./checks.cjs", import.meta.url)
  return existsSync(fileURLToPath(built)) ? built : new URL("./CheckWorker.ts", import.meta.url)
}

const urlOf = (module: string | URL): string =>
  typeof module === "string" ? pathToFileURL(module).href : module.href

/** Findings of every check, in order. A check that does not end is the last one. */
export const checkModule = ({
  limitMs = LIMIT_MS,
  module,
  recordings,
  ...options
}: ModuleCheck): Promise<ReadonlyArray<CheckedFindings>> => {
  const names = planChecks(recordings).map(({ name }) => name)
  const data: CheckWorkerData = { module: urlOf(module), recordings, options }
  const worker = new Worker(workerFile(), {
    workerData: data,
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MEGABYTES }
  })
  const { promise, resolve } = Promise.withResolvers<ReadonlyArray<CheckedFindings>>()
  const checked: Array<CheckedFindings> = []
  let running = -1
  let isFinished = false
  const finish = (rule: Finding["rule"], message: string) => {
    // The exit of the worker follows the finding that it caused.
    if (isFinished) return
    isFinished = true
    if (checked.length < names.length)
      checked.push({ name: names[running] ?? "is imported", findings: [{ rule, message }] })
    clearTimeout(timer)
    void worker.terminate()
    resolve(checked)
  }
  const late = () => finish("blocks", `it does not return within ${limitMs / 1_000} seconds`)
  let timer = setTimeout(late, limitMs)
  worker.on("message", (message: CheckMessage) => {
    clearTimeout(timer)
    if (message._tag === "Unloadable") return finish("throws", `importing it fails: ${message.message}`)
    running = message.check
    timer = setTimeout(late, limitMs)
    if (message._tag === "Started") return
    checked.push({ name: names[message.check] ?? "", findings: message.findings })
    if (checked.length === names.length) finish("throws", "")
  })
  worker.on("error", ({ message }) => finish("throws", message))
  worker.on("exit", () => finish("throws", "it ends the process"))
  return promise
}
