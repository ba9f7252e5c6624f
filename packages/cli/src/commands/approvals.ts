/** `corral approvals`: approvals that need a decision, and decisions on them. */
import type { Approval } from "@corral/domain/approval/Approval"
import { Effect } from "effect"
import { Command } from "effect/cli"
import { jsonLines, runServerFlags } from "../Flags.ts"
import { selectRunServer } from "../run/SelectRunServer.ts"
import { Host } from "../terminal/Host.ts"
import { formatItem } from "../terminal/ItemLines.ts"
import { makePaint, type Paint } from "../terminal/Paint.ts"
import { escapeLine } from "../terminal/VisibleText.ts"
import { makeAllowCommand } from "./approve.ts"
import { denyCommand } from "./deny.ts"

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
