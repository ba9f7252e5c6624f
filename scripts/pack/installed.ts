/** Packed packages in a folder outside the repository, as `npm install` would lay them out. Their libraries are those of the repository. */
import { spawnSync } from "node:child_process"
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { root } from "./Modules.ts"
import { packInto } from "./pack.ts"

export interface InstalledManifest {
  readonly name: string
  readonly files: ReadonlyArray<string>
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

export interface Installed {
  readonly folder: string
  readonly manifests: ReadonlyArray<InstalledManifest>
}

declare module "vitest" {
  interface ProvidedContext {
    /**
     * Of `SharedPackages.ts`. Read-only for tests: a test that adds files makes its own folder below, which finds the packages too. The
     * tarballs are in `tarballs`, those of the command in `command`, and that of the template in `template`.
     */
    readonly packages: Installed
  }
}

/** Packs all packages and installs them in a new folder outside the repository. */
export const installPackages = (): Installed => {
  const folder = mkdtempSync(join(tmpdir(), "corral-packages-"))
  const tarballs = join(folder, "tarballs")
  packInto(tarballs)
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }))
  return { folder, manifests: installInto(folder, tarballs) }
}

/** Unpacks each tarball of a folder into `node_modules` of another, and links the libraries that it declares and no others. */
const installInto = (folder: string, tarballs: string): ReadonlyArray<InstalledManifest> => {
  const modules = join(folder, "node_modules")
  const manifests = readdirSync(tarballs).map((tarball) => {
    const place = join(modules, "@corral", /^corral-([a-z]+)-/.exec(tarball)?.[1] ?? "")
    mkdirSync(place, { recursive: true })
    const { status } = spawnSync("tar", [
      "-xzf",
      join(tarballs, tarball),
      "-C",
      place,
      "--strip-components=1"
    ])
    if (status !== 0) throw new Error(`${tarball} cannot be unpacked`)
    const manifest: InstalledManifest = JSON.parse(readFileSync(join(place, "package.json"), "utf8"))
    return manifest
  })
  for (const { dependencies, peerDependencies } of manifests)
    for (const name of Object.keys({ ...dependencies, ...peerDependencies })) linkLibrary(modules, name)
  return manifests
}

/** Makes a library of the repository available. */
export const linkLibrary = (modules: string, name: string): void => {
  const link = join(modules, name)
  if (name.startsWith("@corral/") || existsSync(link)) return
  mkdirSync(dirname(link), { recursive: true })
  symlinkSync(join(root, "node_modules", name), link)
}
