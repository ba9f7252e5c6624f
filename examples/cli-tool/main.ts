/**
 * Command-line tool with an Edge inside: runs an agent in the current folder, prints what it says, and asks in the terminal before the agent
 * writes or executes. Start it from the root of the repository: `node examples/cli-tool/main.ts --agent scripted "/shell ls"`.
 * With `--home`, the logs of runs are kept there. Without it, they are in memory.
 */
import { CreateRun, type Run } from "@corral/domain/run/Run"
import { decodeEvent } from "@corral/domain/run/RunEvent"
import { EdgeConfig, makeEdgeConfig } from "@corral/edge/config/EdgeConfig"
import * as Edge from "@corral/edge/Edge"
import { EdgeEventLog } from "@corral/edge/log/EdgeEventLog"
import { runLines } from "@corral/edge/log/EdgeLogSource"
import { RunSupervisor } from "@corral/edge/run/RunSupervisor"
import { EdgeStorage } from "@corral/edge/store/EdgeStorage"
import { Store } from "@corral/edge/store/Store"
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Layer, Result, Schema, Stream } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { createInterface } from "node:readline"
import { parseArgs } from "node:util"

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { agent: { type: "string", default: "scripted" }, home: { type: "string" } }
})
if (positionals.length === 0) {
  process.stderr.write("Usage: cli-tool [--agent ID] [--home FOLDER] PROMPT...\n")
  process.exit(2)
}
const { HOME = "", PATH = "" } = process.env
const home = values.home === undefined ? mkdtempSync(join(tmpdir(), "cli-tool-")) : resolve(values.home)
const config = makeEdgeConfig({
  home,
  workspaces: [{ id: "here", path: process.cwd() }],
  environment: { HOME, PATH }
})
const storage = values.home === undefined ? Layer.succeed(EdgeStorage, Store.layerMemory) : Layer.empty
const edge = Edge.edgeCoreLayer.pipe(Layer.provide(Layer.succeed(EdgeConfig, config)), Layer.provide(storage))

/** The answer of the person at the terminal; "no" at the end of its input. */
const confirm = (question: string) =>
  Effect.callback<boolean>((resume) => {
    const lines = createInterface({ input: process.stdin, output: process.stderr })
    let isAllowed = false
    lines.once("close", () => resume(Effect.succeed(isAllowed)))
    lines.question(`${question} [y/N] `, (answer) => {
      isAllowed = answer.trim().toLowerCase() === "y"
      lines.close()
    })
  })

const handleEvent = Effect.fn("handleEvent")(function* (run: Run, line: string) {
  const { decide } = yield* RunSupervisor
  const decoded = Result.getOrThrow(decodeEvent(JSON.parse(line)))
  if (decoded._tag !== "KnownEvent") return
  const { event } = decoded
  if (event.type === "run.message.completed") yield* Console.log(event.payload.text)
  if (event.type === "run.tool.result") yield* Console.log(event.payload.output)
  if (event.type === "run.failed") yield* Console.error(event.payload.error.message)
  if (event.type === "run.approval.requested") {
    const { approvalId, request } = event.payload
    const isAllowed = yield* confirm(`Allow? ${request.title}`)
    const answer = { decision: isAllowed ? "allow" : "deny", scope: "once" } as const
    yield* decide(run.id, approvalId, answer, { by: "local", origin: "terminal" })
  }
})

/** Runs the agent to its end. Succeeds with the state of the run. */
const runAgent = Effect.gen(function* () {
  const runs = yield* RunSupervisor
  const log = yield* EdgeEventLog
  const input = { text: positionals.join("\n") }
  const request = { workspace: "here", agentId: values.agent, mode: "ask", input }
  const run = yield* runs.start(yield* Schema.decodeUnknownEffect(CreateRun)(request))
  yield* runLines(log, run.id, 0).pipe(
    Stream.runForEach((lines) => Effect.forEach(lines, (line) => handleEvent(run, line), { discard: true }))
  )
  return (yield* runs.get(run.id)).state
})

runAgent.pipe(
  Effect.provide(edge),
  Effect.catch(({ message }) => Effect.as(Console.error(`cli-tool: ${message}`), "failed" as const)),
  Effect.map((state) => void (process.exitCode = state === "completed" ? 0 : 1)),
  Effect.ensuring(Effect.sync(() => values.home ?? rmSync(home, { recursive: true }))),
  NodeRuntime.runMain
)
