/**
 * A conversation as the chat uses it: a session at a Hub, or runs of an Edge that continue each other.
 *
 * The chat depends on this interface only. `HubThread.ts` and `EdgeThread.ts` implement it.
 */
import type { RunId } from "@corral/domain/identity/Ids"
import type { InputRequest } from "@corral/domain/input/InputRequest"
import type { SequencedEvent } from "@corral/domain/run/EventSequence"
import type { RunLimits } from "@corral/domain/run/Budget"
import type { RunMode } from "@corral/domain/run/Run"
import type { Effect } from "effect"
import type { LocalFile, NamedFile } from "../attachment/LocalFile.ts"
import type { CommandFailed } from "../CommandFailed.ts"
import type { RunServer } from "../run/RunServer.ts"

/** `queued`: the service has the message, and no run has it. `waiting`: only this terminal has it. */
export type ThreadMessageState =
  | "queued"
  | "waiting"
  | "delivered"
  | "failed"
  | "withdrawn"
  | "note"
  | "answer"

export interface ThreadMessage {
  readonly id: string
  /** Increases with each change of the message. */
  readonly version: number
  /** Name of the user or the agent; `undefined` for the user of this terminal. */
  readonly author: string | undefined
  readonly text: string
  readonly files: ReadonlyArray<NamedFile>
  readonly state: ThreadMessageState
  /** Whether it is held after a stop or an error, until the user continues. */
  readonly isHeld: boolean
  /** Whether it is further input to a run in progress. */
  readonly isInput: boolean
  readonly runId: RunId | undefined
  /** Why it failed. */
  readonly problem: string | undefined
  /** Whether the agent received earlier turns as a text, because it does not remember them. */
  readonly hasTranscript: boolean
}

export type ThreadUpdate =
  | { readonly kind: "connection"; readonly state: "lost" | "live" }
  | { readonly kind: "message"; readonly message: ThreadMessage }
  /** A run of the conversation, before its events. */
  | { readonly kind: "turn"; readonly runId: RunId; readonly agent: string }
  | { readonly kind: "event"; readonly runId: RunId; readonly event: SequencedEvent }
  /** The events of a run have ended, or can no longer be read. */
  | {
      readonly kind: "ended"
      readonly runId: RunId
      readonly problem: string | undefined
      readonly code?: CommandFailed["code"]
    }
  | { readonly kind: "notice"; readonly text: string }

export interface OutgoingMessage {
  /** Idempotency key: the same message is sent again with the same key. */
  readonly key: string
  readonly text: string
  readonly files: ReadonlyArray<LocalFile>
  readonly isInput: boolean
  readonly mode: RunMode | undefined
  readonly model: string | undefined
  /** Limits of its turn, besides the agent's. */
  readonly limits?: RunLimits
  /** Text for an agent that does not remember the conversation. */
  readonly textWithoutMemory?: string
}

/** An agent that can receive messages of this conversation. */
export interface AgentOption {
  readonly id: string
  /** As a user types it. */
  readonly name: string
  readonly about: string
  readonly isCurrent: boolean
}

type Call<A> = Effect.Effect<A, CommandFailed>

export interface ChatThread {
  /** Decisions, diffs and cancellation of its runs. */
  readonly server: RunServer
  /** Whether messages can have files. */
  readonly acceptsFiles: boolean
  /** Agent, workspace and device, for the status row. */
  readonly place: () => string
  readonly mode: () => RunMode
  /** Name of a user, by the id that events have. */
  readonly nameOf: (user: string) => string
  /** Id for `--resume`; `undefined` before the first message. */
  readonly id: () => string | undefined
  /** The latest earlier messages, oldest first. At an Edge all of them. */
  readonly history: (atMost: number) => Call<ReadonlyArray<ThreadMessage>>
  /**
   * Reports what changes, until it is interrupted. Fails when the service no longer accepts the user. `ready` completes when the reader takes
   * more.
   */
  readonly follow: (report: (update: ThreadUpdate) => void, ready?: Effect.Effect<void>) => Call<void>
  /** Succeeds when the service has accepted the message, and reports the message by an update. */
  readonly send: (message: OutgoingMessage) => Call<ThreadMessage>
  /** After an answer of this terminal: starts the work of an approved plan, where the service does not. */
  readonly carryOut: (answered: InputRequest) => Call<void>
  readonly retry: (id: string) => Call<void>
  readonly withdraw: (id: string) => Call<void>
  /** Sends the held messages, in their order. */
  readonly continueQueue: Call<void>
  readonly agents: Call<ReadonlyArray<AgentOption>>
  readonly chooseAgent: (option: AgentOption) => Call<void>
}
