/** `corral approve` and `corral approvals allow`: allow a requested action of a run. */
import { DecisionScope } from "@corral/domain/approval/Approval"
import { Option, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { decideApproval } from "../run/DecideApproval.ts"
import { approvalArgument } from "../run/IdArguments.ts"
import { jsonObject, runServerFlags } from "../Flags.ts"

export const makeAllowCommand = <const Name extends string>(name: Name) =>
  Command.make(
    name,
    {
      ...runServerFlags,
      scope: Flag.Literals("scope", DecisionScope.literals).pipe(
        Flag.withDescription("once: this action; run: similar actions in this run; session, always: longer"),
        Flag.withDefault("once" as const)
      ),
      input: Flag.String("input").pipe(
        Flag.withDescription("JSON object that replaces the tool input, if the runtime supports it"),
        Flag.withSchema(Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown))),
        Flag.optional
      ),
      json: jsonObject,
      approval: approvalArgument
    },
    ({ scope, input, approval, json, ...choice }) =>
      decideApproval(
        choice,
        approval,
        { decision: "allow", scope, ...(Option.isSome(input) ? { updatedInput: input.value } : {}) },
        json
      )
  ).pipe(Command.withDescription("Allow a requested action of a run"))

export const approveCommand = makeAllowCommand("approve")
