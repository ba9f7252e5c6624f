/**
 * Followed run, for `corral run` and `corral attach`: prints its events, and asks about its approvals and questions until it ends.
 *
 * Guarantees: only a person answers a question. A flag that allows every action answers none.
 */
import type { ApprovalId, InputRequestId, RunId } from "@corral/domain/identity/Ids"
import type { InputAnswer, InputRequest, RequestedInput } from "@corral/domain/input/InputRequest"
import { envelopeOf } from "@corral/domain/run/EventSequence"
import type { RunEvent } from "@corral/domain/run/RunEvent"
import { isTerminalType, type TerminalType } from "@corral/domain/run/RunEnd"
import type { RunMode } from "@corral/domain/approval/RunMode"
import { Deferred, Effect, Exit, Fiber, FiberSet, Schedule, Stream } from "effect"
import { carryOutPlan } from "./CarryOutPlan.ts"
import { promptInput } from "../question/AnswerDraft.ts"
import { askApproval, type TerminalAnswer } from "./ApprovalBlock.ts"
import { CommandFailed, exitCodes, exitWith, type ExitCode } from "../CommandFailed.ts"
import { tail, type TailedEvent } from "./EventTail.ts"
import { Host, receiveSignal } from "../terminal/Host.ts"
import { openPromptQueue } from "../terminal/Prompts.ts"
import { type RunServer, hasEnded } from "./RunServer.ts"
import { Renderer } from "./Render.ts"

export interface FollowOptions {
  readonly place: RunServer
  readonly runId: RunId
  readonly after: number
  readonly json: boolean
  /** Whether all approvals are allowed. */
  readonly allowsAll?: boolean
  /** Whether the user at this terminal is asked. Otherwise approvals and questions wait for an answer elsewhere. */
  readonly asks: boolean
}

/** Exit code of the command by the event that ended the run. */
const exitCodeForEnd = (ended: TerminalType): ExitCode =>
  ({
    "run.completed": exitCodes.completed,
    "run.failed": exitCodes.failed,
    "run.cancelled": exitCodes.cancelled
  })[ended]

/**
 * Follows the run, and the run that carries its plan out if the plan was approved here. Succeeds if the last one completes. Otherwise fails
 * with the exit code of its end. A closed output ends the command, not the run.
 */
export const followInTerminal = (options: FollowOptions) =>
  Effect.raceFirst(followWithPlans(options), failOnClosedOutput(options.place, options.runId))

const followWithPlans = Effect.fnUntraced(function* (options: FollowOptions) {
  let next: FollowOptions | undefined = options
  while (next !== undefined) {
    const approved: InputRequest | undefined = yield* followToEnd(next)
    const runId: RunId | undefined =
      approved === undefined ? undefined : yield* carryOutPlan(options.place, approved)
    next = runId === undefined ? undefined : { ...options, runId, after: 0 }
  }
})

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

/** Succeeds with the plan that was approved here. */
const followToEnd = Effect.fn("Follow.followToEnd")(function* (options: FollowOptions) {
  const { place, runId, after, json } = options
  const host = yield* Host
  // Read once, with the first decision.
  const naming = yield* Effect.cached(place.naming(runId))
  let nameOf = (user: string): string => user
  const renderer = new Renderer({ ...host, named: place.named, nameOf: (user) => nameOf(user) })
  const prompts = yield* terminalPrompts(options)
  let end: TerminalType | undefined

  const show = (event: TailedEvent): void => {
    const { type } = envelopeOf(event.decoded)
    if (isTerminalType(type)) end = type
    const text = json ? `${event.text}\n` : renderer.render(event)
    if (text === "") return
    // Streamed text has no end yet.
    if (text.endsWith("\n")) prompts.around(() => host.write(text))
    else host.write(text)
  }

  const handle = Effect.fnUntraced(function* (event: TailedEvent) {
    const knownEvent = event.decoded._tag === "KnownEvent" ? event.decoded.event : undefined
    // A prompt disappears before its answer is shown, and appears after the action that it is about.
    if (knownEvent !== undefined) yield* prompts.withdraw(knownEvent)
    if (!json && namesUser(knownEvent)) nameOf = yield* naming
    show(event)
    if (knownEvent !== undefined) yield* prompts.ask(knownEvent)
  })

  yield* tail({
    endpoint: place.stream,
    runId,
    attach: `${host.invocation} attach ${runId}${place.named}`,
    after,
    onConnection: (state) =>
      prompts.around(() =>
        host.warn(state === "lost" ? "Connection lost. Reconnecting.\n" : "Reconnected.\n")
      ),
    onMissing: ({ from, to }) =>
      prompts.around(() => host.warn(`Events ${from} to ${to} are missing from the stream.\n`))
  }).pipe(Stream.runForEach(handle))

  yield* host.written
  // Without an event after `after` the run had already ended.
  const exitCode = end === undefined ? yield* exitCodeOfEndedRun(place, runId) : exitCodeForEnd(end)
  if (exitCode !== exitCodes.completed) return yield* exitWith(exitCode)
  return yield* prompts.approvedPlan
}, Effect.scoped)

