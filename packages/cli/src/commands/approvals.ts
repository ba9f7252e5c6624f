/** `corral approvals`, `corral approve` and `corral deny`: approvals that need a decision, and decisions on them. */
import { type Approval, DecisionScope } from "@corral/domain/approval/Approval"
import { editedLabel } from "@corral/domain/run/EditedLabel"
import { Effect, Option, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { type RunServerChoice, jsonLines, jsonObject, runServerFlags } from "../Flags.ts"
import { approvalArgument, resolveApprovalId } from "../run/IdArguments.ts"
import type { DecisionRequest } from "../run/RunServer.ts"
import { selectRunServer } from "../run/SelectRunServer.ts"
import { Host } from "../terminal/Host.ts"
import { formatItem, makePaint, type Paint } from "../terminal/Rows.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

/** Decision of one approval, shared by `approve` and `deny`. Sends the decision and prints the result. */
const decideApproval = Effect.fnUntraced(function* (
  choice: RunServerChoice,
  approval: string,
  decision: DecisionRequest,
  json: boolean
) {
  const host = yield* Host
  const server = yield* selectRunServer(choice)
  const id = yield* resolveApprovalId(server)(approval)
  const decided = yield* server.decide(id, decision)
  const { allowedInput, request, state } = decided
  const [title, edited] =
    allowedInput === undefined
      ? [request.title, ""]
      : [editedLabel(request.title, request.input, allowedInput), " (edited)"]
  host.write(json ? `${JSON.stringify(decided)}\n` : `${state}: ${escapeLine(title)}${edited}\n`)
})

const makeAllowCommand = <const Name extends string>(name: Name) =>
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

/** `corral deny` and `corral approvals deny`: deny a requested action of a run. */
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

const riskTint = { low: "green", medium: "yellow", high: "red" } as const

type ListedApproval = Pick<Approval, "id" | "runId" | "agentId" | "workspace" | "request">

export const formatApproval = (
  { agentId, id, request, runId, workspace }: ListedApproval,
  paint: Paint,
  width: number | undefined
): string =>
  formatItem(
    id,
    [
      { text: request.risk.padEnd(6), style: riskTint[request.risk] },
      { text: escapeLine(request.title) },
      { text: escapeLine(`${agentId} in ${workspace}`), style: "dim" },
      { text: runId, style: "dim" }
    ],
    paint,
    width
  )

export const approvalsCommand = Command.make(
  "approvals",
  { ...runServerFlags, json: jsonLines },
  Effect.fn(function* ({ json, ...choice }) {
    const host = yield* Host
    const server = yield* selectRunServer(choice)
    const paint = makePaint(host.colours)
    const approvals = yield* server.approvals
    for (const approval of approvals)
      host.write(json ? `${JSON.stringify(approval)}\n` : formatApproval(approval, paint, host.width))
    if (!json && approvals.length === 0) host.write("Nothing needs a decision.\n")
  })
).pipe(
  Command.withDescription("List what needs a decision; `allow` and `deny` decide"),
  Command.withSubcommands([makeAllowCommand("allow"), denyCommand]),
  Command.withExamples([
    { command: "corral approvals", description: "What needs a decision" },
    { command: "corral approvals allow apr_01K…", description: "Decide" }
  ])
)
