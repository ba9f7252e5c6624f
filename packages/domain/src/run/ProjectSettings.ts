/**
 * Project settings: files of a project that can make a runtime execute something, and how an adapter prevents it. The Edge searches for the
 * files.
 *
 * Does not: list every such file. The lists cover the recorded versions of each program.
 */
import { Schema } from "effect"

/** A file or folder of a project that makes a runtime execute something. */
export interface ProjectFile {
  /** Relative to the workspace, `/`-separated. */
  readonly path: string
  /** What the file can execute, such as `hooks, MCP servers`. */
  readonly runs: string
  /** The runtime always reads the file. If the file exists, the Edge starts the runtime only with the grant. */
  readonly unavoidable?: true | undefined
}

/** Deny rules of the project. They apply even if the rest of the file is ignored. */
export interface DenyRules {
  readonly files: ReadonlyArray<string>
  /** Rules in the text of one file; `undefined` if the text is invalid. */
  readonly read: (text: string) => ReadonlyArray<string> | undefined
}

/** A file of the user in which a runtime stores the folders that it trusts. No flag of the runtime overrides it. */
export interface RememberedTrust {
  /** Environment variable with the runtime's settings folder. Default: `defaultHome`, relative to the user's home directory. */
  readonly homeVariable: string
  readonly defaultHome: string
  /** Name of the file in that folder. */
  readonly file: string
  /** Whether the file with this text trusts the workspace. */
  readonly trusts: (text: string, workspacePath: string) => boolean
}

/** What an adapter declares about the project settings of its runtime. */
export interface ProjectSettings {
  readonly files: ReadonlyArray<ProjectFile>
  /** Instruction files that the runtime ignores along with the settings. The Edge adds their text before the first prompt. */
  readonly instructions?: ReadonlyArray<string> | undefined
  readonly denyRules?: DenyRules | undefined
  /** If the runtime trusts the folder, every file counts as unavoidable. */
  readonly trust?: RememberedTrust | undefined
}

/** Whether project files may execute something. Only the workspace's grant `project_settings` enables them. */
export type ProjectSettingsUse = "ignored" | "enabled"

/** Report of a run: the project files that exist, relative to the workspace, and whether they were enabled. */
export const ProjectSettingsReport = Schema.Struct({
  use: Schema.Literals(["ignored", "enabled"]),
  files: Schema.Array(Schema.String)
}).annotate({ identifier: "ProjectSettingsReport" })
export type ProjectSettingsReport = typeof ProjectSettingsReport.Type
