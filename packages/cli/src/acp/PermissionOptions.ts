/** Options of a permission request for an approval, and what each of them decides. */
import type { PermissionOption } from "@agentclientprotocol/sdk"
import type { ApprovalRequest, DecisionScope } from "@corral/domain/approval/Approval"
import type { DecisionRequest } from "../run/RunServer.ts"

const scopeNames: Readonly<Record<DecisionScope, string>> = {
  once: "Allow once",
  run: "Allow for the run",
  session: "Allow for the session",
  always: "Always allow in this workspace"
}

const scopes: ReadonlyArray<DecisionScope> = ["once", "run", "session", "always"]

interface DecisionOption {
  readonly option: PermissionOption
  readonly decision: DecisionRequest
}

const optionsOf = (request: ApprovalRequest): ReadonlyArray<DecisionOption> => [
  ...scopes
    .filter((scope) => scope === "once" || request.scopes.includes(scope))
    .map((scope): DecisionOption => ({
      option: {
        optionId: `allow_${scope}`,
        name: scopeNames[scope],
        kind: scope === "once" ? "allow_once" : "allow_always"
      },
      decision: { decision: "allow", scope }
    })),
  { option: { optionId: "deny", name: "Deny", kind: "reject_once" }, decision: { decision: "deny" } },
  {
    option: { optionId: "stop", name: "Deny and stop the run", kind: "reject_once" },
    decision: { decision: "cancel" }
  }
]

export const permissionOptions = (request: ApprovalRequest): Array<PermissionOption> =>
  optionsOf(request).map(({ option }) => option)

/** `undefined`: the editor chose an option that was not offered. */
export const decisionOf = (request: ApprovalRequest, optionId: string): DecisionRequest | undefined =>
  optionsOf(request).find(({ option }) => option.optionId === optionId)?.decision
