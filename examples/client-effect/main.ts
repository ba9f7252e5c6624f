/**
 * Client of a running Edge, with Effect: starts a run, follows it, allows what it asks for, and prints its diff. Start it from the root of the
 * repository: `CORRAL_EDGE_URL=… CORRAL_EDGE_TOKEN_FILE=… node examples/client-effect/main.ts WORKSPACE PROMPT`.
 */
import { EdgeEffects } from "@corral/client/effect/EdgeEffects"
import { AgentId, WorkspaceId } from "@corral/domain/identity/Ids"
import type { SequencedEvent } from "@corral/domain/run/EventSequence"
import { Config, Console, Effect, Layer, Redacted, Stream } from "effect"
import { readFileSync } from "node:fs"

const [workspace = "here", text = "/write hello.txt hi"] = process.argv.slice(2)

const handle = Effect.fnUntraced(function* ({ decoded }: SequencedEvent) {
  if (decoded._tag === "UnknownEvent") return
  const { payload, runId, type } = decoded.event
  yield* Console.log(type)
  if (type !== "run.approval.requested") return
  const edge = yield* EdgeEffects
  // Someone else can decide first.
  yield* edge.permissions
    .decide({ payload: { runId, approvalId: payload.approvalId, decision: "allow" } })
    .pipe(Effect.catchTag("ApprovalAlreadyResolved", () => Effect.void))
})

const program = Effect.gen(function* () {
  const edge = yield* EdgeEffects
  const { id } = yield* edge.runs.create({
    payload: {
      workspace: WorkspaceId.make(workspace),
      agentId: AgentId.make("scripted"),
      mode: "ask",
      input: { text }
    }
  })
  yield* Stream.runForEach(edge.runEvents(id), handle)
  const { items } = yield* edge.diffs.diff({ params: { id } })
  for (const { additions, deletions, path } of items)
    yield* Console.log(`${path} +${additions} -${deletions}`)
})

const edge = Layer.unwrap(
  Effect.gen(function* () {
    const url = yield* Config.String("CORRAL_EDGE_URL")
    const token = readFileSync(yield* Config.String("CORRAL_EDGE_TOKEN_FILE"), "utf8").trim()
    return EdgeEffects.layer({ url, token: Redacted.make(token) })
  })
)

await Effect.runPromise(Effect.provide(program, edge))
