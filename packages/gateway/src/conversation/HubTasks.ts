/**
 * Calls to the Hub for tasks of a conversation. The idempotency keys follow from the event, so a retry of an event repeats no step.
 */
import type { RunId, SessionId } from "@corral/domain/identity/Ids"
import type { Task } from "@corral/domain/task/Task"
import { Effect } from "effect"
import type { WorkLocation } from "../action/ButtonMeaning.ts"
import { Hub } from "../hub/Hub.ts"
import { HubRefused } from "../hub/HubFailures.ts"
import type { LocalizedText } from "../platform/LocalizedText.ts"
import type { Conversation, PendingTask } from "./Conversations.ts"
import * as phrases from "./Phrases.ts"
import type { Responder } from "./Responder.ts"
import { WorkLocations } from "./WorkLocations.ts"

const TITLE_MAX = 80

const sessionTitle = (text: string): string => {
  const line = text.split("\n", 1)[0]?.trim() ?? ""
  const title = Array.from(line).slice(0, TITLE_MAX).join("").toWellFormed()
  return title === "" ? "Chat" : title
}

/** The latest task of a conversation, if the Hub still shows it to the account. */
export const latestTask = Effect.fn("HubTasks.latestTask")(function* (
  { account }: Responder,
  { task }: Conversation
) {
  if (task === undefined) return undefined
  const hub = yield* Hub
  return yield* Effect.catchTag(
    hub.as(account, ({ tasks }) => tasks.get({ params: { id: task.id } })),
    "HubRefused",
    () => Effect.undefined
  )
})

/** Sends a message to a run in progress; returns the answer. */
export const sendToRun = Effect.fn("HubTasks.sendToRun")(function* (
  { account }: Responder,
  runId: RunId | undefined,
  { key, text }: PendingTask
) {
  if (runId === undefined) return phrases.agentIsBusy
  const hub = yield* Hub
  return yield* hub
    .as(account, ({ runs }) =>
      runs.input({ params: { id: runId }, headers: { "idempotency-key": key }, payload: { text } })
    )
    .pipe(
      Effect.as(phrases.sentToAgent),
      Effect.catchTag("HubRefused", (refused): Effect.Effect<LocalizedText, HubRefused> =>
        refused.code === "conflict" ? Effect.succeed(phrases.agentIsBusy) : Effect.fail(refused)
      )
    )
})

/** The conversation's session, or a new one: for a fresh start, and in another project. */
export const sessionFor = Effect.fn("HubTasks.sessionFor")(function* (
  { account }: Responder,
  { session }: Conversation,
  { projectId }: WorkLocation,
  { fresh, key, text }: PendingTask
) {
  if (!fresh && session?.projectId === projectId) return session.id
  const hub = yield* Hub
  const created = yield* hub.as(account, ({ sessions }) =>
    sessions.create({
      headers: { "idempotency-key": key },
      payload: { projectId, title: sessionTitle(text) }
    })
  )
  return created.id
})

/** The run to resume: the latest one, if it ran at the same location and its agent can resume. */
export const resumableRun = Effect.fn("HubTasks.resumableRun")(function* (
  { account }: Responder,
  latest: Task | undefined,
  location: WorkLocation
) {
  if (latest?.runId === undefined || latest.state === "failed") return undefined
  const { agentId, targetId, workspace } = latest
  if (agentId !== location.agentId || targetId !== location.targetId || workspace !== location.workspace)
    return undefined
  const agents = yield* (yield* WorkLocations).agents(account, location)
  const canResume = agents.find(({ id }) => id === agentId)?.capabilities.resume === true
  return canResume ? latest.runId : undefined
})

/** Creates a task. If the Hub cannot resume the run, the task starts without it. */
export const createTask = Effect.fn("HubTasks.createTask")(function* (
  { account }: Responder,
  { agentId, projectId, targetId, workspace }: WorkLocation,
  { key, text }: PendingTask,
  sessionId: SessionId,
  resume: RunId | undefined
) {
  const hub = yield* Hub
  const create = (idempotencyKey: string, resumed: RunId | undefined) =>
    hub.as(account, ({ tasks }) =>
      tasks.create({
        headers: { "idempotency-key": idempotencyKey },
        payload: {
          projectId,
          targetId,
          workspace,
          agentId,
          input: { text },
          // A chat never starts a run with fewer questions.
          mode: "ask",
          sessionId,
          ...(resumed === undefined ? {} : { resume: resumed })
        }
      })
    )
  if (resume === undefined) return yield* create(key, undefined)
  return yield* create(key, resume).pipe(
    Effect.catchIf(
      (error) => error instanceof HubRefused && error.code === "schema_validation_failed",
      () => create(`${key}:fresh`.slice(0, 255), undefined)
    )
  )
})
