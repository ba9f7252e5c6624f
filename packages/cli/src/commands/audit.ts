/** `corral audit`: the trail of what was done at a Hub, and whether it is whole. */
import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { exitCodes, exitWith } from "../CommandFailed.ts"
import { callApi } from "../edge/EdgeClient.ts"
import { hubFlag, jsonObject } from "../Flags.ts"
import { Host } from "../terminal/Host.ts"
import { findProject } from "../run/HubRunServer.ts"
import { makePaint } from "../terminal/Paint.ts"
import { connectToSignedInHub } from "../hub/SignedInHub.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

const verify = Command.make(
  "verify",
  {
    ...hubFlag,
    project: Flag.String("project").pipe(
      Flag.withAlias("p"),
      Flag.withDescription("The project, by id or name; else the only one that there is"),
      Flag.optional
    ),
    json: jsonObject
  },
  Effect.fn(function* ({ hub, json, project }) {
    const host = yield* Host
    const { calls } = yield* connectToSignedInHub(hub)
    const { id, name } = yield* findProject(calls, project)
    const verified = yield* callApi(calls.audit.verify({ query: { projectId: id } }))
    const { brokenAtSeq, checked, ok } = verified
    const paint = makePaint(host.colours)
    if (json) host.write(`${JSON.stringify({ projectId: id, ...verified })}\n`)
    else if (ok)
      host.write(`${paint("green", "✓")} The audit of ${escapeLine(name)} is whole: ${checked} records.\n`)
    else
      host.write(
        `${paint("red", "✗")} The audit of ${escapeLine(name)} does not fit from record ${brokenAtSeq ?? "unknown"} on: somebody has changed the database.\n`
      )
    if (!ok) return yield* exitWith(exitCodes.failed)
  })
).pipe(Command.withDescription("Check that nobody has changed the audit of a project"))

export const auditCommand = Command.make("audit").pipe(
  Command.withDescription("What was done at the Hub"),
  Command.withSubcommands([verify])
)
