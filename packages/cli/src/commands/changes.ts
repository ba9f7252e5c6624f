/** `corral changes`, `corral accept`, `corral reject` and `corral undo`: change sets of runs, and decisions about them. */
import { ChangeDecisionId } from "@corral/domain/identity/Ids"
import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { jsonObject, type RunServerChoice, runServerFlags, toggle } from "../Flags.ts"
import {
  changeRows,
  decidedLine,
  explainConflict,
  filesNamed,
  hunkRows,
  lastDecision,
  type NamedParts,
  selectedParts
} from "../run/ChangeParts.ts"
import { resolveRunId, runArgument } from "../run/IdArguments.ts"
import type { ChangesDecision } from "../run/RunServer.ts"
import { selectRunServer } from "../run/SelectRunServer.ts"
import { Host } from "../terminal/Host.ts"
import { makePaint } from "../terminal/Rows.ts"
import { paintRow } from "../terminal/Rows.ts"

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
      Effect.gen(function* () {
        const list = yield* server.changes(id)
        const decisionId = Option.isSome(decision) ? decision.value : yield* lastDecision(list.set)
        const shown = list.set.decisions.find((each) => each.id === decisionId)
        const files =
          shown === undefined
            ? yield* filesNamed(list, file)
            : yield* filesNamed({ items: shown.files }, file)
        return {
          kind: "undo" as const,
          payload: {
            ...(decisionId === undefined ? {} : { decisionId }),
            ...(file.length === 0 ? {} : { files: files.map((each) => each.id) })
          }
        }
      })
    )
).pipe(Command.withDescription("Reverse a decision, or what a run wrote into the workspace itself"))
