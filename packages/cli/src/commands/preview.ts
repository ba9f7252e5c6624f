/**
 * `corral preview`: opens, lists and closes previews of servers and folders on this machine.
 *
 * Works only with the local Edge, because preview URLs work only on this machine. Prints a URL and doesn't start a browser.
 */
import { firstCharacters } from "@corral/domain/text/Cut"
import { PreviewId, RunId, WorkspaceId } from "@corral/domain/identity/Ids"
import { CreatePreview, type OpenedPreview, type Preview, PreviewSource } from "@corral/domain/device/Preview"
import { Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { basename } from "node:path"
import { refused } from "../CommandFailed.ts"
import { connectToChosenEdge, type EdgeApiClient } from "../edge/EdgeClient.ts"
import { jsonLines, jsonObject, type RunServerChoice, runServerFlags } from "../Flags.ts"
import { Host } from "../terminal/Host.ts"
import { readAllPages } from "../AllPages.ts"
import { explainMissingRun, explainMissing } from "../run/SelectRunServer.ts"
import { localTime } from "../terminal/ShownTime.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

const edgeOf = ({ hub, project, ...choice }: RunServerChoice) =>
  Option.isSome(hub) || Option.isSome(project)
    ? Effect.fail(
        refused("Previews open on the device itself. Run this command there, without --hub and --project.")
      )
    : connectToChosenEdge(choice)

const noPreview = (id: PreviewId) =>
  explainMissing(`Preview ${id} was not found or is closed. Open a new one with \`corral preview open\`.`)

const idArgument = Argument.String("preview").pipe(
  Argument.withDescription("Id of the preview"),
  Argument.withSchema(PreviewId)
)

/** `3000` is a port, `./3000` is a folder. */
const sourceOf = (source: string): Preview["source"] =>
  /^\d+$/.test(source) ? { kind: "port", port: Number(source) } : { kind: "folder", path: source }

const isSource = Schema.is(PreviewSource)

const MAX_TITLE = 200
const titleOf = (source: Preview["source"]): string =>
  source.kind === "port"
    ? `Port ${source.port}`
    : firstCharacters(basename(source.path), MAX_TITLE) || "Folder"

/** The named workspace, else the workspace of the run, else the only one. */
const workspaceOf = Effect.fnUntraced(function* (
  calls: EdgeApiClient,
  chosen: Option.Option<WorkspaceId>,
  runId: Option.Option<RunId>
) {
  const run = Option.isNone(runId)
    ? undefined
    : yield* explainMissingRun(runId.value)(calls.runs.get({ params: { id: runId.value } }))
  if (Option.isSome(chosen)) return chosen.value
  if (run !== undefined) return run.workspace
  const { items } = yield* calls.workspaces.list()
  const [only] = items
  if (items.length === 1 && only !== undefined) return only.id
  const ids = items.map(({ id }) => id).join(", ")
  return yield* refused(`Choose a workspace with --workspace. Available workspaces: ${ids || "none"}.`)
})

/** Prints only the URL on stdout, so that other programs can open it. */
const printPreview = Effect.fnUntraced(function* (opened: OpenedPreview, json: boolean) {
  const host = yield* Host
  if (json) return host.write(`${JSON.stringify(opened)}\n`)
  const warning = opened.state === "unreachable" ? " No server responds there yet." : ""
  host.warn(
    `${opened.id}, until ${localTime(opened.expiresAt)}.${warning} Open this URL within a minute in a browser on this machine. It works once:\n`
  )
  host.write(`${opened.url}\n`)
})

const open = Command.make(
  "open",
  {
    ...runServerFlags,
    workspace: Flag.String("workspace").pipe(
      Flag.withAlias("w"),
      Flag.withDescription("Id of the workspace. Default: the workspace of the run, or the only one"),
      Flag.withSchema(WorkspaceId),
      Flag.optional
    ),
    run: Flag.String("run").pipe(
      Flag.withDescription("Id of the run that shows the preview"),
      Flag.withSchema(RunId),
      Flag.optional
    ),
    title: Flag.String("title").pipe(
      Flag.withDescription("Title of the preview"),
      Flag.withSchema(CreatePreview.fields.title),
      Flag.optional
    ),
    json: jsonObject,
    source: Argument.String("source").pipe(
      Argument.withDescription("Port on this machine, or folder path in the workspace")
    )
  },
  Effect.fn(function* ({ json, run, source: text, title, workspace: chosen, ...choice }) {
    const calls = yield* edgeOf(choice)
    const source = sourceOf(text)
    if (!isSource(source))
      return yield* refused(
        `${escapeLine(text)} is not a valid port (1 to 65535). For a folder, use ./${escapeLine(text)}.`
      )
    const workspace = yield* workspaceOf(calls, chosen, run)
    const payload = {
      workspace,
      source,
      title: Option.getOrElse(title, () => titleOf(source)),
      ...Option.match(run, { onNone: () => ({}), onSome: (runId) => ({ runId }) })
    }
    const opening = calls.previews.create({ payload })
    const preview = yield* explainMissing(
      `Folder ${escapeLine(text)} was not found in workspace ${workspace}.`
    )(opening)
    yield* printPreview(preview, json)
  })
).pipe(
  Command.withDescription("Open a preview of a server on this machine, or of a folder"),
  Command.withExamples([
    { command: "corral preview open 5173", description: "Preview of a development server" },
    { command: "corral preview open site --workspace sample", description: "Preview of a folder" }
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
      readAllPages((query) => calls.previews.list({ params: { id }, query }))
    )
    for (const preview of items) {
      const { id, state, title } = preview
      host.write(json ? `${JSON.stringify(preview)}\n` : `${id}  ${state.padEnd(11)}  ${escapeLine(title)}\n`)
    }
    if (!json && items.length === 0) host.write("The run has no open previews.\n")
  })
).pipe(Command.withDescription("List the open previews of a run"))

const show = Command.make(
  "show",
  { ...runServerFlags, json: jsonObject, id: idArgument },
  Effect.fn(function* ({ id, json, ...choice }) {
    const calls = yield* edgeOf(choice)
    yield* printPreview(yield* noPreview(id)(calls.previews.get({ params: { id } })), json)
  })
).pipe(Command.withDescription("Print a new URL of an open preview"))

const close = Command.make(
  "close",
  { ...runServerFlags, json: jsonObject, id: idArgument },
  Effect.fn(function* ({ id, json, ...choice }) {
    const host = yield* Host
    const calls = yield* edgeOf(choice)
    yield* noPreview(id)(calls.previews.remove({ params: { id } }))
    host.write(json ? `${JSON.stringify({ id, state: "closed" })}\n` : `closed: ${id}\n`)
  })
).pipe(Command.withDescription("Close a preview and its connections"))

export const previewCommand = Command.make("preview").pipe(
  Command.withDescription("Previews of servers and folders on this machine"),
  Command.withSubcommands([open, list, show, close])
)
