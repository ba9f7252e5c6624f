import type { WorkspaceId } from "@corral/domain/identity/Ids"
import type { RunMode } from "@corral/domain/run/Run"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { existsSync, mkdirSync, readdirSync, statSync, symlinkSync, utimesSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { EdgeConfig, makeEdgeConfig } from "../../src/config/EdgeConfig.ts"
import { cacheFolderOf, WorkspaceCaches } from "../../src/confinement/WorkspaceCaches.ts"
import { temporaryFolder } from "../Folder.ts"

const DAY_MS = 86_400_000
const api = "api" as WorkspaceId
const web = "web" as WorkspaceId

const open = Effect.fnUntraced(function* (more: Partial<EdgeConfig> = {}) {
  const folder = yield* temporaryFolder
  const [edgeHome, home] = [join(folder, "edge"), join(folder, "user")]
  mkdirSync(home)
  const config = makeEdgeConfig({ home: edgeHome, ...more })
  const services = yield* Layer.build(
    Layer.fresh(Layer.provide(WorkspaceCaches.layer, Layer.succeed(EdgeConfig, config)))
  )
  const caches = yield* Effect.provideContext(WorkspaceCaches, services)
  const opened = (workspace: WorkspaceId | undefined, mode: RunMode = "ask", root = "/work") =>
    caches.open({ workspace, mode, root, home })
  const folderOf = (workspace: WorkspaceId, root = "/work") => cacheFolderOf(edgeHome, workspace, root)
  /** A run that wrote that number of KiB, and ended. */
  const used = Effect.fnUntraced(function* (workspace: WorkspaceId, kib = 1) {
    yield* Effect.scoped(opened(workspace))
    writeFileSync(join(folderOf(workspace), ".cache", "file"), Buffer.alloc(kib * 1_024, "x"))
  })
  return { caches, edgeHome, folderOf, home, opened, used }
})

const sourceOf = (mounted: ReadonlyArray<{ readonly name: string; readonly source: string | undefined }>) =>
  Object.fromEntries(mounted.map(({ name, source }) => [name, source]))

describe("WorkspaceCaches", () => {
  it.effect("has a folder for each workspace and each folder of its runs, for the user only", () =>
    Effect.gen(function* () {
      const { edgeHome, folderOf, opened } = yield* open()
      const [first, again] = [yield* opened(api), yield* opened(api, "auto_edit")]
      assert.deepStrictEqual(first, again)
      assert.deepStrictEqual(sourceOf(first)[".npm"], join(folderOf(api), ".npm"))
      const folders = new Set([folderOf(api), folderOf(web), folderOf(api, "/worktree")])
      assert.strictEqual(folders.size, 3)
      for (const path of [join(edgeHome, "caches"), folderOf(api), join(folderOf(api), ".cache")])
        assert.strictEqual(statSync(path).mode & 0o777, 0o700, path)
    })
  )

  it.effect.each<RunMode>(["read_only", "plan"])(
    "in %s gives nothing that a run could write for later",
    (mode) =>
      Effect.gen(function* () {
        const { opened } = yield* open()
        for (const { isWritable, source } of yield* opened(api, mode))
          assert.isTrue(source === undefined || !isWritable)
      })
  )

  it.effect("gives a run without a workspace private caches only", () =>
    Effect.gen(function* () {
      const { edgeHome, opened } = yield* open()
      assert.deepStrictEqual(sourceOf(yield* opened(undefined)), { ".cache": undefined, ".npm": undefined })
      assert.isFalse(existsSync(join(edgeHome, "caches")))
    })
  )

  it.effect("leaves a store of the home as it is", () =>
    Effect.gen(function* () {
      const { home, opened } = yield* open()
      mkdirSync(join(home, ".cargo", "registry"), { recursive: true })
      const names = (yield* opened(api)).map(({ name }) => name)
      assert.deepStrictEqual(names, [".cache", ".npm", ".cargo/git", "go/pkg"])
    })
  )

  it.effect("removes caches that no run used for the days of the retention, and no others", () =>
    Effect.gen(function* () {
      const { caches, folderOf, opened, used } = yield* open({ retention: { days: 2, maxMiB: 0 } })
      yield* TestClock.setTime(10 * DAY_MS)
      const live = yield* Scope.make()
      yield* Scope.provide(opened(web), live)
      yield* used(api)
      yield* TestClock.setTime(11 * DAY_MS)
      yield* caches.sweep
      assert.isTrue(existsSync(folderOf(api)))
      yield* TestClock.setTime(13 * DAY_MS)
      yield* caches.sweep
      assert.isFalse(existsSync(folderOf(api)))
      assert.isTrue(existsSync(folderOf(web)), "it is in use")
      yield* Scope.close(live, Exit.void)
      yield* caches.sweep
      assert.isTrue(existsSync(folderOf(web)), "it was in use until now")
      yield* TestClock.setTime(16 * DAY_MS)
      yield* caches.sweep
      assert.isFalse(existsSync(folderOf(web)))
    })
  )

  it.live("removes the oldest caches while all are too large", () =>
    Effect.gen(function* () {
      const { caches, edgeHome, folderOf, used } = yield* open({ cacheMaxMiB: 2 })
      yield* used(web, 1_500)
      utimesSync(folderOf(web), 1_000, 1_000)
      yield* used(api, 1_500)
      yield* caches.sweep
      assert.isFalse(existsSync(folderOf(web)))
      assert.isTrue(existsSync(folderOf(api)))
      // A folder is measured again after a run used it.
      yield* used(api, 3_000)
      yield* caches.sweep
      assert.deepStrictEqual(readdirSync(join(edgeHome, "caches")), [])
    })
  )

  it.live("keeps everything without limits, and follows no links when it removes", () =>
    Effect.gen(function* () {
      const unlimited = yield* open({ cacheMaxMiB: 0, retention: { days: 0, maxMiB: 0 } })
      yield* unlimited.used(api, 100)
      utimesSync(unlimited.folderOf(api), 1_000, 1_000)
      yield* unlimited.caches.sweep
      assert.isTrue(existsSync(unlimited.folderOf(api)))

      const { caches, folderOf, home, used } = yield* open({ cacheMaxMiB: 1 })
      writeFileSync(join(home, "file"), "x")
      yield* used(api, 2_000)
      symlinkSync(home, join(folderOf(api), ".cache", "home"))
      yield* caches.sweep
      assert.isFalse(existsSync(folderOf(api)))
      assert.isTrue(existsSync(join(home, "file")))
    })
  )
})
