/**
 * What a child sees of the Edge's environment: the names any program needs, those its runtime asks for, and nothing else. Tokens of
 * Corral itself never pass: no name that starts with `CORRAL_` does.
 */
import { delimiter, isAbsolute, join } from "node:path"
import { accessSync, constants, statSync } from "node:fs"

const BASE = [
  "PATH",
  "HOME",
  "USER",
  "LOGNAME",
  "SHELL",
  "LANG",
  "LC_*",
  "TZ",
  "TMPDIR",
  "TERM",
  "SSL_CERT_*",
  "NODE_EXTRA_CA_CERTS"
]

const matches = (name: string, pattern: string): boolean =>
  pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern

const withoutOurs = (env: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith("CORRAL_")))

export const childEnvironment = (options: {
  readonly own: Readonly<Record<string, string>>
  readonly pass: ReadonlyArray<string>
  /** Set by the adapter, then by the run. */
  readonly set: Readonly<Record<string, string>>
  readonly cwd: string
}): Record<string, string> => {
  const patterns = [...BASE, ...options.pass]
  const env: Record<string, string> = {}
  for (const [name, value] of Object.entries(options.own)) {
    if (!name.startsWith("CORRAL_") && patterns.some((pattern) => matches(name, pattern))) env[name] = value
  }
  // Some runtimes trust PWD over the real working directory.
  return { ...env, NO_COLOR: "1", TERM: "dumb", ...withoutOurs(options.set), PWD: options.cwd }
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
