/**
 * Followed run, for `corral run` and `corral attach`: prints its events and answers its approvals until it ends.
 */
import type { ApprovalId, RunId } from "@corral/domain/identity/Ids"
import { envelopeOf } from "@corral/domain/run/EventSequence"
import type { RunEvent } from "@corral/domain/run/RunEvent"
import { isTerminalType, type TerminalType } from "@corral/domain/run/RunEnd"
import { Deferred, Effect, Exit, Stream } from "effect"
import { openApprovalPrompt, type TerminalAnswer } from "./ApprovalPrompt.ts"
import { CommandFailed, exitCodes, exitWith, type ExitCode } from "../CommandFailed.ts"
import { tail, type TailedEvent } from "./EventTail.ts"
import { Host, receiveSignal } from "../terminal/Host.ts"
import type { RunServer } from "./RunServer.ts"
import { Renderer } from "./Render.ts"
import { hasEnded } from "./RunStates.ts"

/** How approvals are answered: by the user at this terminal, by allowing all of them, or somewhere else. */
export type Approving = "ask" | "allow" | "wait"

export interface FollowOptions {
  readonly place: RunServer
  readonly runId: RunId
  readonly after: number
  readonly json: boolean
  readonly approving: Approving
}

/** Exit code of the command by the event that ended the run. */
const exitCodeForEnd = (ended: TerminalType): ExitCode =>
  ({
    "run.completed": exitCodes.completed,
    "run.failed": exitCodes.failed,
    "run.cancelled": exitCodes.cancelled
  })[ended]

/** Succeeds if the run completes. Otherwise fails with the exit code of its end. A closed output ends the command, not the run. */
export const followInTerminal = (options: FollowOptions) =>
  Effect.raceFirst(followToEnd(options), failOnClosedOutput(options.place, options.runId))

const failOnClosedOutput = Effect.fnUntraced(function* (place: RunServer, runId: RunId) {
  const host = yield* Host
  const closed = yield* Deferred.make<void>()
  yield* receiveSignal("SIGPIPE", () => Deferred.doneUnsafe(closed, Exit.void))
  yield* Deferred.await(closed)
  // If the state is not available, the run is assumed to be in progress.
  const state = yield* place.run(runId).pipe(
    Effect.map((run) => run.state),
    Effect.orElseSucceed(() => undefined)
  )
  const isOver = state !== undefined && hasEnded(state)
  return yield* new CommandFailed({
    message: isOver ? "" : `The output was closed. ${stillRunningMessage(host, place, runId)}`,
    exitCode: exitCodes.failed
  })
}, Effect.scoped)

/** Message to a user who stops following a run. */
export const stillRunningMessage = (
  { invocation }: Host["Service"],
  { named }: RunServer,
  runId: RunId
): string => `The run is still in progress. Cancel it: \`${invocation} cancel ${runId}${named}\``

const followToEnd = Effect.fn("Follow.followToEnd")(function* (options: FollowOptions) {
  const { place, runId, after, json, approving } = options
  const host = yield* Host
  // Read once, with the first decision.
  const naming = yield* Effect.cached(place.naming(runId))
  let nameOf = (user: string): string => user
  const renderer = new Renderer({ ...host, named: place.named, nameOf: (user) => nameOf(user) })
  const decide = (approvalId: ApprovalId, answer: TerminalAnswer) =>
    sendDecision(host, place, approvalId, answer)
  const prompt = approving === "ask" ? yield* openApprovalPrompt(decide) : undefined
  let end: TerminalType | undefined

  const show = (event: TailedEvent): void => {
    const { type } = envelopeOf(event.decoded)
    if (isTerminalType(type)) end = type
    const text = json ? `${event.text}\n` : renderer.render(event)
    if (text !== "") host.write(text)
  }

  const handle = Effect.fnUntraced(function* (event: TailedEvent) {
    const knownEvent = event.decoded._tag === "KnownEvent" ? event.decoded.event : undefined
    // A prompt disappears before its answer is shown, and appears after the action that it is about.
    if (knownEvent?.type === "run.approval.resolved") {
      yield* prompt?.settled(knownEvent.payload.approvalId) ?? Effect.void
    }
    if (!json && namesUser(knownEvent)) nameOf = yield* naming
    show(event)
    if (knownEvent?.type !== "run.approval.requested") return
    const { approvalId, request } = knownEvent.payload
    if (approving === "allow") yield* decide(approvalId, { decision: "allow", scope: "once" })
    else if (prompt !== undefined) yield* prompt.ask(approvalId, request)
  })

  yield* tail({
    endpoint: place.stream,
    runId,
    attach: `${host.invocation} attach ${runId}${place.named}`,
    after,
    onConnection: (state) =>
      host.warn(state === "lost" ? "Connection lost. Reconnecting.\n" : "Reconnected.\n"),
    onMissing: ({ from, to }) => host.warn(`Events ${from} to ${to} are missing from the stream.\n`)
  }).pipe(Stream.runForEach(handle))

  yield* host.written
  // Without an event after `after` the run had already ended.
  const exitCode = end === undefined ? yield* exitCodeOfEndedRun(place, runId) : exitCodeForEnd(end)
  if (exitCode !== exitCodes.completed) return yield* exitWith(exitCode)
}, Effect.scoped)

/** Whether the line of the event has the name of a user. */
const namesUser = (event: RunEvent | undefined): boolean =>
  (event?.type === "run.approval.resolved" ||
    event?.type === "run.paused" ||
    event?.type === "run.resumed") &&
  event.payload.by !== undefined

const exitCodeOfEndedRun = Effect.fnUntraced(function* (place: RunServer, runId: RunId) {
  const { state } = yield* place.run(runId)
  switch (state) {
    case "completed":
    case "failed":
    case "cancelled":
      return exitCodeForEnd(`run.${state}`)
    default:
      return yield* new CommandFailed({
        message: "The stream ended, but the run is still in progress. Attach to the run again.",
        exitCode: exitCodes.failed
      })
  }
})

/** Sends a decision. An earlier decision of another user is not a failure: the event stream shows it. */
const sendDecision = (
  host: Host["Service"],
  place: RunServer,
  id: ApprovalId,
  answer: TerminalAnswer
): Effect.Effect<void> =>
  place.decide(id, answer).pipe(
    Effect.catch(({ code, message }) =>
      Effect.sync(() => {
        if (code !== "approval_already_resolved" && code !== "approval_expired") host.warn(`${message}\n`)
      })
    ),
    Effect.asVoid
  )
