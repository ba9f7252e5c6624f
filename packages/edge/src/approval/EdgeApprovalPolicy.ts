/**
 * Policy of the embedding program over approvals; Corral's own policy by default. Replaceable.
 *
 * It sees each request after Corral's policy has judged it, and can decide otherwise, with one limit: a denial by the run's mode or by the
 * size of the request stands, so `read_only` stays read-only. A request that is too large to show completely cannot be allowed. A policy
 * that throws, or returns another value, asks the user.
 *
 * Synchronous: it runs on the event path of every run of the Edge. To decide later, return `"ask"` and call `RunSupervisor.decide`.
 */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { Run } from "@corral/domain/run/Run"
import { Context, Effect } from "effect"
import type { PolicyVerdict } from "./Policy.ts"

export interface PolicyRequest {
  readonly run: Pick<Run, "workspace" | "agentId" | "sessionId" | "mode">
  /** The request with its class and risk, with its secrets. */
  readonly request: ApprovalRequest
  /** What Corral's own policy decides. */
  readonly verdict: PolicyVerdict["_tag"]
}

/** `default`: what Corral's own policy decides. A denial needs a reason, which the agent receives. */
export type PolicyChoice = "default" | "allow" | "ask" | { readonly deny: string }

export type EdgeApprovalPolicy = (request: PolicyRequest) => PolicyChoice

export const EdgeApprovalPolicy = Context.Reference<EdgeApprovalPolicy | undefined>(
  "corral/edge/EdgeApprovalPolicy",
  {
    defaultValue: () => undefined
  }
)

const verdictOf = (choice: PolicyChoice, verdict: PolicyVerdict): PolicyVerdict => {
  if (choice === "default") return verdict
  if (choice === "ask") return { _tag: "Ask" }
  if (choice === "allow") return { _tag: "Allow", by: "policy:program" }
  // A program without types can return anything, such as the promise of an async function.
  if (typeof choice?.deny !== "string") throw new TypeError("The approval policy returned no choice.")
  return { _tag: "Deny", by: "policy:program", reason: choice.deny }
}

/** The program's policy over a verdict of Corral's. */
export type ProgramPolicy = (
  request: Pick<PolicyRequest, "run" | "request">,
  verdict: PolicyVerdict
) => PolicyVerdict

/** `onThrow` receives what the policy throws, and an error if it returns no choice. */
export const programPolicy =
  (policy: EdgeApprovalPolicy, onThrow: (error: unknown) => void): ProgramPolicy =>
  ({ request, run: { agentId, mode, sessionId, workspace } }, verdict) => {
    if (verdict._tag === "Deny") return verdict
    try {
      const run = { workspace, agentId, mode, ...(sessionId === undefined ? {} : { sessionId }) }
      return verdictOf(policy({ run, request, verdict: verdict._tag }), verdict)
    } catch (error) {
      onThrow(error)
      return { _tag: "Ask" }
    }
  }

/** The program's policy with a log line for what it throws; `undefined` by default. */
export const currentProgramPolicy = Effect.gen(function* () {
  const policy = yield* EdgeApprovalPolicy
  if (policy === undefined) return undefined
  const log = Effect.runForkWith(yield* Effect.context<never>())
  return programPolicy(policy, (cause) => void log(Effect.logError("the approval policy failed", { cause })))
})
