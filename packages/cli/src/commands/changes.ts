/**
 * `corral diff`, `changes`, `accept`, `reject`, `undo` and `worktree`: what runs changed. The changes of a run in its workspace as a unified diff,
 * change sets of runs and decisions about them, and what a run has committed in its worktree or changed in the repository.
 *
 * `worktree` works only with the local Edge, where the repository is.
 */
import { ChangeDecisionId } from "@corral/domain/identity/Ids"
import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { connectToChosenEdge } from "../edge/EdgeClient.ts"
import {
  type EdgeChoice,
  edgeFlags,
  jsonObject,
  type RunServerChoice,
  runServerFlags,
  toggle
} from "../Flags.ts"
import {
  changeRows,
  decidedLine,
  explainConflict,
  filePatch,
  filesNamed,
  hunkRows,
  leftOutRows,
  type NamedParts,
  selectedParts,
  undoOf
} from "../run/ChangeParts.ts"
import { resolveRunId, runArgument } from "../run/IdArguments.ts"
import type { ChangesDecision } from "../run/RunServer.ts"
import { explainMissingRun, selectRunServer } from "../run/SelectRunServer.ts"
import { Host } from "../terminal/Host.ts"
import { makePaint, paintRow } from "../terminal/Rows.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

const filesFlag = Flag.String("file").pipe(
  Flag.withDescription("Path of a file, or the start of its id. Can be repeated"),
  Flag.atLeast(0)
)

export const changesCommand = Command.make(
  "changes",
  { ...runServerFlags, file: filesFlag, json: jsonObject, run: runArgument },
  Effect.fn(function* ({ file, json, run, ...choice }) {
    const host = yield* Host
    const server = yield* selectRunServer(choice)
    const id = yield* resolveRunId(server)(run)
    const list = yield* server.changes(id)
    const files = yield* filesNamed(list, file)
    const contents = yield* Effect.forEach(files, (each) => server.changedFile(id, each.id))
    if (json)
      return host.write(
        `${JSON.stringify(file.length === 0 ? { set: list.set, items: list.items } : { items: contents })}\n`
      )
    const paint = makePaint(host.colours)
    const rows = file.length === 0 ? changeRows(list) : contents.flatMap(hunkRows)
    for (const row of rows) host.write(`${paintRow(row, paint)}\n`)
  })
).pipe(
  Command.withDescription("List what a run changed and is not decided; with --file its hunks"),
  Command.withExamples([
    { command: "corral changes run_01K…", description: "Files" },
    { command: "corral changes run_01K… --file src/a.ts", description: "Hunks of a file, with their ids" }
  ])
)

const partFlags = {
  all: toggle("all", "Everything but what `corral changes` lists as not part of it"),
  file: filesFlag,
  hunk: Flag.String("hunk").pipe(
    Flag.withDescription("Id of a hunk, or its start. Can be repeated"),
    Flag.atLeast(0)
  )
}

/** Sends a decision, and prints it. */
const decide = Effect.fnUntraced(function* (
  choice: RunServerChoice,
  run: string,
  json: boolean,
  decision: (
    server: Effect.Success<ReturnType<typeof selectRunServer>>,
    id: Effect.Success<ReturnType<ReturnType<typeof resolveRunId>>>
  ) => Effect.Effect<ChangesDecision, Effect.Error<ReturnType<ReturnType<typeof resolveRunId>>>>
) {
  const host = yield* Host
  const server = yield* selectRunServer(choice)
  const id = yield* resolveRunId(server)(run)
  const decided = yield* explainConflict(server.decideChanges(id, yield* decision(server, id)))
  host.write(json ? `${JSON.stringify(decided)}\n` : `${decidedLine(decided)}\n`)
})

const named = ({
  all,
  file,
  hunk
}: {
  all: boolean
  file: ReadonlyArray<string>
  hunk: ReadonlyArray<string>
}): NamedParts => ({
  all,
  files: file,
  hunks: hunk
})

export const acceptCommand = Command.make(
  "accept",
  { ...runServerFlags, ...partFlags, json: jsonObject, run: runArgument },
  ({ all, file, hunk, json, run, ...choice }) =>
    decide(choice, run, json, (server, id) =>
      Effect.map(selectedParts(server, id, named({ all, file, hunk })), (parts) => ({
        kind: "accept",
        payload: { parts }
      }))
    )
).pipe(
  Command.withDescription("Write changes of a run into the workspace"),
  Command.withExamples([
    { command: "corral accept run_01K… --all", description: "Everything that needs no look by a person" },
    { command: "corral accept run_01K… --file src/a.ts --hunk 3fa1", description: "A file and a hunk" }
  ])
)

export const rejectCommand = Command.make(
  "reject",
  {
    ...runServerFlags,
    ...partFlags,
    comment: Flag.String("comment").pipe(
      Flag.withDescription("What the agent reads about it with the next message"),
      Flag.optional
    ),
    json: jsonObject,
    run: runArgument
  },
  ({ all, comment, file, hunk, json, run, ...choice }) =>
    decide(choice, run, json, (server, id) =>
      Effect.map(selectedParts(server, id, named({ all, file, hunk })), (parts) => ({
        kind: "reject",
        payload: { parts, ...(Option.isSome(comment) ? { comment: comment.value } : {}) }
      }))
    )
).pipe(Command.withDescription("Take changes out of a run's files; the agent hears of it"))

export const undoCommand = Command.make(
  "undo",
  {
    ...runServerFlags,
    decision: Flag.String("decision").pipe(
      Flag.withDescription(
        "Id of the decision. Default: the last one that is not undone, or what the run wrote"
      ),
      Flag.withSchema(ChangeDecisionId),
      Flag.optional
    ),
    file: filesFlag,
    json: jsonObject,
    run: runArgument
  },
  ({ decision, file, json, run, ...choice }) =>
    decide(choice, run, json, (server, id) =>
      Effect.flatMap(server.changes(id), (list) => undoOf(list, Option.getOrUndefined(decision), file))
    )
).pipe(Command.withDescription("Reverse a decision, or what a run wrote into the workspace itself"))

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
