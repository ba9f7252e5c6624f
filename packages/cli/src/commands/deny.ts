/** `corral deny`: refuses what a run asks for, from wherever one is. */
import { Option } from "effect"
import { Command, Flag } from "effect/cli"
import { approvalArgument, decideApproval } from "../run/DecideApproval.ts"
import { jsonObject, runServerFlags } from "../Flags.ts"

export const denyCommand = Command.make(
  "deny",
  {
    ...runServerFlags,
    reason: Flag.String("reason").pipe(Flag.withDescription("What the agent is told"), Flag.optional),
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
).pipe(Command.withDescription("Refuse what a run asks for; the run goes on without it"))
