/**
 * Follows a run to its end: shows its events and sees to its approvals. `run` and `attach` are this.
 */
import type { ApprovalId, RunId } from "@corral/domain/identity/Ids"
import { isTerminalType, type TerminalType } from "@corral/domain/run/RunEvent"
import { Deferred, Effect, Exit, Stream } from "effect"
import { openApprovalPrompt, type TerminalAnswer } from "./ApprovalPrompt.ts"
import { CommandFailed, exitCodes, exitWith, type ExitCode } from "../CommandFailed.ts"
import { envelopeOf, tail, type TailedEvent } from "./EventTail.ts"
import { Host, receiveSignal } from "../terminal/Host.ts"
import type { RunServer } from "./RunServer.ts"
import { Renderer } from "./Render.ts"
import { hasEnded } from "./RunStates.ts"

/** What to do about approvals: ask the person here, allow all, or wait for somebody elsewhere. */
export type Approving = "ask" | "allow" | "wait"

export interface FollowOptions {
  readonly place: RunServer
  readonly runId: RunId
  readonly after: number
  readonly json: boolean
  readonly approving: Approving
}

/** How a run that ended so ends the command. */
export const exitCodeForEnd = (ended: TerminalType): ExitCode =>
  ({
    "run.completed": exitCodes.completed,
    "run.failed": exitCodes.failed,
    "run.cancelled": exitCodes.cancelled
  })[ended]

/** Succeeds when the run completed; else stops with the exit code of its end. Nobody who reads it is no end of the run. */
export const followRun = (options: FollowOptions) =>
  Effect.raceFirst(followToEnd(options), leaveUnread(options.place, options.runId))

const leaveUnread = Effect.fnUntraced(function* (place: RunServer, runId: RunId) {
  const host = yield* Host
  const unread = yield* Deferred.make<void>()
  yield* receiveSignal("SIGPIPE", () => Deferred.doneUnsafe(unread, Exit.void))
  yield* Deferred.await(unread)
  // Where that cannot be learned it is left open.
  const state = yield* place.run(runId).pipe(
    Effect.map((run) => run.state),
    Effect.orElseSucceed(() => undefined)
  )
  const isOver = state !== undefined && hasEnded(state)
  return yield* new CommandFailed({
    message: isOver ? "" : `The output is no longer read. ${stillRunningMessage(host, place, runId)}`,
    exitCode: exitCodes.failed
  })
}, Effect.scoped)

/** What whoever leaves a run is told. */
export const stillRunningMessage = (
  { invocation }: Host["Service"],
  { named }: RunServer,
  runId: RunId
): string => `The run goes on. \`${invocation} cancel ${runId}${named}\` ends it.`

const followToEnd = Effect.fn("Follow.followToEnd")(function* (options: FollowOptions) {
  const { place, runId, after, json, approving } = options
  const host = yield* Host
  const renderer = new Renderer({ ...host, named: place.named })
  const decide = (approvalId: ApprovalId, answer: TerminalAnswer) =>
    sendDecision(host, place, approvalId, answer)
  const asking = approving === "ask" ? yield* openApprovalPrompt(decide) : undefined
  let ended: TerminalType | undefined

  const show = (event: TailedEvent): void => {
    const { type } = envelopeOf(event)
    if (isTerminalType(type)) ended = type
    const text = json ? `${event.text}\n` : renderer.render(event)
    if (text !== "") host.write(text)
  }

  const attend = Effect.fnUntraced(function* (event: TailedEvent) {
    const known = event.read._tag === "KnownEvent" ? event.read.event : undefined
    // A question goes away before its answer is shown, and comes after what it is about.
    if (known?.type === "run.approval.resolved")
      yield* asking?.settled(known.payload.approvalId) ?? Effect.void
    show(event)
    if (known?.type !== "run.approval.requested") return
    const { approvalId, request } = known.payload
    if (approving === "allow") yield* decide(approvalId, { decision: "allow", scope: "once" })
    else if (asking !== undefined) yield* asking.ask(approvalId, request)
  })

  yield* tail({
    endpoint: place.stream,
    runId,
    attach: `${host.invocation} attach ${runId}${place.named}`,
    after,
    onConnection: (state) =>
      host.warn(state === "lost" ? "The connection was lost; trying again.\n" : "Connected again.\n")
  }).pipe(Stream.runForEach(attend))

  yield* host.written
  // Nothing came after `after`: the run had ended before.
  const exitCode = ended === undefined ? yield* settledBefore(place, runId) : exitCodeForEnd(ended)
  if (exitCode !== exitCodes.completed) return yield* exitWith(exitCode)
}, Effect.scoped)

const settledBefore = Effect.fnUntraced(function* (place: RunServer, runId: RunId) {
  const { state } = yield* place.run(runId)
  switch (state) {
    case "completed":
    case "failed":
    case "cancelled":
      return exitCodeForEnd(`run.${state}`)
    default:
      return yield* new CommandFailed({
        message: "The stream ended before the run.",
        exitCode: exitCodes.failed
      })
  }
})

/** Sends a decision. That somebody was faster is no failure: the event stream tells what they decided. */
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
