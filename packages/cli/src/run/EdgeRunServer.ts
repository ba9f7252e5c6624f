/** Run server of the local Edge. It follows the Edge to another address after a restart. */
import type { CreateRun } from "@corral/domain/run/Run"
import {
  type RunServer,
  type ServerCall,
  isHubStatus,
  sendChangesDecision,
  textRequest
} from "./RunServer.ts"
import { Effect, Option, Schedule, Stream } from "effect"
import { randomUUID } from "node:crypto"
import { type CommandFailed, refused } from "../CommandFailed.ts"
import { type connectToChosenEdge, connectToEdge, type EdgeApiClient } from "../edge/EdgeClient.ts"
import { type EdgeEndpoint, locateEdge } from "../edge/EdgeLocation.ts"
import type { EdgeChoice } from "../Flags.ts"
import { readAllPages } from "../AllPages.ts"

type Use = <A>(call: (calls: EdgeApiClient) => ServerCall<A>) => ServerCall<A>

/** Calls the Edge, which may have another address after a restart. A call that did not reach it is sent again, to the new address. */
const edgeCalls = Effect.fnUntraced(function* (choice: EdgeChoice) {
  const services = yield* Effect.context<Effect.Services<ReturnType<typeof connectToChosenEdge>>>()
  const locate = Effect.provideContext(locateEdge(choice), services)
  const connect = (endpoint: EdgeEndpoint) =>
    Effect.map(Effect.provideContext(connectToEdge(endpoint), services), (calls) => ({ ...endpoint, calls }))
  const first = yield* Effect.flatMap(locate, connect)
  let edge = first
  const use: Use = (call) =>
    Effect.suspend(() => {
      const used = edge
      const again = (failure: CommandFailed) =>
        Effect.gen(function* () {
          const current = yield* Effect.mapError(locate, () => failure)
          if (current.url === used.url) return yield* failure
          edge = yield* connect(current)
          return yield* call(edge.calls)
        })
      return Effect.catchIf(call(used.calls), ({ unreachable }) => unreachable === true, again)
    })
  return { url: first.url, locate, use }
})

/** Creates a run. Retries are safe because the idempotency key is the same. */
const createRun = Effect.fnUntraced(function* (use: Use, payload: CreateRun, key: string) {
  const headers = { "idempotency-key": key }
  return yield* use((calls) => calls.runs.create({ headers, payload })).pipe(
    Effect.retry({
      times: 3,
      while: ({ unreachable, code }) => unreachable === true || code === "idempotency_in_flight",
      schedule: Schedule.spaced("200 millis")
    })
  )
})

/** Fails with `unreachable` if no Edge is running. */
export const edgeRunServer = Effect.fn("EdgeRunServer.open")(function* (choice: EdgeChoice) {
  const { locate, url: firstUrl, use } = yield* edgeCalls(choice)
  const { tokenFile, url } = choice
  const file = Option.isSome(tokenFile) ? ` --token-file '${tokenFile.value.replaceAll("'", "'\\''")}'` : ""
  return {
    named: `${Option.isSome(url) ? ` --url ${firstUrl}` : ""}${file}`,
    stream: Effect.map(locate, (current) => ({ ...current, service: "Edge" as const })),
    carriesOutPlans: false,
    start: ({ key = randomUUID(), target, queue, ...payload }) =>
      target !== undefined || queue
        ? Effect.fail(refused("--target and --queue need a Hub. Select it with --hub or --project."))
        : Effect.map(createRun(use, payload, key), ({ id }) => id),
    naming: () => Effect.succeed((user) => user),
    run: (id) => use((calls) => calls.runs.get({ params: { id } })),
    runs: ({ state, ...page }) =>
      state !== undefined && isHubStatus(state)
        ? Effect.succeed({ items: [], nextCursor: null })
        : use((calls) => calls.runs.list({ query: { ...page, ...(state === undefined ? {} : { state }) } })),
    approvals: Effect.map(
      readAllPages((query) =>
        use((calls) => calls.permissions.list({ query: { ...query, state: "pending" } }))
      ),
      ({ items }) => items
    ),
    choices: Effect.gen(function* () {
      const agents = yield* use((calls) => calls.agents.list())
      const workspaces = yield* use((calls) => calls.workspaces.list())
      return {
        agents: agents.items.filter(({ available }) => available).map(({ id }) => id),
        workspaces: workspaces.items.filter(({ available }) => available).map(({ id }) => id)
      }
    }),
    send: (id, text) => {
      const request = textRequest(id, text)
      return Effect.asVoid(use((calls) => calls.runs.input(request)))
    },
    finish: (id) => use((calls) => calls.runs.finish({ params: { id } })),
    cancel: (id) => use((calls) => calls.runs.cancel({ params: { id } })),
    pause: (id) => use((calls) => calls.runs.pause({ params: { id } })),
    resume: (id) => use((calls) => calls.runs.resume({ params: { id } })),
    decide: Effect.fnUntraced(function* (id, decision) {
      const { runId } = yield* use((calls) => calls.permissions.get({ params: { id } }))
      const headers = { "idempotency-key": randomUUID() }
      const payload = { runId, approvalId: id, ...decision }
      return yield* use((calls) => calls.permissions.decide({ headers, payload }))
    }),
    inputs: Effect.map(
      readAllPages((query) => use((calls) => calls.inputs.list({ query: { ...query, state: "pending" } }))),
      ({ items }) => items
    ),
    input: (id) => use((calls) => calls.inputs.get({ params: { id } })),
    answer: Effect.fnUntraced(function* (id, answer) {
      const { runId } = yield* use((calls) => calls.inputs.get({ params: { id } }))
      const headers = { "idempotency-key": randomUUID() }
      const payload = { runId, inputId: id, ...answer }
      return yield* use((calls) => calls.inputs.answer({ headers, payload }))
    }),
    diff: (id) => readAllPages((query) => use((calls) => calls.diffs.diff({ params: { id }, query }))),
    changes: (id) => readAllPages((query) => use((calls) => calls.changes.get({ params: { id }, query }))),
    changedFile: (id, fileId) =>
      readAllPages((query) => use((calls) => calls.changes.file({ params: { id, fileId }, query }))),
    decideChanges: (id, decision) => {
      const key = randomUUID()
      return use((calls) => sendChangesDecision(calls.changes, id, decision, key))
    },
    artifacts: (id) =>
      Effect.map(
        readAllPages((query) => use((calls) => calls.artifacts.list({ params: { id }, query }))),
        ({ items }) => items
      ),
    content: (_, id) =>
      Effect.map(
        use((calls) => calls.artifacts.content({ params: { id } })),
        Stream.mapError(() => refused("The download of the artifact was interrupted. Try again."))
      )
  } satisfies RunServer
})
