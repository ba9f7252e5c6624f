/** The policy of a run without an Edge: no store, no disk, grants that last kept in an array. */
import type { Grant, GrantRule } from "@corral/domain/approval/Grant"
import type { AgentId, SessionId, WorkspaceId } from "@corral/domain/identity/Ids"
import type { Run } from "@corral/domain/run/Run"
import type { ApprovalAnswer } from "@corral/domain/run/RuntimeAdapter"
import type { ProgramPolicy } from "../../src/approval/EdgeApprovalPolicy.ts"
import { ruleKey } from "../../src/approval/GrantRules.ts"
import { type WorkspacePaths, workspacePathsAt } from "../../src/approval/PathTarget.ts"
import { RunPolicy } from "../../src/approval/RunPolicy.ts"
import { approvalIdOf, request } from "../Samples.ts"

export const session = "ses_00000000000000000000000001" as SessionId

export interface PolicyOptions {
  readonly mode?: Run["mode"]
  readonly sessionId?: SessionId
  readonly configured?: ReadonlyArray<GrantRule>
  readonly grants?: Array<Grant>
  readonly place?: WorkspacePaths
  readonly program?: ProgramPolicy
  readonly hasConfinedGrant?: () => boolean
  readonly isLayered?: boolean
}

/** A workspace in which nothing exists yet. */
export const place = workspacePathsAt("/ws")

export const policyOf = ({
  configured = [],
  grants = [],
  mode = "ask",
  program,
  sessionId,
  ...more
}: PolicyOptions = {}) =>
  new RunPolicy({
    run: {
      workspace: "api" as WorkspaceId,
      agentId: "scripted" as AgentId,
      mode,
      ...(sessionId === undefined ? {} : { sessionId })
    },
    place: more.place ?? place,
    configured,
    program,
    hasConfinedGrant: more.hasConfinedGrant,
    isLayered: more.isLayered,
    storedGrant: (rule, sessionId) =>
      grants.find(
        (grant) =>
          ruleKey(grant.rule) === ruleKey(rule) &&
          (grant.sessionId === undefined || grant.sessionId === sessionId)
      )?.id,
    put: (grant) => {
      grants.push(grant)
      return ["", grant.id]
    }
  })

export const all = ["once", "run", "session", "always"] as const

/** A request for a command line, as a runtime makes it that offers every scope. */
export const shell = (command: string, cwd = ".") =>
  request({ action: "shell", risk: "low", command, cwd, tool: "shell", scopes: [...all] })

/** A person allows it with that scope; what was made of it. */
export const allow = (
  policy: RunPolicy,
  approvalRequest: ReturnType<typeof request>,
  scope: ApprovalAnswer["scope"],
  more: Partial<ApprovalAnswer> = {}
): ApprovalAnswer => {
  const assessed = policy.assess(approvalRequest)
  const answer = policy.narrowed(assessed, { decision: "allow", scope, ...more })
  policy.remember(assessed, answer, { approvalId: approvalIdOf(1), by: "local", nowMs: 1_000 })
  return answer
}

/** Whether a person's answer covers a request: in this run, or by a grant that lasts. */
export const isRemembered = (policy: RunPolicy, approvalRequest: ReturnType<typeof request>): boolean => {
  const verdict = verdictOn(policy, approvalRequest)
  return verdict._tag === "Allow" && /^policy:remembered:(apr|gra)_/.test(verdict.by)
}

/** What the policy says of a request. */
export const verdictOn = (policy: RunPolicy, approvalRequest: ReturnType<typeof request>) =>
  policy.judge(policy.assess(approvalRequest))
