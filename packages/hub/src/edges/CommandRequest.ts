/**
 * Request to send one command to an Edge. Also its result, as far as the Hub can tell.
 */
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import type { DeviceId, RunId } from "@corral/domain/identity/Ids"
import type { CommandId, CommandName, CommandOutcome, CommandPayload } from "@corral/domain/link/EdgeCommand"
import { fingerprintOf } from "@corral/service/http/IdempotentRequest"
import { Effect, Option } from "effect"

// Result of a command to an Edge, as far as the Hub can tell.

/**
 * `NotSent`: withdrawn before it was sent, so it never happens. `Waits`: a durable command that is not sent yet. `Unknown`: sent without an
 * answer, so the Edge may have executed it.
 */
export type CommandResult =
  | { readonly _tag: "Answered"; readonly outcome: CommandOutcome }
  | { readonly _tag: "NotSent" }
  | { readonly _tag: "Waits" }
  | { readonly _tag: "Unknown" }

export const CommandResult = {
  answered: (outcome: CommandOutcome): CommandResult => ({ _tag: "Answered", outcome }),
  notSent: { _tag: "NotSent" } as CommandResult,
  waits: { _tag: "Waits" } as CommandResult,
  unknown: { _tag: "Unknown" } as CommandResult
}

/** Sentence for callers of a command with an unknown outcome. */
export const OUTCOME_UNKNOWN_MESSAGE =
  "The device did not answer. It may have executed the request. Check the run's events."

/** Value of the metric label `outcome`. */
export const outcomeLabel = (result: CommandResult): string => {
  switch (result._tag) {
    case "Answered":
      return result.outcome._tag === "Done" ? "done" : "refused"
    case "NotSent":
      return "not_sent"
    case "Waits":
      return "waits"
    case "Unknown":
      return "unknown"
  }
}

export interface CommandRequest<N extends CommandName = CommandName> {
  /** Run that must still exist: the command is not written after the run was withdrawn. */
  readonly requiredRun?: RunId
  /** A request with the same id is the same command, and its answer is stored. Absent: a new command. */
  readonly id?: CommandId
  /** The command waits for the device without a time limit, with or without a caller. Needs an `id`. */
  readonly isDurable?: boolean
  /** Runs once the command is written, so that later requests get a later position. */
  readonly onWritten?: Effect.Effect<void>
  readonly targetId: DeviceId
  readonly name: N
  readonly payload: CommandPayload<N>
  /** Milliseconds to wait for the answer. A command that is not sent within 10 s of them is withdrawn. */
  readonly answerTimeoutMs: number
}

/** The id under which a run is started: a repeated request is the same start. */
export const startCommandId = (runId: RunId): CommandId => `start.${runId}` as CommandId

/** The run that a command starts, by the id of the command. */
export const startedRunOf = (id: CommandId): RunId | undefined =>
  id.startsWith("start.") ? (id.slice("start.".length) as RunId) : undefined

/** The id under which an input is sent. A fingerprint consists of characters that ids allow. */
export const inputCommandId = (key: string): CommandId => `input.${fingerprintOf(key)}` as CommandId

/** The id under which a preset is changed. */
export const presetCommandId = (key: string): CommandId => `preset.${fingerprintOf(key)}` as CommandId

/** The id under which changes are decided. */
export const changesCommandId = (key: string): CommandId => `changes.${fingerprintOf(key)}` as CommandId

/** Whether a repetition does no harm, so that a late answer is of no use. */
export const isReadCommand = (name: CommandName): boolean =>
  name.startsWith("Read") || name.startsWith("List") || name === "FindFiles" || name === "OpenPreview"

/** The command as JSON, with the id of the HTTP request behind it. */
export const encodeCommand = Effect.fnUntraced(function* (
  id: CommandId,
  { name, payload }: Pick<CommandRequest, "name" | "payload">,
  traceparent: string | undefined
) {
  const requestId = yield* Effect.serviceOption(CurrentRequestId)
  return JSON.stringify({
    name,
    commandId: id,
    ...(Option.isSome(requestId) ? { requestId: requestId.value } : {}),
    ...(traceparent === undefined ? {} : { traceparent }),
    payload
  })
})
