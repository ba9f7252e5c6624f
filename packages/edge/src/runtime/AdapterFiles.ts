/** Files of external adapters: packages are resolved as in Node, from the folder of the configuration upwards. */
import { existsSync, readFileSync } from "node:fs"
import { dirname, isAbsolute, join, resolve } from "node:path"

export interface AdapterFile {
  readonly file: string
  /** The folder of a package. */
  readonly root?: string | undefined
  readonly version?: string | undefined
}

interface PackageManifest {
  readonly exports?: unknown
  readonly main?: unknown
  readonly version?: unknown
}

/** Whether an entry of `adapters` is a path, and not the name of a package. */
export const isAdapterPath = (specifier: string): boolean =>
  specifier.startsWith(".") || isAbsolute(specifier)

/** The file that the conditions of `exports` select. */
const exported = (value: unknown): string | undefined => {
  if (typeof value === "string") return value
  if (typeof value !== "object" || value === null) return undefined
  for (const [key, inner] of Object.entries(value)) {
    if (key === "." || key === "import" || key === "node" || key === "default") {
      const found = exported(inner)
      if (found !== undefined) return found
    }
  }
  return undefined
}

const packageAt = (root: string): AdapterFile => {
  const { exports, main, version }: PackageManifest = JSON.parse(
    readFileSync(join(root, "package.json"), "utf8")
  )
  const file = resolve(root, exported(exports) ?? (typeof main === "string" ? main : "index.js"))
  return { root, file, ...(typeof version === "string" ? { version } : {}) }
}

/** The module of an entry of `adapters`; `undefined` if there is none. Throws if a package cannot be read. */
export const locateAdapter = (specifier: string, from: string): AdapterFile | undefined => {
  if (isAdapterPath(specifier)) {
    const path = resolve(from, specifier)
    if (existsSync(join(path, "package.json"))) return packageAt(path)
    return existsSync(path) ? { file: path } : undefined
  }
  for (let folder = from; ; folder = dirname(folder)) {
    const root = join(folder, "node_modules", specifier)
    if (existsSync(join(root, "package.json"))) return packageAt(root)
    if (folder === dirname(folder)) return undefined
  }
}
