/** Packages that people install, as tarballs. */
import { documentedServices, writeServiceDocuments } from "../bundle/ServiceDocuments.ts"
import { spawnSync } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { sqlitePlatforms } from "../bundle/InstalledSqlite.ts"
import { stageCommand, stageSqlite } from "./CommandPackage.ts"
import { hasNotices, noticesOf } from "../Notices.ts"
import { manifestOf } from "./Manifest.ts"
import {
  type Closure,
  closureOf,
  codeAddresses,
  declarationAddresses,
  root,
  writeCode,
  writeDeclarations
} from "./Modules.ts"
import { type Packed, packed } from "./packages.ts"
import { repositoryField } from "./Repository.ts"

const allModules = (name: string): ReadonlyArray<string> =>
  readdirSync(join(root, "packages", name, "src"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => file.slice(0, -".ts".length))
    .toSorted()

/** Modules that a package exports. */
export const publicModules = ({ modules, name }: Packed): ReadonlyArray<string> =>
  modules === "all" ? allModules(name) : modules

/** Writes the content of a package into a folder. */
const stage = ({ folders = [], modules, name, started = [] }: Packed, folder: string): void => {
  const source = join(root, "packages", name)
  const exported = publicModules({ modules, name })
  const code = closureOf(name, [...exported, ...started], codeAddresses)
  const types = closureOf(name, exported, declarationAddresses)
  assertExported(name, code)
  assertExported(name, types)
  for (const module of code.contained) writeCode(name, module, join(folder, "lib"))
  for (const module of types.contained) writeDeclarations(name, module, join(folder, "lib"))
  const documented = documentedServices.filter((each) => each === name)
  if (documented.length > 0) writeServiceDocuments(folder, documented)
  for (const each of folders) cpSync(join(source, each), join(folder, each), { recursive: true })
  const licenses = `packages/${name}/src/**/*.LICENSE`
  const notices = hasNotices(root, licenses) ? ["THIRD-PARTY-NOTICES.txt"] : []
  for (const file of notices) writeFileSync(join(folder, file), noticesOf(root, [], licenses))
  const manifest = manifestOf(
    JSON.parse(readFileSync(join(source, "package.json"), "utf8")),
    exported,
    { code, types },
    [...folders, ...(documented.length > 0 ? ["documents"] : []), ...notices]
  )
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`)
  cpSync(join(source, "README.md"), join(folder, "README.md"))
  cpSync(join(root, "LICENSE"), join(folder, "LICENSE"))
}

/** A package may import only what another one exports. */
const assertExported = (owner: string, { imported }: Closure): void => {
  for (const { owner: other, path } of imported) {
    const modules = packed.find(({ name }) => name === other)?.modules
    if (modules === undefined || (modules !== "all" && !modules.includes(path)))
      throw new Error(
        `@corral/${owner} imports @corral/${other}/${path}, which is not exported: see scripts/pack/packages.ts`
      )
  }
}

/** Writes a tarball of each folder below `staged` into `to`. */
const packFolders = (to: string, staged: string, folders: ReadonlyArray<string>): void => {
  mkdirSync(to, { recursive: true })
  const args = ["pack", "--silent", "--ignore-scripts", "--pack-destination", to]
  const { status, stderr } = spawnSync("npm", [...args, ...folders.map((folder) => `./${folder}`)], {
    cwd: staged,
    encoding: "utf8"
  })
  if (status !== 0) throw new Error(`npm pack: ${stderr}`)
}

/** Packs what programs import: writes the declarations, and a tarball for each package into the folder. */
export const packInto = (to: string): void => {
  const { status, stdout } = spawnSync(process.execPath, ["scripts/declarations.ts"], {
    cwd: root,
    encoding: "utf8"
  })
  if (status !== 0) throw new Error(stdout)
  const staged = mkdtempSync(join(tmpdir(), "corral-pack-"))
  try {
    for (const each of packed) stage(each, join(staged, each.name))
    packFolders(
      to,
      staged,
      packed.map(({ name }) => name)
    )
  } finally {
    rmSync(staged, { recursive: true, force: true })
  }
}

const TEMPLATE = "create-corral-adapter"

/** Packs the template for adapters, whose files are shipped as they are. */
export const packTemplate = (to: string): void => {
  const staged = mkdtempSync(join(tmpdir(), "corral-pack-"))
  const template = join(staged, TEMPLATE)
  try {
    cpSync(join(root, "packages", TEMPLATE), template, { recursive: true })
    cpSync(join(root, "LICENSE"), join(template, "LICENSE"))
    const file = join(template, "package.json")
    const { private: _, ...manifest } = JSON.parse(readFileSync(file, "utf8"))
    const shipped = { ...manifest, ...repositoryField(`packages/${TEMPLATE}`) }
    writeFileSync(file, `${JSON.stringify(shipped, null, 2)}\n`)
    packFolders(to, staged, [TEMPLATE])
  } finally {
    rmSync(staged, { recursive: true, force: true })
  }
}

/** Packs the command, and SQLite for each platform. */
export const packCommand = async (to: string): Promise<void> => {
  const staged = mkdtempSync(join(tmpdir(), "corral-pack-"))
  try {
    const platforms = sqlitePlatforms()
    for (const platform of platforms) stageSqlite(join(staged, platform.name), platform)
    await stageCommand(join(staged, "corral"))
    packFolders(to, staged, ["corral", ...platforms.map(({ name }) => name)])
  } finally {
    rmSync(staged, { recursive: true, force: true })
  }
}
