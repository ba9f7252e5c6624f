/** `corral deny`: refuses what a run asks for, from wherever one is. */
import { Option } from "effect"
import { Command, Flag } from "effect/cli"
import { approvalArgument, decide } from "../DecideApproval.ts"
import { edgeFlags } from "../Flags.ts"

export const deny = Command.make(
  "deny",
  {
    ...edgeFlags,
    reason: Flag.String("reason").pipe(Flag.withDescription("What the agent is told"), Flag.optional),
    approval: approvalArgument
  },
  ({ url, tokenFile, reason, approval }) =>
    decide({ url, tokenFile }, approval, {
      decision: "deny",
      ...(Option.isSome(reason) ? { reason: reason.value } : {})
    })
).pipe(Command.withDescription("Refuse what a run asks for; the run goes on without it"))
