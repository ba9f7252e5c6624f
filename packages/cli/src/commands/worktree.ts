/**
 * `corral worktree`: what a run has committed in its worktree, and what a run in the workspace itself changed in the repository.
 *
 * Works only with the local Edge, where the repository is.
 */
import { Effect, Option } from "effect"
import { Command } from "effect/cli"
import { connectToChosenEdge } from "../edge/EdgeClient.ts"
import { type EdgeChoice, edgeFlags, jsonObject } from "../Flags.ts"
import { resolveRunId, runArgument } from "../run/IdArguments.ts"
import { explainMissingRun, selectRunServer } from "../run/SelectRunServer.ts"
import { Host } from "../terminal/Host.ts"
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

export const worktreeCommand = Command.make("worktree").pipe(
  Command.withDescription("Show and put back what runs did to a repository"),
  Command.withSubcommands([log, restore])
)
