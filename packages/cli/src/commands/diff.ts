/** `corral diff`: changes of a run in its workspace, as a unified diff. */
import type { FileDiff } from "@corral/domain/edge-api/Diff"
import { RunId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import { Argument, Command } from "effect/cli"
import { jsonObject, runServerFlags, toggle } from "../Flags.ts"
import { Host } from "../terminal/Host.ts"
import { makePaint, type Paint } from "../terminal/Paint.ts"
import { selectRunServer } from "../run/SelectRunServer.ts"
import { escapeControls, escapeLine } from "../terminal/VisibleText.ts"

const tintOf = (line: string) => (line.startsWith("+") ? "green" : line.startsWith("-") ? "red" : undefined)

/** Formats a file as `git diff` does, so that other programs can read it. Control characters are shown as symbols. */
const patchOf = (file: FileDiff, paint: Paint): string => {
  const { binary, fromPath, hunks, path, status, truncated } = file
  const before = escapeLine(fromPath ?? path)
  const after = escapeLine(path)
  const isNew = status === "added" || status === "untracked"
  const painted = (line: string) => {
    const tint = tintOf(line)
    return tint === undefined ? escapeControls(line) : paint(tint, escapeControls(line))
  }
  return [
    paint("bold", `diff --git a/${before} b/${after}`),
    ...(fromPath === undefined ? [] : [`rename from ${before}`, `rename to ${after}`]),
    ...(binary
      ? [`Binary files a/${before} and b/${after} differ`]
      : hunks.length === 0
        ? []
        : [
            `--- ${isNew ? "/dev/null" : `a/${before}`}`,
            `+++ ${status === "deleted" ? "/dev/null" : `b/${after}`}`
          ]),
    ...hunks.flatMap(({ lines, newLines, newStart, oldLines, oldStart }) => [
      paint("cyan", `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`),
      ...lines.map(painted)
    ]),
    ...(truncated === true ? [paint("dim", `# ${after} is too large to show in full`)] : []),
    ""
  ].join("\n")
}

export const diffCommand = Command.make(
  "diff",
  {
    ...runServerFlags,
    stat: toggle("stat", "Print only changed files with line counts"),
    json: jsonObject,
    run: Argument.String("run").pipe(Argument.withDescription("Id of the run"), Argument.withSchema(RunId))
  },
  Effect.fn(function* ({ json, run, stat, ...choice }) {
    const host = yield* Host
    const server = yield* selectRunServer(choice)
    const found = yield* server.diff(run)
    const { additions, deletions, items, runId } = found
    if (json) return host.write(`${JSON.stringify({ runId, additions, deletions, items })}\n`)
    const paint = makePaint(host.colours)
    if (!stat) for (const file of items) host.write(patchOf(file, paint))
    else {
      for (const file of items)
        host.write(
          `${file.status.padEnd(9)}  ${paint("green", `+${file.additions}`)} ${paint("red", `-${file.deletions}`)}  ${escapeLine(file.path)}\n`
        )
    }
    if (items.length === 0 && host.terminal) host.write("The run changed no files.\n")
  })
).pipe(Command.withDescription("Show what a run changed"))
