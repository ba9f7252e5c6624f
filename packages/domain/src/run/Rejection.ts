/**
 * Rejections: runs that end because an action was not approved.
 *
 * A rejection is a denied or expired approval after which the runtime has not continued. A runtime that then stops without another cause has
 * given up because of the rejection: the run fails as `approval_rejected`. A runtime that sends a message, calls a tool or requests another
 * approval continues.
 */
import { type RunFailure } from "./Run.ts"
import type { EventDraft } from "./RunEvent.ts"
import type { ApprovalId } from "../identity/Ids.ts"
import type { Outcome } from "./RuntimeAdapter.ts"

/** A denied or expired approval after which the runtime has not continued. */
export interface Rejection {
  readonly approvalId: ApprovalId
  readonly state: "denied" | "expired"
  readonly reason?: string | undefined
}

/** Failure reasons of adapters that name no cause other than the rejection itself. */
const unexplained: ReadonlySet<unknown> = new Set([
  undefined,
  "agent_failed",
  "crashed",
  "needs_permission",
  "no_answer",
  "no_result",
  "protocol_broken",
  "refused",
  "runtime_error",
  "script_failed"
])

const isUnexplained = ({ details = {} }: RunFailure): boolean =>
  unexplained.has(details["reason"]) && details["status"] === undefined && details["signal"] === undefined

/** Whether the event shows that the runtime continues. The result of the rejected call and system messages do not. */
export const isContinuation = (event: EventDraft): boolean => {
  switch (event.type) {
    case "run.message.delta":
    case "run.tool.call":
      return true
    case "run.message.completed":
      return event.payload.role !== "system"
    default:
      return false
  }
}

const failureOf = ({ approvalId, reason, state }: Rejection, cause: string | undefined): RunFailure => ({
  code: "approval_rejected",
  message:
    state === "denied"
      ? `The agent stopped because an action was denied${reason === undefined || reason === "" ? "." : `: ${reason}`}`
      : "The agent stopped because an approval expired before anyone decided.",
  details: { approvalId, state, ...(cause === undefined ? {} : { said: cause }) }
})

/** Outcome of a run whose runtime stopped right after `rejection`. */
export const outcomeAfter = (rejection: Rejection | undefined, outcome: Outcome): Outcome => {
  if (rejection === undefined || outcome._tag === "Completed") return outcome
  if (outcome._tag === "Failed" && !isUnexplained(outcome.error)) return outcome
  const cause = outcome._tag === "Failed" ? outcome.error.message : undefined
  const usage = outcome.usage === undefined ? {} : { usage: outcome.usage }
  return { _tag: "Failed", error: failureOf(rejection, cause), ...usage }
}
