/**
 * Build plugin: SQLite for one platform, from a separate package.
 *
 * `better-sqlite3` contains the programs of every platform and its sources, 27 MB. With this plugin its JavaScript is bundled, and the
 * program comes from `@corral/sqlite-<platform>-<arch>`, of which npm installs the one for the machine (ADR 44).
 */
import type { Plugin } from "esbuild"
import { readdirSync } from "node:fs"
import { repository } from "./Bundler.ts"

const PREBUILDS = `${repository}node_modules/better-sqlite3/prebuilds`

export interface SqlitePlatform {
  /** Package name. */
  readonly name: string
  /** File with the program. */
  readonly program: string
  readonly os: string
  readonly cpu: string
  /** C library, on Linux. */
  readonly libc?: string
}

/** Platforms for which `better-sqlite3` has a program. */
export const sqlitePlatforms = (): ReadonlyArray<SqlitePlatform> =>
  readdirSync(PREBUILDS).map((file) => {
    const [, os = "", musl, cpu = ""] = /^(linux|darwin|win32)(musl)?-(x64|arm64)\.node$/.exec(file) ?? []
    if (os === "") throw new Error(`better-sqlite3 has a program for an unknown platform: ${file}`)
    const libc = os === "linux" ? { libc: musl === undefined ? "glibc" : "musl" } : {}
    const name = `@corral/sqlite-${file.slice(0, -".node".length)}`
    return { name, program: `${PREBUILDS}/${file}`, os, cpu, ...libc }
  })

const BINDING = `
const { arch, platform } = process
const systems = platform === "linux" ? [platform, "linuxmusl"] : [platform]
let addon
const load = () => {
  for (const system of systems) {
    try {
      return require("@corral/sqlite-" + system + "-" + arch)
    } catch {}
  }
  const error = new Error(
    "SQLite for " + platform + "-" + arch + " is not installed: install Corral's optional dependencies (npm install --include=optional)."
  )
  error.name = "SqliteMissing"
  throw error
}
exports.getBinding = () => (addon ??= load())
`

export const installedSqlite: Plugin = {
  name: "installed SQLite",
  setup: ({ onLoad }) => {
    onLoad({ filter: /[\\/]better-sqlite3[\\/]lib[\\/]binding\.js$/ }, () => ({
      contents: BINDING,
      loader: "js"
    }))
  }
}
