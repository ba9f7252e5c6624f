/**
 * A product as the fault matrix uses it: what its agent does, how people see it and act, and what can go wrong. Another product can be put
 * under the matrix by an implementation of `FaultProduct`.
 *
 * The records of `FaultPhases.ts` and the cells of `FaultCell.ts` use nothing else.
 */

/** One thing that the agent does. */
export type AgentStep =
  /** Answers with the text. */
  | { readonly kind: "answer"; readonly text: string }
  /** Prints that many pieces of text, over some seconds. */
  | { readonly kind: "stream"; readonly pieces: number }
  /** Asks for permission, then leaves the line `name` among the effects. */
  | { readonly kind: "effect"; readonly name: string }
  /** Asks for permission, then leaves `name begins`, waits for `release(name)`, and leaves `name ends`. */
  | { readonly kind: "tool"; readonly name: string }
  /** Asks which option, and answers `answered {"1":"N"}` with the number of the option that a person chose. */
  | { readonly kind: "question"; readonly text: string; readonly options: ReadonlyArray<string> }
  /**
   * Ends the turn and works on in the background: asks for permission, then leaves `name begins`, waits for `release(name)`, leaves `name ends`, and
   * starts a further turn by itself.
   */
  | { readonly kind: "background"; readonly name: string }
  /** Continues until the run is cancelled. */
  | { readonly kind: "endless" }
  /** Ends the run with an error. */
  | { readonly kind: "failure"; readonly message: string }

export type AgentWork = ReadonlyArray<AgentStep>

export const faultNames = [
  "Edge killed",
  "Hub killed",
  "link cut",
  "Edge and Hub killed",
  "database restarted"
] as const
export type FaultName = (typeof faultNames)[number]

export const surfaceNames = ["API", "console", "CLI", "chat"] as const
export type SurfaceName = (typeof surfaceNames)[number]

/** One conversation with the agent at one surface. Each method waits until the surface shows what it returns. */
export interface FaultConversation {
  /** Sends the next message. It waits for its turn while a run is in progress. */
  readonly send: (work: AgentWork) => Promise<void>
  /** Texts of ended turns, oldest first, once there are that many. */
  readonly answers: (count: number) => Promise<ReadonlyArray<string>>
  /** Waits until the last run needs a decision. */
  readonly approval: () => Promise<void>
  /** Allows what the last run asks for. */
  readonly allow: () => Promise<void>
  /** Waits until the last run has an open question. */
  readonly question: () => Promise<void>
  /** Chooses an option of the open question, by its place. */
  readonly choose: (place: number) => Promise<void>
  /** Waits until the last run has ended its turn and works in the background. */
  readonly background: () => Promise<void>
  /** Waits until the last message waits for its turn. */
  readonly queued: () => Promise<void>
  /** Pieces of the stream, once there are that many; absent if the surface shows finished texts only. */
  readonly pieces?: (count: number) => Promise<number>
  /** Waits until the last run is in progress. */
  readonly running: () => Promise<void>
  /** Cancels the run in progress. */
  readonly cancel: () => Promise<void>
  /** Waits until the run is shown as cancelled. */
  readonly cancelled: () => Promise<void>
  /** Waits until the last run is shown as failed, with its message. */
  readonly failed: (message: string) => Promise<void>
  /** Times that the surface said that it is not connected; absent if it says so in no way that is counted. */
  readonly outages?: (() => number) | undefined
  /** Stops following. */
  readonly close: () => Promise<void>
}

export interface FaultSurface {
  readonly begin: (work: AgentWork) => Promise<FaultConversation>
}

/** What the records of the product say about one conversation. */
export interface ConversationRecord {
  /** State of each run, oldest first. */
  readonly runs: ReadonlyArray<string>
  /** What is wrong: events that are lost, repeated or different at two places, messages that were delivered twice. */
  readonly defects: ReadonlyArray<string>
}

export interface FaultProduct {
  readonly surfaces: Readonly<Record<SurfaceName, FaultSurface>>
  /** Causes the fault, and resolves when everything that was ended has been started again. */
  readonly faults: Readonly<Record<FaultName, () => Promise<void>>>
  /** Cuts the link between the agent's machine and the service until `restoreLink`, and waits until the machine could not connect again. */
  readonly cutLink: () => Promise<void>
  readonly restoreLink: () => void
  /** Lines that agents left, oldest first. */
  readonly effects: () => ReadonlyArray<string>
  /** Lets the tool of that name end. */
  readonly release: (name: string) => void
  /** Of the conversation whose messages have that name in them. */
  readonly record: (name: string) => Promise<ConversationRecord>
  readonly remove: () => Promise<void>
}
