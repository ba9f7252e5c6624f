/** Tarballs of the repository's libraries with everything that they need, for a registry on loopback: tests install them without a network. */
import { execFileSync } from "node:child_process"
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
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

/** Not compressed, because packing and unpacking are faster that way. With what installation built, so that no script needs to run. */
const packFolder = (folder: string, version: string, target: string): void => {
  const stage = mkdtempSync(join(tmpdir(), "corral-library-"))
  const { name, ...manifest } = manifestOf(folder)
  const tarball = join(target, `${name.replace("/", "-")}-${version}.tgz`)
  symlinkSync(folder, join(stage, "package"))
  const without = ["package/package.json", "package/node_modules"].map((path) => `--exclude=${path}`)
  execFileSync("tar", ["-chf", tarball, ...without, "-C", stage, "package"])
  rmSync(join(stage, "package"))
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
