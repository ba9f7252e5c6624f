/**
 * Embedded Edge with Effect: starts one run, allows what it asks for, and prints its events on stdout.
 * Start it from the root of the repository: `node examples/embed-edge-effect/main.ts`.
 */
import { EmbeddedEdge } from "@corral/edge/EmbeddedEdge"
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Stream } from "effect"

const program = Effect.gen(function* () {
  const edge = yield* EmbeddedEdge
  const { id } = yield* edge.start({
    workspace: "here",
    agentId: "scripted",
    input: { text: "/say Hello\n/list\n/shell echo from the shell" }
  })
  yield* Stream.runForEach(edge.events(id), (event) =>
    Effect.andThen(
      Console.log(JSON.stringify(event)),
      event.type === "run.approval.requested"
        ? edge.decide({ runId: id, approvalId: event.payload.approvalId, decision: "allow" })
        : Effect.void
    )
  )
})

const { HOME = "", PATH = "" } = process.env
const edge = EmbeddedEdge.layer({
  workspaces: [{ id: "here", path: import.meta.dirname }],
  environment: { HOME, PATH }
})
NodeRuntime.runMain(Effect.provide(program, edge))
