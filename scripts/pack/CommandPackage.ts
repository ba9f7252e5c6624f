/**
 * The package `corral`: the command in one bundle with the console, and SQLite for one platform as a dependency (ADR 44).
 *
 * Does not contain: source maps, PostgreSQL (an optional dependency), and libraries of chat platforms that load on demand (an optional peer).
 */
import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { writeServiceDocuments } from "../bundle/ServiceDocuments.ts"
import { makeBundler } from "../bundle/Bundler.ts"
import { commandParts } from "../bundle/EdgeParts.ts"
import { installedSqlite, type SqlitePlatform, sqlitePlatforms } from "../bundle/InstalledSqlite.ts"
import { noticesOf } from "../Notices.ts"
import { root } from "./Modules.ts"
import { repositoryField } from "./Repository.ts"

interface WorkspaceManifest {
  readonly version: string
  readonly description: string
  readonly license: string
  readonly dependencies: Readonly<Record<string, string>>
  readonly optionalDependencies: Readonly<Record<string, string>>
}

const manifestAt = (folder: string): WorkspaceManifest =>
  JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"))

const writeManifest = (folder: string, manifest: object): void =>
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`)

const NOTICES = "THIRD-PARTY-NOTICES.txt"

/** Libraries that are loaded on demand, and not needed to start. */
const OPTIONAL = "@larksuiteoapi/node-sdk"

const commandManifest = () => {
  const { description, license, version } = manifestAt("")
  const sqlite = sqlitePlatforms().map(({ name }) => [name, version] as const)
  const lark = manifestAt("packages/gateway").dependencies[OPTIONAL]
  if (lark === undefined) throw new Error(`@corral/gateway does not depend on ${OPTIONAL}`)
  return {
    name: "corral",
    version,
    description,
    license,
    ...repositoryField("packages/cli"),
    keywords: ["coding agents", "approvals", "supervision", "self-hosted"],
    // The launcher is for Nodes that cannot run the rest, too.
    type: "commonjs",
    bin: { corral: "lib/index.js" },
    exports: { "./package.json": "./package.json" },
    files: ["lib", NOTICES],
    engines: { node: ">=22.19" },
    peerDependencies: { [OPTIONAL]: `^${lark}` },
    peerDependenciesMeta: { [OPTIONAL]: { optional: true } },
    optionalDependencies: {
      ...Object.fromEntries(sqlite),
      ...manifestAt("packages/hub").optionalDependencies
    }
  }
}

/** Writes the content of the package into a folder. */
export const stageCommand = async (folder: string): Promise<void> => {
  const lib = join(folder, "lib")
  const manifest = commandManifest()
  const bundler = makeBundler({
    hasSourceMaps: false,
    external: [OPTIONAL],
    plugins: [installedSqlite]
  })
  mkdirSync(lib, { recursive: true })
  await Promise.all([
    bundler.chunks(lib, "packages/cli/src/main.ts"),
    bundler.pages(lib),
    ...Object.entries(commandParts).map(([name, entry]) => bundler.file(join(lib, name), entry))
  ])
  writeServiceDocuments(lib)
  copyFileSync(join(root, "scripts/launcher.cjs"), join(lib, "index.js"))
  chmodSync(join(lib, "index.js"), 0o755)
  copyFileSync(join(root, "packages/cli/README.md"), join(folder, "README.md"))
  copyFileSync(join(root, "LICENSE"), join(folder, "LICENSE"))
  writeFileSync(join(folder, NOTICES), noticesOf(root, bundler.packages))
  writeManifest(folder, manifest)
}

/** Writes the package with SQLite for one platform into a folder. */
export const stageSqlite = (folder: string, { cpu, libc, name, os, program }: SqlitePlatform): void => {
  const { version } = manifestAt("")
  mkdirSync(folder, { recursive: true })
  copyFileSync(program, join(folder, "sqlite.node"))
  copyFileSync(join(root, "node_modules/better-sqlite3/LICENSE"), join(folder, "LICENSE"))
  const platform = `${os}-${cpu}${libc === undefined ? "" : ` (${libc})`}`
  writeFileSync(
    join(folder, "README.md"),
    `# ${name}\n\nSQLite for \`corral\` on ${platform}: the program of better-sqlite3. Installed with \`corral\`.\n`
  )
  // What the program was built from. SQLite itself is in the public domain.
  const sources = ["node_modules/better-sqlite3", "node_modules/node-addon-api"]
  writeFileSync(join(folder, NOTICES), noticesOf(root, sources, ""))
  writeManifest(folder, {
    name,
    version,
    description: `SQLite for corral on ${platform}`,
    license: "MIT",
    ...repositoryField("scripts/bundle"),
    type: "commonjs",
    main: "./sqlite.node",
    files: ["sqlite.node", NOTICES],
    os: [os],
    cpu: [cpu],
    ...(libc === undefined ? {} : { libc: [libc] })
  })
}
