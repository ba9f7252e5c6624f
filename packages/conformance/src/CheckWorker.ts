/** Thread of `checkModule`: imports an adapter's module and runs the checks on it, one message before and after each. */
import type { RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { parentPort, workerData } from "node:worker_threads"
import { type ConformanceOptions, planChecks } from "./Conformance.ts"
import type { Recording } from "./Replay.ts"
import { type Finding, thrownMessage } from "./Rules.ts"

export interface CheckWorkerData {
  /** URL of the module. */
  readonly module: string
  readonly recordings: ReadonlyArray<Recording>
  readonly options: ConformanceOptions
}

/** `check` is the position of a check. */
export type CheckMessage =
  | { readonly _tag: "Unloadable"; readonly message: string }
  | { readonly _tag: "Started"; readonly check: number }
  | { readonly _tag: "Checked"; readonly check: number; readonly findings: ReadonlyArray<Finding> }

const { module, options, recordings }: CheckWorkerData = workerData
const port = parentPort
const post = (message: CheckMessage): void => port?.postMessage(message)

const run = async (): Promise<void> => {
  const exports: Readonly<Record<string, unknown>> = await import(module)
  const adapter = (exports["default"] ?? exports["adapter"]) as RuntimeAdapter // every check begins with the adapter's shape
  for (const [check, { findings }] of planChecks(recordings, options).entries()) {
    post({ _tag: "Started", check })
    post({ _tag: "Checked", check, findings: findings(adapter) })
  }
}

run().catch((cause: unknown) => post({ _tag: "Unloadable", message: thrownMessage(cause) }))