interface TerminalPrompts {
  /** Prints whole lines, also while a prompt is open. */
  readonly around: (print: () => void) => void
  readonly ask: (event: RunEvent) => Effect.Effect<void>
  readonly withdraw: (event: RunEvent) => Effect.Effect<void>
  /** The plan that was approved at this terminal, once the service has accepted it. */
  readonly approvedPlan: Effect.Effect<InputRequest | undefined>
}

/** Prompts for the approvals and questions of a run. */
const terminalPrompts = Effect.fnUntraced(function* ({ allowsAll, asks, place, runId }: FollowOptions) {
  const host = yield* Host
  const queue = asks ? yield* openPromptQueue : undefined
  /** Answers on their way: the run can end before the response. */
  const answering = yield* FiberSet.make<boolean>()
  let approvedPlan: InputRequest | undefined
  const mode = yield* Effect.cached(
    place.run(runId).pipe(
      Effect.map((run): RunMode => run.mode),
      Effect.orElseSucceed((): RunMode => "ask")
    )
  )
  const decide = (id: ApprovalId, answer: TerminalAnswer) => sendDecision(host, place, id, answer)
  /** Whether the question is still open for this person. */
  const answerInput = (id: InputRequestId, answer: InputAnswer): Effect.Effect<boolean> =>
    sendAnswer(host, place, id, answer).pipe(
      Effect.map((outcome) => {
        if (outcome !== "open" && outcome?.approved === true) approvedPlan = outcome
        return outcome === "open"
      }),
      // Not interrupted when the events withdraw the prompt.
      (sending) => FiberSet.run(answering, sending),
      Effect.flatMap(Fiber.join)
    )
  const askInput = (id: InputRequestId, request: RequestedInput) =>
    Effect.flatMap(mode, (runMode) => promptInput(host, request, runMode, queue?.area)).pipe(
      Effect.flatMap((answer) => answerInput(id, answer)),
      Effect.repeat({ while: (isOpen: boolean) => isOpen }),
      Effect.asVoid
    )
  /** Decisions that no person makes. They are sent until the service has one. */
  const deciding = yield* FiberSet.make<void>()
  return {
    around: (print) => (queue === undefined ? print() : queue.area.around(print)),
    approvedPlan: Effect.map(FiberSet.awaitEmpty(answering), () => approvedPlan),
    ask: (event) => {
      if (event.type === "run.approval.requested") {
        const { approvalId, request } = event.payload
        if (allowsAll === true) return Effect.asVoid(FiberSet.run(deciding, allow(host, place, approvalId)))
        if (queue !== undefined)
          return askApproval(queue, host, approvalId, request, (answer) => decide(approvalId, answer))
      }
      if (event.type !== "run.input.requested" || queue === undefined) return Effect.void
      const { inputId, request } = event.payload
      return queue.ask(inputId, askInput(inputId, request))
    },
    withdraw: (event) => {
      if (event.type === "run.approval.resolved")
        return queue?.withdraw(event.payload.approvalId) ?? Effect.void
      if (event.type === "run.input.resolved") return queue?.withdraw(event.payload.inputId) ?? Effect.void
      return Effect.void
    }
  } satisfies TerminalPrompts
})

/** Whether the line of the event has the name of a user. */
const namesUser = (event: RunEvent | undefined): boolean =>
  (event?.type === "run.approval.resolved" ||
    event?.type === "run.input.resolved" ||
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

/** Whether a decision or an answer still counts: `open` if it did not arrive, so the person is asked again. */
type Sent<A> = A | "open"

/** Shows why a decision was refused. An earlier decision of another user is not a failure: the event stream shows it. */
const showRefusal = (host: Host["Service"], { code, message }: CommandFailed): void => {
  if (code !== "approval_already_resolved" && code !== "approval_expired") host.warn(`${message}\n`)
}

const sendDecision = (
  host: Host["Service"],
  place: RunServer,
  id: ApprovalId,
  answer: TerminalAnswer
): Effect.Effect<Sent<"settled">> =>
  Effect.match(place.decide(id, answer), {
    onSuccess: () => "settled",
    onFailure: (refusal) => {
      showRefusal(host, refusal)
      return refusal.isTransient === true ? "open" : "settled"
    }
  })

const SEND_AGAIN = Schedule.spaced("1 second")

/** Allows an approval as soon as the service takes the decision. */
const allow = (host: Host["Service"], place: RunServer, id: ApprovalId): Effect.Effect<void> =>
  place
    .decide(id, { decision: "allow", scope: "once" })
    .pipe(
      Effect.retry({ schedule: SEND_AGAIN, while: ({ isTransient }) => isTransient === true }),
      Effect.match({ onSuccess: () => undefined, onFailure: (refusal) => showRefusal(host, refusal) })
    )

/** Sends an answer. An earlier answer of another user is not a failure: the event stream shows it. */
const sendAnswer = (
  host: Host["Service"],
  place: RunServer,
  id: InputRequestId,
  answer: InputAnswer
): Effect.Effect<Sent<InputRequest | undefined>> =>
  place.answer(id, answer).pipe(
    Effect.catch(({ code, isTransient, message }) =>
      Effect.sync(() => {
        if (code === "input_already_resolved") return undefined
        host.warn(`${message}\n`)
        if (isTransient === true) return "open"
        // The question stays open.
        if (code !== "input_expired")
          host.warn(`Answer again: \`${host.invocation} answer ${id}${place.named}\`\n`)
        return undefined
      })
    )
  )
