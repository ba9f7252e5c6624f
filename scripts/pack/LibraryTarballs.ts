/** Tarballs of the repository's libraries with everything that they need, for a registry on loopback: tests install them without a network. */
import { execFileSync } from "node:child_process"
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import type { InstalledManifest } from "./installed.ts"
import { root } from "./Modules.ts"

interface LibraryManifest {
  readonly name: string
  readonly version: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
}

const manifestOf = (folder: string): LibraryManifest =>
  JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))

/** Libraries of others that packages of this repository need, and that those need which they import. */
export const librariesOf = (
  names: ReadonlyArray<string>,
  manifests: ReadonlyArray<InstalledManifest>
): ReadonlyArray<string> => {
  const found = new Set<string>()
  const visit = (name: string): void => {
    if (found.has(name)) return
    found.add(name)
    const { dependencies, peerDependencies } = manifests.find((each) => each.name === name) ?? {}
    for (const need of Object.keys({ ...dependencies, ...peerDependencies })) visit(need)
  }
  for (const name of names) visit(name)
  return [...found].filter((name) => !name.startsWith("@corral/"))
}

/** The folder of a library as Node finds it from another folder. */
const folderOf = (name: string, from: string): string => {
  const place = join(from, "node_modules", name)
  if (existsSync(join(place, "package.json"))) return realpathSync(place)
  if (from === dirname(from)) throw new Error(`${name} is not installed`)
  return folderOf(name, dirname(from))
}

const needsOf = ({ dependencies, peerDependencies, peerDependenciesMeta }: LibraryManifest) => [
  ...Object.keys(dependencies ?? {}),
  ...Object.keys(peerDependencies ?? {}).filter((name) => peerDependenciesMeta?.[name]?.optional !== true)
]

/** Folders of the libraries and of everything that they need. */
const closureOf = (names: ReadonlyArray<string>): ReadonlySet<string> => {
  const found = new Set<string>()
  const visit = (name: string, from: string): void => {
    const folder = folderOf(name, from)
    if (found.has(folder)) return
    found.add(folder)
    for (const need of needsOf(manifestOf(folder))) visit(need, folder)
  }
  for (const name of names) visit(name, root)
  return found
}

/**
 * Not compressed, because packing and unpacking are faster that way. With what installation built, so that no script needs to run, except
 * links: npm leaves them out of a package.
 */
const packFolder = (folder: string, version: string, target: string): void => {
  const { name, ...manifest } = manifestOf(folder)
  const tarball = join(target, `${name.replace("/", "-")}-${version}.tgz`)
  const without = ["./package.json", "./node_modules"].map((path) => `--exclude=${path}`)
  execFileSync("tar", ["-cf", tarball, ...without, "--transform=s,^\\.,package,", "-C", folder, "."])
  const stage = mkdtempSync(join(tmpdir(), "corral-library-"))
  mkdirSync(join(stage, "package"))
  writeFileSync(join(stage, "package/package.json"), JSON.stringify({ name, ...manifest, version }))
  execFileSync("tar", ["-rf", tarball, "-C", stage, "package/package.json"])
  rmSync(stage, { recursive: true })
}

/** Writes the tarballs. `versions`: other versions than the installed ones, by name. */
export const packLibraries = (
  names: ReadonlyArray<string>,
  target: string,
  versions: Readonly<Record<string, string>> = {}
): void => {
  for (const folder of closureOf(names)) {
    const { name, version } = manifestOf(folder)
    packFolder(folder, versions[name] ?? version, target)
  }
}
