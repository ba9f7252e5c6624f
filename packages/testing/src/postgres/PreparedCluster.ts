/**
 * Data folder of an embedded PostgreSQL with a Hub's tables. A Hub makes it once per run of tests, and others start on copies: `initdb` and
 * the migrations take most of a second of a processor.
 */
import { Effect, Layer } from "effect"
import { HubConfig, hubDefaults } from "@corral/hub/config/HubConfig"
import { hubDatabaseLayer } from "@corral/hub/store/Database"
import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import { folderOfRun } from "./SharedPostgres.ts"

const VERSION = "18"

/** Makes it next to its place and renames it: another test process may do the same. */
const prepared = async (): Promise<string> => {
  const place = join(folderOfRun(), "cluster")
  if (existsSync(place)) return place
  const home = mkdtempSync(join(folderOfRun(), "hub-"))
  const database = Layer.provide(hubDatabaseLayer, Layer.succeed(HubConfig, { ...hubDefaults, home }))
  await Effect.runPromise(Effect.scoped(Layer.build(database)))
  try {
    renameSync(join(home, "postgres", VERSION), place)
  } catch (error) {
    if (!existsSync(place)) throw error
  }
  rmSync(home, { recursive: true, force: true })
  return place
}

/** Puts a copy into the home of a Hub that has not started. */
export const copyCluster = async (home: string): Promise<void> => {
  const folder = join(home, "postgres")
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  // With its modes: the server refuses a folder that others may read.
  execFileSync("cp", ["-a", await prepared(), join(folder, VERSION)])
}
