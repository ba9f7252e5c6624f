/**
 * `corral diff` and `corral worktree`: changes of a run in its workspace as a unified diff, what it has committed in its worktree, and what a
 * run in the workspace itself changed in the repository.
 *
 * `worktree` works only with the local Edge, where the repository is.
 */
import { Effect, Option } from "effect"
import { Command } from "effect/cli"
import { type EdgeChoice, edgeFlags, jsonObject, runServerFlags, toggle } from "../Flags.ts"
import { connectToChosenEdge } from "../edge/EdgeClient.ts"
import { resolveRunId, runArgument } from "../run/IdArguments.ts"
import { filePatch, leftOutRows } from "../run/PatchText.ts"
import { explainMissingRun, selectRunServer } from "../run/SelectRunServer.ts"
import { Host } from "../terminal/Host.ts"
import { makePaint, paintRow } from "../terminal/Rows.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

const SHORT = 10

/** The whole id, of a run of this machine. */
const resolveRun = (choice: EdgeChoice, run: string) =>
  Effect.flatMap(selectRunServer({ ...choice, hub: Option.none(), project: Option.none() }), (server) =>
    resolveRunId(server)(run)
  )

const log = Command.make(
  "log",
  { ...edgeFlags, json: jsonObject, run: runArgument },
  Effect.fn(function* ({ json, run, ...choice }) {
    const host = yield* Host
    const calls = yield* connectToChosenEdge(choice)
    const id = yield* resolveRun(choice, run)
    const { items } = yield* explainMissingRun(id)(calls.worktrees.commits({ params: { id } }))
    if (json) return host.write(`${JSON.stringify({ items })}\n`)
    for (const { at, author, id: commit, subject } of items)
      host.write(`${commit.slice(0, SHORT)}  ${at}  ${escapeLine(author)}  ${escapeLine(subject)}\n`)
    if (items.length === 0) host.write("The run has committed nothing.\n")
  })
).pipe(Command.withDescription("List the commits of a run in its worktree as it is now"))

const restore = Command.make(
  "restore",
  { ...edgeFlags, run: runArgument },
  Effect.fn(function* ({ run, ...choice }) {
    const host = yield* Host
    const calls = yield* connectToChosenEdge(choice)
    const id = yield* resolveRun(choice, run)
    yield* calls.worktrees.restoreRepository({ params: { id } })
    host.write("Refs, branch and index are as before the run.\n")
  })
).pipe(Command.withDescription("Put back refs and index that a run changed in the workspace's repository"))

/**
 * `corral worktree`: what a run has committed in its worktree, and what a run in the workspace itself changed in the repository.
 *
 * Works only with the local Edge, where the repository is.
 */
export const worktreeCommand = Command.make("worktree").pipe(
  Command.withDescription("Show and put back what runs did to a repository"),
  Command.withSubcommands([log, restore])
)

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
