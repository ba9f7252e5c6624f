/**
 * The Chromium of the browser tests: the one that `CORRAL_CHROMIUM` names, else on Linux x64 the one of a development package, which brings
 * its program compressed, else the system's.
 *
 * The program is unpacked once per user and version, into a folder that later test runs use again.
 */
import { lastingFolder } from "../files/TemporaryFiles.ts"
import { execFileSync, spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { userInfo } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { brotliDecompress } from "node:zlib"
import { type Browser, chromium } from "playwright-core"

const named = process.env["CORRAL_CHROMIUM"]
const ofSystem = "/usr/bin/chromium"
const packed = process.platform === "linux" && process.arch === "x64"

/** Without one these tests are skipped. */
export const hasChromium = named === undefined ? packed || existsSync(ofSystem) : existsSync(named)

export interface Chromium {
  readonly path: string
  /** What it needs beside the environment of the tests. */
  readonly env: Readonly<Record<string, string>>
}

/** Starts it without a window, and without what it does on its own in the network. */
export const launchChromium = async (): Promise<Browser> => {
  const { env, path } = await chromiumHere()
  const args = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-features=SpareRendererForSitePerProcess"
  ]
  return chromium.launch({ executablePath: path, args, env: { ...process.env, ...env } })
}

/** Ready to be started. */
export const chromiumHere = async (): Promise<Chromium> => {
  if (named !== undefined) return { path: named, env: {} }
  return packed ? unpacked() : { path: ofSystem, env: {} }
}

const unpacked = async (): Promise<Chromium> => {
  const bin = fileURLToPath(new URL("../bin/", import.meta.resolve("@sparticuz/chromium")))
  const { version } = JSON.parse(readFileSync(join(bin, "../package.json"), "utf8"))
  const { uid } = userInfo()
  const folder = join(lastingFolder(), `corral-chromium-${version}-${uid}`)
  if (!existsSync(folder)) await unpack(bin, folder)
  if (statSync(folder).uid !== uid) throw new Error(`${folder} belongs to another user`)
  const path = join(folder, "chromium")
  // Libraries that a small system lacks come along.
  const libraries = { LD_LIBRARY_PATH: join(folder, "lib") }
  const env = spawnSync(path, ["--version"]).status === 0 ? {} : libraries
  const fonts = existsSync("/etc/fonts/fonts.conf") ? {} : { FONTCONFIG_PATH: folder }
  return { path, env: { ...env, ...fonts } }
}

/** Unpacks atomically, even if two test processes unpack concurrently. Takes seconds without blocking. */
const unpack = async (bin: string, folder: string): Promise<void> => {
  const fresh = mkdtempSync(`${folder}.`)
  const read = (name: string) => promisify(brotliDecompress)(readFileSync(join(bin, name)))
  try {
    writeFileSync(join(fresh, "chromium"), await read("chromium.br"), { mode: 0o755 })
    for (const name of ["al2023", "fonts", "swiftshader"])
      execFileSync("tar", ["-xf", "-", "-C", fresh], { input: await read(`${name}.tar.br`) })
    renameSync(fresh, folder)
  } catch (error) {
    rmSync(fresh, { recursive: true, force: true })
    if (!existsSync(folder)) throw error
  }
}
