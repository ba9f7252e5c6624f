/**
 * Folders of a runtime outside the workspace, which its runs need when the operating system confines them. An adapter declares them as data.
 *
 * A confined run has a private copy of its runtime's state. What goes in and what comes back is listed here; everything else stays away from the
 * run, and what the run leaves behind is discarded.
 *
 * Paths are relative to the state folder and `/`-separated. In a pattern, `*` stands for characters of one name, but not for a dot at its start,
 * and these parts stand for what they say:
 *
 * - `{session}`: the id of a conversation, a UUID unless `sessions` says otherwise. `{session:8}` is its first 8 characters;
 * - `{workspace}`: the path of the workspace with `-` for each character but letters and digits. Of a path that is longer than 200 characters, it
 *   is these characters and any end;
 * - `{workspace:slashes}`: the path without its first slash, with `-` for each slash and colon;
 * - `{workspace:uri}`: the path, percent-encoded;
 * - `{project}`: any one name, the same in all patterns of a conversation.
 */

/** A file that the run receives a copy of. Its changes are discarded. */
export interface CopiedFile {
  readonly path: string
  /** Names of objects in its JSON whose keys are paths of workspaces. The copy has the entry of the run's workspace only. */
  readonly perWorkspace?: ReadonlyArray<string> | undefined
}

/** Path in a JSON document: names of members. `*` stands for each member, the same in all paths of a token. */
export type JsonPath = ReadonlyArray<string>

/** A sign-in that the runtime renews, in a file of JSON. */
export interface RenewedToken {
  /** Texts that a renewal replaces. Nothing else of the file is taken over from a run. */
  readonly values: ReadonlyArray<JsonPath>
  /** A time in milliseconds, seconds or ISO 8601: when the token expires, or when it was renewed. The newer token wins. */
  readonly time: JsonPath
  readonly timeIs?: "expiry" | "renewal" | undefined
}

/** A file of at most 64 KiB with sign-ins. A renewed one reaches the user's state and all live runs of the runtime. */
export interface CredentialFile {
  readonly path: string
  readonly tokens: ReadonlyArray<RenewedToken>
}

/** Files of a conversation. A resumed run receives those of its conversation. Those that a run leaves come back. */
export interface ConversationFiles {
  readonly files: ReadonlyArray<string>
  /** Which ids conversations have: `uuid` (default), or 8 to 64 letters, digits, `_` and `-` with a digit. */
  readonly sessions?: "uuid" | "token" | undefined
  /**
   * File of the conversation that names its workspace, if not every path does: by its own path, in a member of its first line of JSON, or without
   * `at` as its whole content. Files without it do not come back.
   */
  readonly workspace?: { readonly file: string; readonly at?: JsonPath | undefined } | undefined
}

/** A database of all workspaces, which confined runs have one of for each workspace. The user's own is neither read nor changed. */
export interface WorkspaceDatabase {
  /** Name of its folder in the state folder of the run. */
  readonly folder: string
  /** Environment variable of the runtime that names the folder, or the file in it. */
  readonly variable: string
  readonly file?: string | undefined
}

/** A folder in which a runtime keeps its state, or a file. */
export interface StateFolder {
  /** Relative to the user's home directory, `/`-separated: `.claude`. */
  readonly path: string
  /** Environment variable of the runtime with another absolute path. */
  readonly variable?: string | undefined
  /** `parent`: the variable names the folder that contains the last name of `path`. Default: `folder`. */
  readonly variableNames?: "folder" | "parent" | undefined
  /** A file is a copy like those of `copied`. It has no other patterns. */
  readonly kind?: "folder" | "file" | undefined
  /** Only for a file: `perWorkspace` of its copy. */
  readonly perWorkspace?: ReadonlyArray<string> | undefined
  /** Patterns of files and folders that runs see read-only, if they exist: settings, instructions, hooks, servers, plugins. */
  readonly settings?: ReadonlyArray<string> | undefined
  readonly copied?: ReadonlyArray<CopiedFile> | undefined
  readonly credentials?: ReadonlyArray<CredentialFile> | undefined
  readonly conversations?: ReadonlyArray<ConversationFiles> | undefined
  readonly database?: WorkspaceDatabase | undefined
}

/** Folders that an adapter declares. */
export interface RuntimeFolders {
  readonly state: ReadonlyArray<StateFolder>
  /** Absolute paths that runs only read, in addition to the folder of the program. */
  readonly reads?: ReadonlyArray<string> | undefined
}
