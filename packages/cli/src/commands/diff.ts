/** `corral diff`: changes of a run in its workspace, as a unified diff. */
import { Effect } from "effect"
import { Command } from "effect/cli"
import { jsonObject, runServerFlags, toggle } from "../Flags.ts"
import { Host } from "../terminal/Host.ts"
import { resolveRunId, runArgument } from "../run/IdArguments.ts"
import { filePatch, leftOutRows } from "../run/PatchText.ts"
import { makePaint } from "../terminal/Paint.ts"
import { selectRunServer } from "../run/SelectRunServer.ts"
import { escapeLine } from "../terminal/VisibleText.ts"
import { paintRow } from "../terminal/WrapText.ts"

export const diffCommand = Command.make(
  "diff",
  {
    ...runServerFlags,
    stat: toggle("stat", "Print only changed files with line counts"),
    json: jsonObject,
    run: runArgument
  },
  Effect.fn(function* ({ json, run, stat, ...choice }) {
    const host = yield* Host
    const server = yield* selectRunServer(choice)
    const found = yield* server.diff(yield* resolveRunId(server)(run))
    const { additions, deletions, items, leftOut, runId } = found
    if (json) return host.write(`${JSON.stringify({ runId, additions, deletions, items, leftOut })}\n`)
    const paint = makePaint(host.colours)
    if (!stat) for (const line of items.flatMap(filePatch)) host.write(`${paintRow(line, paint)}\n`)
    else {
      for (const file of items)
        host.write(
          `${file.status.padEnd(9)}  ${paint("green", `+${file.additions}`)} ${paint("red", `-${file.deletions}`)}  ${escapeLine(file.path)}\n`
        )
    }
    for (const line of leftOutRows(leftOut)) host.write(`${paintRow(line, paint)}\n`)
    if (items.length === 0 && leftOut === undefined && host.terminal)
      host.write("The run changed no files.\n")
  })
).pipe(Command.withDescription("Show what a run changed"))
