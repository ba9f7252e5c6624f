/** Run server of the local Edge. */
import type { CreateRun } from "@corral/domain/run/Run"
import { type RunServer, isHubStatus, sendChangesDecision, textRequest } from "./RunServer.ts"
import { Effect, Option, Schedule, Stream } from "effect"
import { randomUUID } from "node:crypto"
import { refused } from "../CommandFailed.ts"
import { connectToEdge, type EdgeApiClient } from "../edge/EdgeClient.ts"
import { locateEdge } from "../edge/EdgeLocation.ts"
import type { EdgeChoice } from "../Flags.ts"
import { readAllPages } from "../AllPages.ts"

/** Creates a run. Retries are safe because the idempotency key is the same. */
const createRun = Effect.fnUntraced(function* (calls: EdgeApiClient, payload: CreateRun, key: string) {
  const headers = { "idempotency-key": key }
  return yield* calls.runs.create({ headers, payload }).pipe(
    Effect.retry({
      times: 3,
      while: ({ unreachable, code }) => unreachable === true || code === "idempotency_in_flight",
      schedule: Schedule.spaced("200 millis")
    })
  )
})

/** Fails with `unreachable` if no Edge is running. */
export const edgeRunServer = Effect.fn("EdgeRunServer.open")(function* (choice: EdgeChoice) {
  const endpoint = yield* locateEdge(choice)
  const calls = yield* connectToEdge(endpoint)
  const services = yield* Effect.context<Effect.Services<ReturnType<typeof locateEdge>>>()
  const locateAgain = Effect.provideContext(locateEdge(choice), services)
  const { tokenFile, url } = choice
  const file = Option.isSome(tokenFile) ? ` --token-file '${tokenFile.value.replaceAll("'", "'\\''")}'` : ""
  return {
    named: `${Option.isSome(url) ? ` --url ${endpoint.url}` : ""}${file}`,
    stream: Effect.map(locateAgain, (current) => ({ ...current, service: "Edge" as const })),
    carriesOutPlans: false,
    start: ({ key = randomUUID(), target, queue, ...payload }) =>
      target !== undefined || queue
        ? Effect.fail(refused("--target and --queue need a Hub. Select it with --hub or --project."))
        : Effect.map(createRun(calls, payload, key), ({ id }) => id),
    naming: () => Effect.succeed((user) => user),
    run: (id) => calls.runs.get({ params: { id } }),
    runs: ({ state, ...page }) =>
      state !== undefined && isHubStatus(state)
        ? Effect.succeed({ items: [], nextCursor: null })
        : calls.runs.list({ query: { ...page, ...(state === undefined ? {} : { state }) } }),
    approvals: Effect.map(
      readAllPages((query) => calls.permissions.list({ query: { ...query, state: "pending" } })),
      ({ items }) => items
    ),
    choices: Effect.gen(function* () {
      const agents = yield* calls.agents.list()
      const workspaces = yield* calls.workspaces.list()
      return {
        agents: agents.items.filter(({ available }) => available).map(({ id }) => id),
        workspaces: workspaces.items.filter(({ available }) => available).map(({ id }) => id)
      }
    }),
    send: (id, text) => Effect.asVoid(calls.runs.input(textRequest(id, text))),
    finish: (id) => calls.runs.finish({ params: { id } }),
    cancel: (id) => calls.runs.cancel({ params: { id } }),
    pause: (id) => calls.runs.pause({ params: { id } }),
    resume: (id) => calls.runs.resume({ params: { id } }),
    decide: Effect.fnUntraced(function* (id, decision) {
      const { runId } = yield* calls.permissions.get({ params: { id } })
      const headers = { "idempotency-key": randomUUID() }
      return yield* calls.permissions.decide({ headers, payload: { runId, approvalId: id, ...decision } })
    }),
    inputs: Effect.map(
      readAllPages((query) => calls.inputs.list({ query: { ...query, state: "pending" } })),
      ({ items }) => items
    ),
    input: (id) => calls.inputs.get({ params: { id } }),
    answer: Effect.fnUntraced(function* (id, answer) {
      const { runId } = yield* calls.inputs.get({ params: { id } })
      const headers = { "idempotency-key": randomUUID() }
      return yield* calls.inputs.answer({ headers, payload: { runId, inputId: id, ...answer } })
    }),
    diff: (id) => readAllPages((query) => calls.diffs.diff({ params: { id }, query })),
    changes: (id) => readAllPages((query) => calls.changes.get({ params: { id }, query })),
    changedFile: (id, fileId) =>
      readAllPages((query) => calls.changes.file({ params: { id, fileId }, query })),
    decideChanges: (id, decision) => sendChangesDecision(calls.changes, id, decision),
    artifacts: (id) =>
      Effect.map(
        readAllPages((query) => calls.artifacts.list({ params: { id }, query })),
        ({ items }) => items
      ),
    content: (_, id) =>
      Effect.map(
        calls.artifacts.content({ params: { id } }),
        Stream.mapError(() => refused("The download of the artifact was interrupted. Try again."))
      )
  } satisfies RunServer
})
