/**
 * Workspaces and their files, as a client sees them. All paths are relative to the workspace and use `/`.
 */
import { Schema } from "effect"
import { WorkspaceId } from "../identity/Ids.ts"
import { Isolation, RunMode } from "../run/Run.ts"

/** A folder on the allowlist of an Edge. */
export const Workspace = Schema.Struct({
  id: WorkspaceId,
  /** Name of the folder. Its absolute path stays on the Edge. */
  name: Schema.String,
  /** Modes that the Edge's policy allows here. */
  modes: Schema.Array(RunMode),
  git: Schema.Boolean,
  /** Isolation of runs that name none. Absent: `none`. */
  isolation: Schema.optionalKey(Isolation),
  /** Whether the folder can be read now. */
  available: Schema.Boolean
}).annotate({ identifier: "Workspace" })
export type Workspace = typeof Workspace.Type

/** Path inside a workspace, empty for its root. A path outside of it fails with `workspace_outside_allowlist`. */
export const WorkspacePath = Schema.String.check(Schema.isMaxLength(4_096))

/** One entry of a folder. */
export const FileEntry = Schema.Struct({
  path: WorkspacePath,
  name: Schema.String,
  kind: Schema.Literals(["file", "directory", "symlink", "other"]),
  /** Bytes; files only. */
  size: Schema.optionalKey(Schema.Int),
  modifiedAt: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "FileEntry" })
export type FileEntry = typeof FileEntry.Type

/** Part of the name or path of a file, as a person types it. */
export const FileQuery = Schema.String.check(Schema.isMaxLength(256))

/** What a search for files does. */
export const FIND_TEXT =
  "Files and folders of the whole workspace whose name or path matches `q`, best first; ignored files last. Names only: no file is opened, links " +
  "are not followed, and nothing of `.git` is named. Without `q`: the entries of the root."

/** Files and folders that match, best first, without sizes and times. `truncated`: the workspace has more names than are searched. */
export const FoundFiles = Schema.Struct({
  items: Schema.Array(FileEntry),
  truncated: Schema.optionalKey(Schema.Literal(true))
}).annotate({ identifier: "FoundFiles" })
export type FoundFiles = typeof FoundFiles.Type

/** The first 1 MiB of a file. `encoding` is `utf8` for text and `base64` for other content. `size` is the whole file in bytes. */
export const FilePreview = Schema.Struct({
  path: WorkspacePath,
  mediaType: Schema.String,
  size: Schema.Int,
  encoding: Schema.Literals(["utf8", "base64"]),
  content: Schema.String,
  truncated: Schema.optionalKey(Schema.Literal(true))
}).annotate({ identifier: "FilePreview" })
export type FilePreview = typeof FilePreview.Type
