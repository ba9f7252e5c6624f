/** The Edge of this machine as a place of runs. */
import type { CreateRun } from "@corral/domain/run/Run"
import { isHubStatus } from "./RunStates.ts"
import { Effect, Option, Schedule, Stream } from "effect"
import { randomUUID } from "node:crypto"
import { CommandFailed, refused } from "../CommandFailed.ts"
import { asked, connectTo, type EdgeCalls } from "../edge/EdgeClient.ts"
import { locate } from "../edge/EdgeLocation.ts"
import type { EdgeChoice } from "../Flags.ts"
import { wholeList } from "../AllPages.ts"
import type { Place } from "./RunServer.ts"

/** Safe to be repeated: the key makes it one run however often it is sent. */
const create = Effect.fnUntraced(function* (calls: EdgeCalls, payload: CreateRun) {
  const headers = { "idempotency-key": randomUUID() }
  const answer = yield* asked(calls.runs.create({ headers, payload })).pipe(
    Effect.retry({
      times: 3,
      while: ({ unreachable, code }) => unreachable === true || code === "idempotency_in_flight",
      schedule: Schedule.spaced("200 millis")
    }),
    Effect.catch((refusal) => Effect.flatMap(choices(calls, refusal), Effect.fail))
  )
  return answer.body
})

/** A refusal of an unknown agent or workspace, with those that there are. */
const choices = (calls: EdgeCalls, refusal: CommandFailed): Effect.Effect<CommandFailed> => {
  const withList =
    (what: string) =>
    ({ items }: { readonly items: ReadonlyArray<{ readonly id: string }> }) =>
      new CommandFailed({
        ...refusal,
        message: `${refusal.message} ${what}: ${items.map(({ id }) => id).join(", ") || "none"}.`
      })
  switch (refusal.code) {
    case "invalid_agent_id":
      return asked(calls.agents.list()).pipe(
        Effect.map(withList("There are")),
        Effect.orElseSucceed(() => refusal)
      )
    case "workspace_outside_allowlist":
      return asked(calls.workspaces.list()).pipe(
        Effect.map(withList("Allowed are")),
        Effect.orElseSucceed(() => refusal)
      )
    default:
      return Effect.succeed(refusal)
  }
}

/** Fails as unreachable where none runs. */
export const edgePlace = Effect.fn("EdgePlace.edgePlace")(function* (choice: EdgeChoice) {
  const located = yield* locate(choice)
  const calls = yield* connectTo(located)
  const services = yield* Effect.context<Effect.Services<ReturnType<typeof locate>>>()
  const again = Effect.provideContext(locate(choice), services)
  const { tokenFile, url } = choice
  const file = Option.isSome(tokenFile) ? ` --token-file '${tokenFile.value.replaceAll("'", "'\\''")}'` : ""
  return {
    named: `${Option.isSome(url) ? ` --url ${located.url}` : ""}${file}`,
    stream: Effect.map(again, (endpoint) => ({ ...endpoint, service: "Edge" as const })),
    start: ({ target, queue, ...payload }) =>
      target !== undefined || queue
        ? Effect.fail(refused("--target and --queue are for a Hub: name it with --hub or --project."))
        : Effect.map(create(calls, payload), ({ id }) => id),
    run: (id) => asked(calls.runs.get({ params: { id } })),
    runs: ({ state, limit }) =>
      state !== undefined && isHubStatus(state)
        ? Effect.succeed({ items: [], nextCursor: null })
        : asked(calls.runs.list({ query: { limit, ...(state === undefined ? {} : { state }) } })),
    cancel: (id) => asked(calls.runs.cancel({ params: { id } })),
    decide: Effect.fnUntraced(function* (id, decided) {
      const { runId } = yield* asked(calls.permissions.get({ params: { id } }))
      const headers = { "idempotency-key": randomUUID() }
      return yield* asked(
        calls.permissions.decide({ headers, payload: { runId, approvalId: id, ...decided } })
      )
    }),
    diff: (id) => wholeList((query) => asked(calls.diffs.diff({ params: { id }, query }))),
    artifacts: (id) =>
      Effect.map(
        wholeList((query) => asked(calls.artifacts.list({ params: { id }, query }))),
        ({ items }) => items
      ),
    content: (_, id) =>
      Effect.map(
        asked(calls.artifacts.content({ params: { id } })),
        Stream.mapError(() => refused("The artifact broke off: try again."))
      )
  } satisfies Place
})
