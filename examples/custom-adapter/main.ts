/**
 * Embedded Edge with a custom adapter: starts one run, allows its approval, and prints its events on stdout.
 * Start it from the root of the repository: `node examples/custom-adapter/main.ts`.
 */
import { CreateRun } from "@corral/domain/run/Run"
import { decodeEvent } from "@corral/domain/run/RunEvent"
import * as Edge from "@corral/edge/Edge"
import { EdgeConfig, makeEdgeConfig } from "@corral/edge/config/EdgeConfig"
import { runLines } from "@corral/edge/log/EdgeLogSource"
import { EdgeEventLog } from "@corral/edge/log/EdgeEventLog"
import { RunSupervisor } from "@corral/edge/run/RunSupervisor"
import { RuntimeRegistry } from "@corral/edge/runtime/RuntimeRegistry"
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Layer, Result, Schema, Stream } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { makeDeployer } from "./Deployer.ts"

const home = mkdtempSync(join(tmpdir(), "corral-"))
const deployer = makeDeployer(process.execPath, join(import.meta.dirname, "deployer.mjs"))
const workspaces = [{ id: "here", path: import.meta.dirname }]
const edge = Edge.edgeCoreLayer.pipe(
  Layer.provide(Layer.succeed(EdgeConfig, makeEdgeConfig({ home, workspaces }))),
  Layer.provide(Layer.succeed(RuntimeRegistry, new Map([[deployer.id, deployer]])))
)

const program = Effect.gen(function* () {
  const runs = yield* RunSupervisor
  const log = yield* EdgeEventLog
  const request = { workspace: "here", agentId: "deployer", mode: "ask", input: { text: "the website" } }
  const run = yield* runs.start(yield* Schema.decodeUnknownEffect(CreateRun)(request))

  /** Allows each request. A real program would ask a person. */
  const allow = (text: string) => {
    const event = Result.getOrThrow(decodeEvent(JSON.parse(text)))
    if (event._tag !== "KnownEvent" || event.event.type !== "run.approval.requested") return Effect.void
    const answer = { decision: "allow", scope: "once" } as const
    return runs.decide(run.id, event.event.payload.approvalId, answer, { by: "local", origin: "terminal" })
  }
  const handle = (text: string) => Effect.andThen(Console.log(text), allow(text))
  yield* runLines(log, run.id, 0).pipe(
    Stream.runForEach((lines) => Effect.forEach(lines, handle, { discard: true }))
  )
})

program.pipe(
  Effect.provide(edge),
  Effect.ensuring(Effect.sync(() => rmSync(home, { recursive: true }))),
  NodeRuntime.runMain
)
