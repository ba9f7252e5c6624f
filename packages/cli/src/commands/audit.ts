/** `corral audit`: verifies the audit log of a Hub. */
import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { exitCodes, exitWith } from "../CommandFailed.ts"
import { hubFlag, jsonObject } from "../Flags.ts"
import { Host } from "../terminal/Host.ts"
import { findProject } from "../run/HubRunServer.ts"
import { makePaint } from "../terminal/Rows.ts"
import { connectToSignedInHub } from "../hub/HubClient.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

const verify = Command.make(
  "verify",
  {
    ...hubFlag,
    project: Flag.String("project").pipe(
      Flag.withAlias("p"),
      Flag.withDescription("Project id or name. Default: your only project"),
      Flag.optional
    ),
    json: jsonObject
  },
  Effect.fn(function* ({ hub, json, project }) {
    const host = yield* Host
    const { calls } = yield* connectToSignedInHub(hub)
    const { id, name } = yield* findProject(calls, project)
    const verified = yield* calls.audit.verify({ query: { projectId: id } })
    const { brokenAtSeq, checked, ok } = verified
    const paint = makePaint(host.colours)
    if (json) host.write(`${JSON.stringify({ projectId: id, ...verified })}\n`)
    else if (ok)
      host.write(
        `${paint("green", "✓")} The audit log of ${escapeLine(name)} is intact. ${checked} records checked.\n`
      )
    else
      host.write(
        `${paint("red", "✗")} The audit log of ${escapeLine(name)} was changed: record ${brokenAtSeq ?? "unknown"} does not match.\n`
      )
    if (!ok) return yield* exitWith(exitCodes.failed)
  })
).pipe(Command.withDescription("Verify that the audit log of a project is unchanged"))

export const auditCommand = Command.make("audit").pipe(
  Command.withDescription("Audit log of the Hub"),
  Command.withSubcommands([verify])
)
