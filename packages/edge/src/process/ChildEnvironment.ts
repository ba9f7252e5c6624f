/**
 * Environment of a child process: variables that any program needs, those that its runtime requests, and no others. Variables that start
 * with `CORRAL_` are never passed.
 *
 * HOME is the user's, because runtimes store their sign-in there. The temporary folder is the run's. `XDG_RUNTIME_DIR` is not passed: it
 * leads to the sockets of the user's session, such as keys and containers.
 */
import { delimiter, isAbsolute, join } from "node:path"
import { accessSync, constants, statSync } from "node:fs"
import { homedir } from "node:os"

const BASE = [
  "PATH",
  "HOME",
  "USER",
  "LOGNAME",
  "SHELL",
  "LANG",
  "LC_*",
  "TZ",
  "TERM",
  "SSL_CERT_*",
  "NODE_EXTRA_CA_CERTS"
]

const matches = (name: string, pattern: string): boolean =>
  pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern

/** Defaults from the user database, for variables that are not set. Empty for an unknown user. */
const home = (configured: string | undefined): { readonly HOME?: string } => {
  if (configured !== undefined && configured !== "") return { HOME: configured }
  try {
    return { HOME: homedir() }
  } catch {
    return {}
  }
}

const withoutOurs = (env: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith("CORRAL_")))

export const childEnvironment = (options: {
  readonly edge: Readonly<Record<string, string>>
  readonly pass: ReadonlyArray<string>
  /** Variables of the adapter, then of the run. */
  readonly set: Readonly<Record<string, string>>
  readonly cwd: string
  /** Folder for temporary files. */
  readonly temporary: string
}): Record<string, string> => {
  const patterns = [...BASE, ...options.pass]
  const env: Record<string, string> = {}
  for (const [name, value] of Object.entries(options.edge)) {
    if (!name.startsWith("CORRAL_") && patterns.some((pattern) => matches(name, pattern))) env[name] = value
  }
  // Some runtimes trust PWD over the real working directory.
  return {
    ...env,
    ...home(env.HOME),
    TMPDIR: options.temporary,
    TMP: options.temporary,
    TEMP: options.temporary,
    NO_COLOR: "1",
    TERM: "dumb",
    ...withoutOurs(options.set),
    PWD: options.cwd
  }
}

const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

/** The absolute path of a program on that PATH, or `undefined`. */
export const findProgram = (file: string, path: string | undefined): string | undefined => {
  if (isAbsolute(file)) return isExecutable(file) ? file : undefined
  return (path ?? "")
    .split(delimiter)
    .filter((folder) => isAbsolute(folder))
    .map((folder) => join(folder, file))
    .find(isExecutable)
}
