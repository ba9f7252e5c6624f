/**
 * Folders of a runtime outside the workspace, which its runs need when the operating system confines them. An adapter declares them as data.
 */

/** A folder or a file in which a runtime keeps its state. Runs write it in every mode. */
export interface StateFolder {
  /** Relative to the user's home directory, `/`-separated: `.claude`. */
  readonly path: string
  /** Environment variable of the runtime with another absolute path. */
  readonly variable?: string | undefined
  /** A file is available only if it exists. A missing folder is created. */
  readonly kind?: "folder" | "file" | undefined
  /**
   * Names inside the folder that a later run obeys or executes, such as hooks and commands: no run writes them. A name that ends with `/` is
   * a folder, and is created if it is missing. A file is protected only if it exists.
   */
  readonly executed?: ReadonlyArray<string> | undefined
}

/** Folders that an adapter declares. */
export interface RuntimeFolders {
  readonly state: ReadonlyArray<StateFolder>
  /** Absolute paths that runs only read, in addition to the folder of the program. */
  readonly reads?: ReadonlyArray<string> | undefined
}
