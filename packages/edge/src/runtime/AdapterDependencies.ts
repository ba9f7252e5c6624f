/**
 * Packages that the module of an external adapter can import: the dependencies of its package, as Node finds them, and theirs.
 *
 * Does not: read modules. An import of a package that no manifest names is not found.
 */
import { existsSync, readFileSync, realpathSync } from "node:fs"
import { dirname, join } from "node:path"

/** Maximum number of packages, more than an adapter needs. */
const MAX_PACKAGES = 1_000

const namesIn = (root: string): ReadonlyArray<string> => {
  try {
    const manifest: unknown = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
    return ["dependencies", "peerDependencies", "optionalDependencies"].flatMap((field) =>
      Object.keys(Object(Reflect.get(Object(manifest), field)))
    )
  } catch {
    // Node cannot import such a package either.
    return []
  }
}

/** The folder of a package as a module in another folder finds it. */
const folderOf = (name: string, from: string): string | undefined => {
  const place = join(from, "node_modules", name)
  if (existsSync(join(place, "package.json"))) return realpathSync(place)
  return from === dirname(from) ? undefined : folderOf(name, dirname(from))
}

/** Real paths of the folders, without the package itself. */
export const dependencyFolders = (root: string): ReadonlyArray<string> => {
  const found = new Set([realpathSync(root)])
  for (const folder of found) {
    for (const name of namesIn(folder)) {
      const place = folderOf(name, folder)
      if (place !== undefined) found.add(place)
    }
    if (found.size > MAX_PACKAGES) break
  }
  return [...found].slice(1)
}
