import type { WorkspaceId } from "@corral/domain/identity/Ids"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import type { WorkspaceEntry } from "../../src/config/WorkspaceEntries.ts"
import { Workspaces } from "../../src/workspace/Workspaces.ts"
import { makeWorkspaceList, WorkspaceSource } from "../../src/workspace/WorkspaceSource.ts"
import { temporaryFolder } from "../Folder.ts"
import { configLayer } from "../Samples.ts"

const idOf = (text: string) => text as WorkspaceId

const workspacesOf = (source: WorkspaceSource, configured: ReadonlyArray<WorkspaceEntry> = []) =>
  Workspaces.layer.pipe(
    Layer.provide(Layer.succeed(WorkspaceSource, source)),
    Layer.provide(configLayer("/nowhere", { workspaces: configured })),
    Layer.fresh,
    Layer.build,
    Effect.map((services) => Context.get(services, Workspaces))
  )

const idsOf = ({ list }: Workspaces["Service"]) =>
  Effect.map(list, (found) => found.map(({ id }) => id as string))

describe("WorkspaceSource", () => {
  it.effect("adds and removes workspaces while the Edge runs, instead of the configuration's list", () =>
    Effect.gen(function* () {
      const root = yield* temporaryFolder
      mkdirSync(join(root, "api"))
      const source = makeWorkspaceList()
      const workspaces = yield* workspacesOf(source, [{ id: "configured", path: root }])
      assert.deepStrictEqual(yield* idsOf(workspaces), [])
      const refused = yield* Effect.flip(workspaces.open(idOf("api")))
      assert.strictEqual(refused.code, "workspace_outside_allowlist")
      yield* source.add({ id: "api", path: join(root, "api"), grants: ["full_access"] })
      const { modes, path } = yield* workspaces.open(idOf("api"))
      assert.strictEqual(path, join(root, "api"))
      assert.include(modes, "full_access")
      assert.strictEqual(workspaces.count(), 1)
      yield* source.remove("api")
      yield* Effect.flip(workspaces.open(idOf("api")))
      assert.strictEqual(workspaces.count(), 0)
    })
  )

  it.effect("refuses a taken id and a relative path with a sentence, and keeps the list as it was", () =>
    Effect.gen(function* () {
      const source = makeWorkspaceList([{ id: "api", path: "/src/api" }])
      for (const entry of [
        { id: "api", path: "/src/other" },
        { id: "web", path: "src/web" },
        { id: "../web", path: "/src/web" }
      ]) {
        const { _tag, message } = yield* Effect.flip(source.add(entry))
        assert.strictEqual(_tag, "WorkspaceRefused")
        assert.strictEqual(
          message,
          `The workspace "${entry.id}" needs a valid id that no other has, and an absolute path.`
        )
      }
      assert.deepStrictEqual(source.entries(), [{ id: "api", path: "/src/api" }])
    })
  )

  it.effect(
    "does not offer invalid entries, entries that share an id, or anything of a source that throws",
    () =>
      Effect.gen(function* () {
        let entries = (): ReadonlyArray<WorkspaceEntry> => [
          { id: "api", path: "/src/api" },
          { id: "web", path: "/src/web" },
          { id: "web", path: "/etc" },
          { id: "relative", path: "src" },
          { id: "a/b", path: "/src" }
        ]
        const workspaces = yield* workspacesOf({ entries: () => entries() })
        assert.deepStrictEqual(yield* idsOf(workspaces), ["api"])
        entries = () => {
          throw new Error("no list")
        }
        assert.deepStrictEqual(yield* idsOf(workspaces), [])
        entries = () => [{ id: "again", path: "/src" }]
        assert.deepStrictEqual(yield* idsOf(workspaces), ["again"])
      })
  )
})
