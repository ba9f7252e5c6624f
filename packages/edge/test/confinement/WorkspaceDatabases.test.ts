import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, lutimesSync, mkdirSync, symlinkSync, utimesSync } from "node:fs"
import { join } from "node:path"
import { WorkspaceDatabases } from "../../src/confinement/RuntimeStates.ts"
import { openFolder } from "../Folder.ts"

const DAY_MS = 86_400_000
const NOW = Date.parse("2026-11-28T12:00:00Z")

describe("WorkspaceDatabases", () => {
  it("has a folder for each workspace, each folder of its runs and each runtime", () => {
    const databases = new WorkspaceDatabases(openFolder())
    const folders = [
      databases.folderOf("api", "/work", "/home/u/.codex"),
      databases.folderOf("web", "/work", "/home/u/.codex"),
      databases.folderOf("api", "/worktree", "/home/u/.codex"),
      databases.folderOf("api", "/work", "/home/u/.local/share/opencode")
    ]
    assert.strictEqual(new Set(folders).size, 4)
    assert.strictEqual(databases.folderOf("api", "/work", "/home/u/.codex"), folders[0])
  })

  it("removes those that no run of this Edge used, and none used for the days of the retention", async () => {
    const home = openFolder()
    const [unused, recent, used] = ["unused", "recent", "used"].map((name) =>
      new WorkspaceDatabases(home).folderOf(name, "/work", "/state")
    ) as [string, string, string]
    for (const [folder, days] of [
      [unused, 31],
      [recent, 29],
      [used, 31]
    ] as const) {
      mkdirSync(folder, { recursive: true })
      const seconds = (NOW - days * DAY_MS) / 1_000
      utimesSync(folder, seconds, seconds)
    }
    const databases = new WorkspaceDatabases(home)
    databases.folderOf("used", "/work", "/state")
    await Effect.runPromise(databases.sweep(0, NOW))
    assert.deepStrictEqual([unused, recent, used].map(existsSync), [true, true, true])
    await Effect.runPromise(databases.sweep(30, NOW))
    assert.deepStrictEqual([unused, recent, used].map(existsSync), [false, true, true])
  })

  it("removes old ones next to one with a link that leads to itself", async () => {
    const home = openFolder()
    const databases = new WorkspaceDatabases(home)
    const folders = ["a", "b", "c"].map((name) => databases.folderOf(name, "/work", "/state"))
    const seconds = (NOW - 31 * DAY_MS) / 1_000
    for (const folder of folders) {
      mkdirSync(folder, { recursive: true })
      symlinkSync("loop", join(folder, "loop"))
      lutimesSync(join(folder, "loop"), seconds, seconds)
      utimesSync(folder, seconds, seconds)
    }
    await Effect.runPromise(new WorkspaceDatabases(home).sweep(30, NOW))
    assert.deepStrictEqual(folders.map(existsSync), [false, false, false])
  })
})
