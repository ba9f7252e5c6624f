/**
 * `corral preview`: opens what a server or a folder of this machine shows, each behind an address that is good once.
 *
 * Of the Edge that runs here and no other: the addresses are worth something on this machine alone. It prints an address and opens no
 * browser.
 */
import { PreviewId, RunId, WorkspaceId } from "@corral/domain/identity/Ids"
import { CreatePreview, type OpenedPreview, type Preview, PreviewSource } from "@corral/domain/device/Preview"
import { Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { basename } from "node:path"
import { refused } from "../CommandFailed.ts"
import { callApi, connectToChosenEdge, type EdgeApiClient } from "../edge/EdgeClient.ts"
import { jsonLines, jsonObject, type RunServerChoice, runServerFlags } from "../Flags.ts"
import { Host } from "../terminal/Host.ts"
import { readAllPages } from "../AllPages.ts"
import { explainMissingRun, explainMissing } from "../run/SelectRunServer.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

const edgeOf = ({ hub, project, ...choice }: RunServerChoice) =>
  Option.isSome(hub) || Option.isSome(project)
    ? Effect.fail(refused("Previews are opened at the device itself: call this there, without a Hub."))
    : connectToChosenEdge(choice)

const noPreview = (id: PreviewId) =>
  explainMissing(`There is no preview ${id}, or it is closed: \`corral preview open\` opens a new one.`)

const idArgument = Argument.String("preview").pipe(
  Argument.withDescription("Id of the preview"),
  Argument.withSchema(PreviewId)
)

/** `3000` is a port; `./3000` a folder. */
const sourceOf = (source: string): Preview["source"] =>
  /^\d+$/.test(source) ? { kind: "port", port: Number(source) } : { kind: "folder", path: source }

const isSource = Schema.is(PreviewSource)

const MAX_TITLE = 200
const titleOf = (source: Preview["source"]): string =>
  source.kind === "port" ? `Port ${source.port}` : basename(source.path).slice(0, MAX_TITLE) || "Folder"

/** The workspace that is named, else the run's, else the only one. */
const workspaceOf = Effect.fnUntraced(function* (
  calls: EdgeApiClient,
  named: Option.Option<WorkspaceId>,
  runId: Option.Option<RunId>
) {
  const run = Option.isNone(runId)
    ? undefined
    : yield* explainMissingRun(runId.value)(callApi(calls.runs.get({ params: { id: runId.value } })))
  if (Option.isSome(named)) return named.value
  if (run !== undefined) return run.workspace
  const { items } = yield* callApi(calls.workspaces.list())
  const [only] = items
  if (items.length === 1 && only !== undefined) return only.id
  const ids = items.map(({ id }) => id).join(", ")
  return yield* refused(`Say in which workspace, with --workspace: there are ${ids || "none"}.`)
})

/** The address alone on stdout, for whatever opens it. */
const told = Effect.fnUntraced(function* (opened: OpenedPreview, json: boolean) {
  const host = yield* Host
  if (json) return host.write(`${JSON.stringify(opened)}\n`)
  const silent = opened.state === "unreachable" ? " Nothing answers there yet." : ""
  host.warn(
    `${opened.id}, until ${opened.expiresAt}.${silent} This opens it once, within a minute, in a browser on this machine:\n`
  )
  host.write(`${opened.url}\n`)
})

const open = Command.make(
  "open",
  {
    ...runServerFlags,
    workspace: Flag.String("workspace").pipe(
      Flag.withAlias("w"),
      Flag.withDescription("Id of the workspace; else the run's, else the only one"),
      Flag.withSchema(WorkspaceId),
      Flag.optional
    ),
    run: Flag.String("run").pipe(
      Flag.withDescription("Id of the run that it belongs to, which tells of it"),
      Flag.withSchema(RunId),
      Flag.optional
    ),
    title: Flag.String("title").pipe(
      Flag.withDescription("What it is called"),
      Flag.withSchema(CreatePreview.fields.title),
      Flag.optional
    ),
    json: jsonObject,
    source: Argument.String("source").pipe(
      Argument.withDescription("A port of this machine, or a folder as a path within the workspace")
    )
  },
  Effect.fn(function* ({ json, run, source: text, title, workspace: named, ...choice }) {
    const calls = yield* edgeOf(choice)
    const source = sourceOf(text)
    if (!isSource(source))
      return yield* refused(
        `${escapeLine(text)} is no port: they go from 1 to 65535. A folder is ./${escapeLine(text)}.`
      )
    const workspace = yield* workspaceOf(calls, named, run)
    const payload = {
      workspace,
      source,
      title: Option.getOrElse(title, () => titleOf(source)),
      ...Option.match(run, { onNone: () => ({}), onSome: (runId) => ({ runId }) })
    }
    const opening = callApi(calls.previews.create({ headers: {}, payload }))
    const { body } = yield* explainMissing(`There is no folder ${escapeLine(text)} in ${workspace}.`)(opening)
    yield* told(body, json)
  })
).pipe(
  Command.withDescription("Open a preview of a server on this machine, or of a folder"),
  Command.withExamples([
    { command: "corral preview open 5173", description: "What a development server shows" },
    { command: "corral preview open site --workspace sample", description: "A folder of files" }
  ])
)

const list = Command.make(
  "list",
  {
    ...runServerFlags,
    json: jsonLines,
    run: Argument.String("run").pipe(Argument.withDescription("Id of the run"), Argument.withSchema(RunId))
  },
  Effect.fn(function* ({ json, run: id, ...choice }) {
    const host = yield* Host
    const calls = yield* edgeOf(choice)
    const { items } = yield* explainMissingRun(id)(
      readAllPages((query) => callApi(calls.previews.list({ params: { id }, query })))
    )
    for (const preview of items) {
      const { id, state, title } = preview
      host.write(json ? `${JSON.stringify(preview)}\n` : `${id}  ${state.padEnd(11)}  ${escapeLine(title)}\n`)
    }
    if (!json && items.length === 0) host.write("The run has no preview that is open.\n")
  })
).pipe(Command.withDescription("List the open previews of a run"))

const show = Command.make(
  "show",
  { ...runServerFlags, json: jsonObject, id: idArgument },
  Effect.fn(function* ({ id, json, ...choice }) {
    const calls = yield* edgeOf(choice)
    yield* told(yield* noPreview(id)(callApi(calls.previews.get({ params: { id } }))), json)
  })
).pipe(Command.withDescription("Give a fresh address of an open preview"))

const close = Command.make(
  "close",
  { ...runServerFlags, json: jsonObject, id: idArgument },
  Effect.fn(function* ({ id, json, ...choice }) {
    const host = yield* Host
    const calls = yield* edgeOf(choice)
    yield* noPreview(id)(callApi(calls.previews.remove({ params: { id } })))
    host.write(json ? `${JSON.stringify({ id, state: "closed" })}\n` : `closed: ${id}\n`)
  })
).pipe(Command.withDescription("Close a preview, and everything that goes on there"))

export const previewCommand = Command.make("preview").pipe(
  Command.withDescription("What a server or a folder of this machine shows"),
  Command.withSubcommands([open, list, show, close])
)
