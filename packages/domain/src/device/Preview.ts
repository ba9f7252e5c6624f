/**
 * Preview: a local development server or a static folder of a workspace, proxied on loopback. A one-use ticket opens it.
 */
import { Schema } from "effect"
import { PreviewId, RunId, WorkspaceId } from "../identity/Ids.ts"
import { WorkspacePath } from "./Workspace.ts"

/** A port on loopback, or a folder of the workspace. */
export const PreviewSource = Schema.Union([
  Schema.Struct({
    kind: Schema.Literal("port"),
    port: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 65_535 }))
  }),
  Schema.Struct({ kind: Schema.Literal("folder"), path: WorkspacePath })
])
export type PreviewSource = typeof PreviewSource.Type

/** A preview and its state. `unreachable`: its port or folder cannot be reached. Times are ISO 8601. */
export const Preview = Schema.Struct({
  id: PreviewId,
  runId: Schema.optionalKey(RunId),
  workspace: WorkspaceId,
  title: Schema.String,
  source: PreviewSource,
  state: Schema.Literals(["ready", "unreachable", "closed"]),
  createdAt: Schema.String,
  expiresAt: Schema.String
}).annotate({ identifier: "Preview" })
export type Preview = typeof Preview.Type

/** Body of POST /v1/previews. */
export const CreatePreview = Schema.Struct({
  workspace: WorkspaceId,
  runId: Schema.optionalKey(RunId),
  title: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200)),
  source: PreviewSource
}).annotate({ identifier: "CreatePreview" })
export type CreatePreview = typeof CreatePreview.Type

/** Address of a preview: a port on loopback and a ticket. No other host or path is valid. */
export const PreviewUrl = Schema.String.check(
  Schema.isPattern(/^http:\/\/127\.0\.0\.1:[1-9][0-9]{0,4}\/\?ticket=[A-Za-z0-9_-]{43}$/u, {
    expected: "an address of a preview"
  })
)

/** A preview with an address that opens it once. */
export const OpenedPreview = Schema.Struct({ ...Preview.fields, url: PreviewUrl }).annotate({
  identifier: "OpenedPreview"
})
export type OpenedPreview = typeof OpenedPreview.Type
