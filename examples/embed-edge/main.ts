/**
 * Embedded Edge without a server: starts one run of the scripted runtime and prints its events on stdout.
 * Start it from the root of the repository: `node examples/embed-edge/main.ts`.
 */
import { CreateRun } from "@corral/domain/run/Run"
import * as Edge from "@corral/edge/Edge"
import { EdgeConfig, makeEdgeConfig } from "@corral/edge/config/EdgeConfig"
import { runLines } from "@corral/edge/log/EdgeLogSource"
import { EdgeEventLog } from "@corral/edge/log/EdgeEventLog"
import { RunSupervisor } from "@corral/edge/run/RunSupervisor"
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Layer, Schema, Stream } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const home = mkdtempSync(join(tmpdir(), "corral-"))
const workspaces = [{ id: "here", path: import.meta.dirname }]
const edge = Layer.provide(
  Edge.edgeCoreLayer,
  Layer.succeed(EdgeConfig, makeEdgeConfig({ home, workspaces }))
)

const program = Effect.gen(function* () {
  const runs = yield* RunSupervisor
  const log = yield* EdgeEventLog
  const input = { text: "/say Hello\n/list" }
  const request = { workspace: "here", agentId: "scripted", mode: "read_only", input }
  const run = yield* runs.start(yield* Schema.decodeUnknownEffect(CreateRun)(request))
  yield* runLines(log, run.id, 0).pipe(Stream.runForEach((lines) => Console.log(lines.join("\n"))))
})

program.pipe(
  Effect.provide(edge),
  Effect.ensuring(Effect.sync(() => rmSync(home, { recursive: true }))),
  NodeRuntime.runMain
)
