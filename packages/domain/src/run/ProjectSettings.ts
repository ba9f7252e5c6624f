/**
 * Project files that can make a runtime execute something, and how an adapter prevents it. The Edge searches for the files.
 *
 * Does not: name every such file. A list covers the recorded versions of a program.
 */
import { Schema } from "effect"

/** A file or folder of a project that makes a runtime execute something. */
export interface ProjectFile {
  /** Relative to the workspace, `/`-separated. */
  readonly path: string
  /** What it can execute: `hooks, MCP servers`. */
  readonly runs: string
  /** The runtime reads it in any case. Without the grant the Edge does not start the runtime where it exists. */
  readonly unavoidable?: true | undefined
}

/** Rules of the project that forbid. They hold where everything else in the file is ignored. */
export interface DenyRules {
  readonly files: ReadonlyArray<string>
  /** The rules in one file's text; `undefined` where the text is not readable. */
  readonly read: (text: string) => ReadonlyArray<string> | undefined
}

/** A file of the person in which a runtime remembers the folders that it trusts. No flag takes such a trust back. */
export interface RememberedTrust {
  /** Names the runtime's folder of settings; `defaultHome`, relative to the person's home, where it is absent. */
  readonly homeVariable: string
  readonly defaultHome: string
  /** In that folder. */
  readonly file: string
  readonly trusts: (text: string, workspacePath: string) => boolean
}

export interface ProjectSettings {
  readonly files: ReadonlyArray<ProjectFile>
  /** Instruction files that the runtime does not read once it ignores the rest. The Edge puts their text before the first prompt. */
  readonly instructions?: ReadonlyArray<string> | undefined
  readonly denyRules?: DenyRules | undefined
  /** Where the folder is trusted there, every file counts as unavoidable. */
  readonly trust?: RememberedTrust | undefined
}

/** Whether project files may execute something: only the workspace's grant `project_settings` enables them. */
export type ProjectSettingsUse = "ignored" | "enabled"

/** What a run reports: the files that were there, relative to the workspace. */
export const ProjectSettingsReport = Schema.Struct({
  use: Schema.Literals(["ignored", "enabled"]),
  files: Schema.Array(Schema.String)
}).annotate({ identifier: "ProjectSettingsReport" })
export type ProjectSettingsReport = typeof ProjectSettingsReport.Type
