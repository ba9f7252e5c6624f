/**
 * End of a run: its terminal states, the events that end it, and the warning where it ends with its Edge. Imports no runtime code of Effect, so
 * that it fits a browser.
 */

export const terminalStates = ["completed", "failed", "cancelled"] as const
export type TerminalStatus = (typeof terminalStates)[number]

export const isTerminal = (status: string): status is TerminalStatus =>
  terminalStates.some((state) => state === status)

export const terminalTypes = ["run.completed", "run.failed", "run.cancelled"] as const
export type TerminalType = (typeof terminalTypes)[number]
export const isTerminalType = (type: string): type is TerminalType =>
  type === "run.completed" || type === "run.failed" || type === "run.cancelled"

/** States of a run that has not ended. */
export const liveStates = ["created", "starting", "running", "waiting_approval", "waiting_input"] as const
export type LiveStatus = (typeof liveStates)[number]

/** Warning about a run that ends with its Edge although runs outlive it, as a sentence. */
export const ENDS_WITH_EDGE =
  "This run ends if its Edge stops: the process that would let it continue could not be reached."
