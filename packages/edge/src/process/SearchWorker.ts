/** Program of the search thread: receives targets, and answers with what it found of each. */
import { parentPort } from "node:worker_threads"
import { findAllSurvivors, type MarkedProcesses, SeenProcesses } from "./MarkSearch.ts"

const seen = new SeenProcesses()
parentPort?.on("message", (targets: ReadonlyArray<MarkedProcesses>) =>
  parentPort?.postMessage(findAllSurvivors(targets, seen), [])
)
