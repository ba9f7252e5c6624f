/**
 * Changes of a run as lines, as `git diff` prints them, and parts of a change set as the command line names them. Control characters are shown as
 * symbols.
 */
import type {
  ApartReason,
  ChangedFile,
  ChangedFileContent,
  ChangeSelection,
  ChangeSet,
  ChangeSetPage,
  ConflictSides,
  DecidedChanges
} from "@corral/domain/edge-api/ChangeSet"
import type { Diff, FileDiff } from "@corral/domain/edge-api/Diff"
import type { ChangeDecisionId, ChangedFileId, ChangeHunkId, RunId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import { CommandFailed, refused } from "../CommandFailed.ts"
import type { Row } from "../terminal/Rows.ts"
import { escapeControls, escapeLine } from "../terminal/VisibleText.ts"
import type { ChangesDecision, RunServer, ServerCall } from "./RunServer.ts"

/** Colour of a line of a patch. */
const tintOf = (line: string) => (line.startsWith("+") ? "green" : line.startsWith("-") ? "red" : undefined)

/** Lines of one file, so that other programs can read them. */
export const filePatch = (file: FileDiff): ReadonlyArray<Row> => {
  const { binary, fromPath, hunks, path, status, truncated } = file
  const before = escapeLine(fromPath ?? path)
  const after = escapeLine(path)
  const isNew = status === "added" || status === "untracked"
  const plain = (text: string): Row => [{ text }]
  return [
    [{ text: `diff --git a/${before} b/${after}`, style: "bold" }],
    ...(fromPath === undefined ? [] : [plain(`rename from ${before}`), plain(`rename to ${after}`)]),
    ...(binary
      ? [plain(`Binary files a/${before} and b/${after} differ`)]
      : hunks.length === 0
        ? []
        : [
            plain(`--- ${isNew ? "/dev/null" : `a/${before}`}`),
            plain(`+++ ${status === "deleted" ? "/dev/null" : `b/${after}`}`)
          ]),
    ...hunks.flatMap(({ lines, newLines, newStart, oldLines, oldStart }): ReadonlyArray<Row> => [
      [{ text: `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`, style: "cyan" }],
      ...lines.map((line): Row => [{ text: escapeControls(line), style: tintOf(line) }])
    ]),
    ...(truncated === true
      ? [[{ text: `# ${after} is too large to show in full`, style: "dim" } as const]]
      : [])
  ]
}

/** Lines of all files. */
export const patchText = ({ items, leftOut }: Pick<Diff, "items" | "leftOut">): ReadonlyArray<Row> => [
  ...items.flatMap(filePatch),
  ...leftOutRows(leftOut)
]

/** Names of the files that could not be compared. */
export const leftOutRows = (leftOut: Diff["leftOut"]): ReadonlyArray<Row> =>
  leftOut === undefined
    ? []
    : [
        ...leftOut.paths.map((path): Row => [{ text: `# not compared: ${escapeLine(path)}`, style: "dim" }]),
        ...(leftOut.count > leftOut.paths.length
          ? [
              [
                {
                  text: `# not compared: ${leftOut.count - leftOut.paths.length} more`,
                  style: "dim"
                } as const
              ]
            ]
          : [])
      ]

export type ChangeList = Omit<ChangeSetPage, "nextCursor" | "requestId">
export type ChangedFileHunks = Omit<ChangedFileContent, "nextCursor" | "requestId">

/** Files and hunks as the user names them: paths, and starts of ids. */
export interface NamedParts {
  readonly all: boolean
  readonly files: ReadonlyArray<string>
  readonly hunks: ReadonlyArray<string>
}

/** What decisions about changes need of a server. */
export type ChangesServer = Pick<RunServer, "changedFile" | "changes" | "decideChanges">

const SHORT_ID = 8
const isIdStart = /^[0-9a-f]{4,32}$/

/** Files with this path or start of an id. */
export const filesNamed = <File extends Pick<ChangedFile, "id" | "path">>(
  { items }: { readonly items: ReadonlyArray<File> },
  names: ReadonlyArray<string>
): Effect.Effect<ReadonlyArray<File>, CommandFailed> =>
  Effect.forEach(names, (name) => {
    const exact = items.filter(({ path }) => path === name)
    const found =
      exact.length > 0 || !isIdStart.test(name) ? exact : items.filter(({ id }) => id.startsWith(name))
    const [file, ...others] = found
    return file !== undefined && others.length === 0
      ? Effect.succeed(file)
      : Effect.fail(
          refused(
            file === undefined
              ? `No changes of ${escapeLine(name)}.`
              : `More than one file has an id that starts with ${name}.`
          )
        )
  })

const hunksNamed = Effect.fnUntraced(function* (
  server: ChangesServer,
  run: RunId,
  { items }: ChangeList,
  starts: ReadonlyArray<string>
) {
  const wanted = starts.map((start) => start.toLowerCase())
  const invalid = wanted.find((start) => !isIdStart.test(start))
  if (invalid !== undefined) return yield* refused(`${escapeLine(invalid)} is not the id of a hunk.`)
  const ids = new Set<ChangeHunkId>()
  for (const { id } of wanted.length === 0 ? [] : items)
    for (const hunk of (yield* server.changedFile(run, id)).items) ids.add(hunk.id)
  return yield* Effect.forEach(wanted, (start) => {
    const [id, ...others] = [...ids].filter((each) => each.startsWith(start))
    return id !== undefined && others.length === 0
      ? Effect.succeed(id)
      : Effect.fail(
          refused(
            id === undefined
              ? `No hunk has an id that starts with ${start}.`
              : `More than one hunk has an id that starts with ${start}.`
          )
        )
  })
})

/** The parts for a request. Files are those that were read, at their versions. */
export const selectedParts = Effect.fn("ChangeParts.select")(function* (
  server: ChangesServer,
  run: RunId,
  { all, files, hunks }: NamedParts
): Effect.fn.Return<ChangeSelection, CommandFailed> {
  if (all && files.length + hunks.length > 0) return yield* refused("Use --all, or name files and hunks.")
  if (!all && files.length + hunks.length === 0)
    return yield* refused("Name what you decide: --all, --file PATH or --hunk ID.")
  const list = yield* server.changes(run)
  const { set } = list
  if (set.fileCount === 0) return yield* refused(nothingText(set))
  if (all && !set.direct && set.apart === set.fileCount)
    return yield* refused("`corral changes` shows why --all has none of these files. Name them with --file.")
  if (all) return { all: true, version: set.version }
  const named = yield* filesNamed(list, files)
  const versions: Record<ChangedFileId, string> = {}
  for (const { id, version } of named) versions[id] = version
  return {
    files: named.map(({ id }) => id),
    hunks: yield* hunksNamed(server, run, list, hunks),
    versions
  }
})

const isSides = (value: unknown): value is ConflictSides =>
  typeof value === "object" && value !== null && "path" in value && typeof value.path === "string"

/** Names the files of a conflict. */
export const explainConflict = <A>(call: ServerCall<A>): ServerCall<A> =>
  Effect.mapError(call, (failure) => {
    const { files } = failure.details ?? {}
    if (failure.code !== "merge_conflict" || !Array.isArray(files)) return failure
    const message = [
      "Nothing was changed. The workspace has other changes at the same place:",
      ...files.filter(isSides).map(({ path }) => `  ${escapeLine(path)}`),
      "Commit or undo your edits of these files, or reject the changes."
    ].join("\n")
    return new CommandFailed({ ...failure, message })
  })

const reasons: Readonly<Record<ApartReason, string>> = {
  protected_name: "protected name",
  secret: "has a secret",
  new_program: "new program",
  outside_link: "link out of the workspace",
  set_id: "set-user-id bit"
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`

/** Lines of a change set: what is undecided, and what is not part of `--all`. */
export const changeRows = ({ items, set }: ChangeList): ReadonlyArray<Row> => {
  const width = Math.max(0, ...items.map(({ additions, deletions }) => `+${additions} -${deletions}`.length))
  const rowOf = (file: ChangedFile): Row => {
    const { additions, apart = [], conflict, deletions, fromPath, hunks, path, status } = file
    const counts = `+${additions} -${deletions}`
    const notes = [
      ...(hunks > 1 ? [counted(hunks, "hunk")] : []),
      ...apart.map((reason) => reasons[reason]),
      ...(conflict === true ? ["conflict with your edits"] : [])
    ]
    return [
      { text: `${file.id.slice(0, SHORT_ID)}  ${status.padEnd(8)}  ${counts.padEnd(width)}  ` },
      { text: escapeLine(fromPath === undefined ? path : `${fromPath} → ${path}`) },
      {
        text: notes.length === 0 ? "" : `  (${notes.join(", ")})`,
        style: apart.length > 0 ? "yellow" : "dim"
      }
    ]
  }
  return [...items.map(rowOf), ...summaryRows(set)]
}

/** Why a set has no undecided files. */
const nothingText = ({ direct, live, state }: ChangeSet): string =>
  live
    ? "No changes yet. They are listed when the turn has ended."
    : state === "empty"
      ? "The run changed no files."
      : direct
        ? "Everything is undone."
        : "Everything is decided."

const summaryRows = (set: ChangeSet): ReadonlyArray<Row> => {
  const dim = (text: string): Row => [{ text, style: "dim" }]
  const { apart, commits, direct, ignored, incomplete = [], live } = set
  return [
    ...(set.fileCount === 0
      ? [dim(nothingText(set))]
      : direct
        ? [dim("The run wrote into the workspace itself. Its changes can be undone.")]
        : []),
    ...(live ? [dim("A run is still working on these changes.")] : []),
    ...(apart > 0 && !direct
      ? [dim(`Not part of --all: ${counted(apart, "file")}. Name them with --file.`)]
      : []),
    ...incomplete.map((path) => dim(`not compared: ${escapeLine(path)}`)),
    ...ignored.map(({ count, folder }) => dim(`ignored: ${escapeLine(folder)} (${counted(count, "file")})`)),
    ...commits.map(({ id, subject }) => dim(`commit ${id.slice(0, SHORT_ID)}  ${escapeLine(subject)}`)),
    ...set.decisions.map(({ by, fileCount, files: [first], id, kind, reversedBy }) =>
      dim(
        `${id}  ${kind} of ${first === undefined ? counted(fileCount, "file") : escapeLine(first.path)}` +
          `${first !== undefined && fileCount > 1 ? ` and ${counted(fileCount - 1, "other file")}` : ""}${by === undefined ? "" : ` by ${escapeLine(by)}`}${reversedBy === undefined ? "" : ", undone"}`
      )
    )
  ]
}

/** Hunks of a file, each with its id. */
export const hunkRows = ({ file, items, sides }: ChangedFileHunks): ReadonlyArray<Row> => [
  [{ text: escapeLine(file.path), style: "bold" }],
  ...items.flatMap(({ id, lines, newLines, newStart, oldLines, oldStart }): ReadonlyArray<Row> => [
    [
      { text: `${id.slice(0, SHORT_ID)}  `, style: "dim" },
      {
        text:
          lines.length === 0
            ? `(${file.whole ?? "whole file"})`
            : `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`,
        style: "cyan"
      }
    ],
    ...lines.map((line): Row => [{ text: escapeControls(line), style: tintOf(line) }])
  ]),
  ...(sides === undefined
    ? []
    : [[{ text: "Your edits overlap with these changes.", style: "yellow" } as const]])
]

/** The decision to undo: the last one that is not undone. `undefined`: what the run wrote. */
export const lastDecision = ({
  decisions,
  direct,
  fileCount
}: ChangeSet): Effect.Effect<ChangeDecisionId | undefined, CommandFailed> => {
  const last = decisions.find(({ kind, reversedBy }) => kind !== "undo" && reversedBy === undefined)
  const isEmpty = last === undefined && (!direct || fileCount === 0)
  return isEmpty ? Effect.fail(refused("There is nothing to undo.")) : Effect.succeed(last?.id)
}

/** Reverses a decision, or the last one, or what the run wrote: in whole, or the named files of it. */
export const undoOf = Effect.fnUntraced(function* (
  list: ChangeList,
  chosen: ChangeDecisionId | undefined,
  names: ReadonlyArray<string>
): Effect.fn.Return<Extract<ChangesDecision, { readonly kind: "undo" }>, CommandFailed> {
  const decisionId = chosen ?? (yield* lastDecision(list.set))
  const decision = list.set.decisions.find(({ id }) => id === decisionId)
  const files =
    decision === undefined
      ? yield* filesNamed(list, names)
      : yield* filesNamed({ items: decision.files }, names)
  return {
    kind: "undo",
    payload: {
      ...(decisionId === undefined ? {} : { decisionId }),
      ...(names.length === 0 ? {} : { files: files.map(({ id }) => id) })
    }
  }
})

/** The list of changes, or the hunks of the named file. */
export const namedRows = (
  server: ChangesServer,
  run: RunId,
  name: string
): Effect.Effect<ReadonlyArray<Row>, CommandFailed> =>
  Effect.flatMap(server.changes(run), (list) =>
    name === ""
      ? Effect.succeed(changeRows(list))
      : Effect.flatMap(filesNamed(list, [name]), (files) =>
          Effect.map(
            Effect.forEach(files, ({ id }) => server.changedFile(run, id)),
            (contents) => contents.flatMap(hunkRows)
          )
        )
  )

/** A decision about `all`, the file with this path, or the file or hunk whose id starts so. An undo without a name is about all files. */
export const decideNamed = Effect.fn("ChangeParts.decide")(function* (
  server: ChangesServer,
  run: RunId,
  kind: "accept" | "reject" | "undo",
  name: string
): Effect.fn.Return<DecidedChanges, CommandFailed> {
  const list = yield* server.changes(run)
  if (kind === "undo") {
    const undo = yield* undoOf(list, undefined, name === "" || name === "all" ? [] : [name])
    return yield* explainConflict(server.decideChanges(run, undo))
  }
  const isId = isIdStart.test(name)
  // A text that can't be the start of an id can only be a path.
  const isFile =
    list.items.some(({ id, path }) => path === name || (isId && id.startsWith(name))) ||
    (name !== "all" && !isId)
  const parts = yield* selectedParts(server, run, {
    all: name === "all" && !isFile,
    files: isFile ? [name] : [],
    hunks: isFile || name === "all" ? [] : [name]
  })
  return yield* explainConflict(server.decideChanges(run, { kind, payload: { parts } }))
})

const done = { accept: "Accepted", reject: "Rejected", undo: "Undone" } as const

const remainingText = ({ direct, fileCount }: ChangeSet): string => {
  if (direct) return fileCount === 0 ? "Everything is undone." : `${counted(fileCount, "file")} left.`
  return fileCount === 0 ? "Nothing is undecided." : `${counted(fileCount, "file")} undecided.`
}

/** One line about a decision. */
export const decidedLine = ({ decision, set }: DecidedChanges): string =>
  `${done[decision.kind]}: ${counted(decision.fileCount, "file")}, +${decision.additions} -${decision.deletions}. ` +
  `${remainingText(set)} ${decision.id}`
