/** Program of the search thread: receives targets, and answers with what it found of each. */
import { parentPort } from "node:worker_threads"
import { findAllSurvivors, type MarkedProcesses } from "./MarkSearch.ts"

parentPort?.on("message", (targets: ReadonlyArray<MarkedProcesses>) =>
  parentPort?.postMessage(findAllSurvivors(targets), [])
)
