/**
 * Ownership check for code that the Edge is about to run. Every file, of its package and of the packages that this one depends on, and every
 * folder above belongs to the Edge's user or root, and others cannot write to it. A parent folder with the sticky bit is allowed: others
 * cannot replace its entries.
 */
import { type Stats, existsSync, lstatSync, readFileSync, readdirSync, realpathSync, statSync } from "node:fs"
import { basename, dirname, join, sep } from "node:path"

// Packages that the module of an external adapter can import: the dependencies of its package, as Node finds them, and theirs.
//
// Does not: read modules. An import of a package that no manifest names is not found.

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
const dependencyFolders = (root: string): ReadonlyArray<string> => {
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

/** Maximum number of files, more than a package of code has. */
const MAX_FILES = 20_000
const WRITABLE_BY_OTHERS = 0o022
const STICKY = 0o1000

const unsafe = (path: string, stat: Stats, isAbove: boolean): string | undefined => {
  const ours = process.getuid === undefined || stat.uid === process.getuid() || stat.uid === 0
  if (!ours) return `${path} belongs to another user`
  // The permissions of a symbolic link have no effect.
  if (stat.isSymbolicLink() || (stat.mode & WRITABLE_BY_OTHERS) === 0) return undefined
  return isAbove && (stat.mode & STICKY) !== 0
    ? undefined
    : `other users can write ${path}; run chmod -R go-w ${path}`
}

const above = (path: string): ReadonlyArray<string> => {
  const folders: Array<string> = []
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    folders.push(folder)
    if (folder === dirname(folder)) return folders
  }
}

/** First reason why others can change this path or a folder above it. */
const reasonAround = (path: string): string | undefined => {
  const fileReason = unsafe(path, lstatSync(path), false)
  if (fileReason !== undefined) return fileReason
  for (const folder of above(path)) {
    const reason = unsafe(folder, lstatSync(folder), true)
    if (reason !== undefined) return reason
  }
  return undefined
}

/** The first reason inside a folder. `deep` includes its subfolders. */
const reasonInside = (root: string, deep: boolean): string | undefined => {
  const waiting = [root]
  let files = 0
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name)
      if (!deep && !/\.(?:[cm]?js|json)$/.test(entry.name)) continue
      if (++files > MAX_FILES) return `${root} has more than ${MAX_FILES} files`
      const stat = lstatSync(path)
      const reason = stat.isSymbolicLink() ? reasonAround(realpathSync(path)) : unsafe(path, stat, false)
      if (reason !== undefined) return reason
      if (deep && stat.isDirectory()) waiting.push(path)
    }
  }
  return undefined
}

/** The first reason in the packages that a package depends on. Folders in another one of them are examined with that one. */
const reasonInDependencies = (root: string): string | undefined => {
  const examined: Array<string> = [realpathSync(root)]
  for (const folder of dependencyFolders(root)) {
    if (examined.some((each) => folder.startsWith(`${each}${sep}`))) continue
    const reason = reasonAround(folder) ?? reasonInside(folder, true)
    if (reason !== undefined) return reason
    examined.push(folder)
  }
  return undefined
}

/** Reason why a file must not run, as words after "because"; `undefined` if it may. `root` is the folder of its package. */
export const distrustReason = (file: string, root?: string): string | undefined => {
  const real = realpathSync(file)
  if (!statSync(real).isFile()) return `${basename(file)} is not a file`
  const reason = reasonAround(file) ?? reasonAround(real)
  if (reason !== undefined) return reason
  return root === undefined
    ? reasonInside(dirname(real), false)
    : (reasonInside(realpathSync(root), true) ?? reasonInDependencies(root))
}
