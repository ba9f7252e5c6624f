/** `corral deny` and `corral approvals deny`: deny a requested action of a run. */
import { Option } from "effect"
import { Command, Flag } from "effect/cli"
import { decideApproval } from "../run/DecideApproval.ts"
import { approvalArgument } from "../run/IdArguments.ts"
import { jsonObject, runServerFlags } from "../Flags.ts"

export const denyCommand = Command.make(
  "deny",
  {
    ...runServerFlags,
    reason: Flag.String("reason").pipe(Flag.withDescription("Reason for the agent"), Flag.optional),
    json: jsonObject,
    approval: approvalArgument
  },
  ({ reason, approval, json, ...choice }) =>
    decideApproval(
      choice,
      approval,
      { decision: "deny", ...(Option.isSome(reason) ? { reason: reason.value } : {}) },
      json
    )
).pipe(Command.withDescription("Deny a requested action; the run continues without it"))
