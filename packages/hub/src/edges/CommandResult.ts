/** Result of a command to an Edge, as far as the Hub can tell. */
import type { CommandOutcome } from "@corral/domain/link/EdgeCommand"

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
