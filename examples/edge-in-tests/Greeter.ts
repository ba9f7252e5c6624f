/** Code of an application that uses an Edge: an agent writes a greeting into a file of the workspace. */
import { CreateRun } from "@corral/domain/run/Run"
import { RunSupervisor } from "@corral/edge/run/RunSupervisor"
import { Effect, Schema } from "effect"

/** Succeeds with the ended run. */
export const writeGreeting = Effect.fn("writeGreeting")(function* (workspace: string, name: string) {
  const runs = yield* RunSupervisor
  const input = { text: `/write greeting.txt Hello ${name}` }
  const request = { workspace, agentId: "scripted", mode: "ask", input }
  const { id } = yield* runs.start(yield* Schema.decodeUnknownEffect(CreateRun)(request))
  return yield* runs.result(id, 20_000)
})
