/**
 * What a child sees of the Edge's environment: the names any program needs, those its runtime asks for, and nothing else. Tokens of
 * Corral itself never pass: no name that starts with `CORRAL_` does.
 *
 * The home is its owner's, because runtimes keep their sign-in there. Temporary files are the run's own. `XDG_RUNTIME_DIR` does not pass:
 * behind it are the sockets of the person's session (keys, passwords, containers), and programs do without it.
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

/** Of the user, where the environment does not say; none where the user is unknown to the system. */
const home = (own: string | undefined): { readonly HOME?: string } => {
  if (own !== undefined && own !== "") return { HOME: own }
  try {
    return { HOME: homedir() }
  } catch {
    return {}
  }
}

const withoutOurs = (env: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith("CORRAL_")))

export const childEnvironment = (options: {
  readonly own: Readonly<Record<string, string>>
  readonly pass: ReadonlyArray<string>
  /** Set by the adapter, then by the run. */
  readonly set: Readonly<Record<string, string>>
  readonly cwd: string
  /** Where it puts temporary files. */
  readonly temporary: string
}): Record<string, string> => {
  const patterns = [...BASE, ...options.pass]
  const env: Record<string, string> = {}
  for (const [name, value] of Object.entries(options.own)) {
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
