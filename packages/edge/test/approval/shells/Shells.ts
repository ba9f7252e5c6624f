/** Shells with which lines are tried: their names, how they start, and which are installed. */
import { existsSync } from "node:fs"
import { join } from "node:path"

export interface InstalledShell {
  readonly name: string
  /** Program and options. The line follows. */
  readonly command: readonly [string, ...ReadonlyArray<string>]
}

const starts: ReadonlyArray<readonly [name: string, program: string, options: ReadonlyArray<string>]> = [
  ["bash", "bash", ["-c"]],
  ["sh", "sh", ["-c"]],
  ["dash", "dash", ["-c"]],
  // Without the settings of this user.
  ["zsh", "zsh", ["-f", "-c"]],
  ["mksh", "mksh", ["-c"]],
  ["busybox", "busybox", ["sh", "-c"]]
]

/** Path of an installed program. */
export const programPath = (name: string): string | undefined =>
  ["/usr/bin", "/bin", "/usr/local/bin"].map((folder) => join(folder, name)).find((path) => existsSync(path))

/** Names of the shells that are tried. */
export const shellNames: ReadonlyArray<string> = starts.map(([name]) => name)

/** The shell of that name; `undefined` if it is not installed. */
export const installedShell = (wanted: string): InstalledShell | undefined =>
  starts.flatMap(([name, program, options]) => {
    const path = programPath(program)
    return name === wanted && path !== undefined ? [{ name, command: [path, ...options] as const }] : []
  })[0]
