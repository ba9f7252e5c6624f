import type { WorkspaceId } from "@corral/domain/identity/Ids"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { mkdirSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { WorkspaceEntry } from "../../src/config/WorkspaceEntries.ts"
import { Workspaces } from "../../src/workspace/Workspaces.ts"
import { temporaryFolder } from "../Folder.ts"
import { configLayer } from "../Samples.ts"

const withWorkspaces = <A, E, R>(
  workspaces: ReadonlyArray<WorkspaceEntry>,
  use: (service: Workspaces["Service"]) => Effect.Effect<A, E, R>
) =>
  Effect.flatMap(Workspaces, use).pipe(
    Effect.provide(Layer.provide(Workspaces.layer, configLayer("/nowhere", { workspaces })))
  )

const id = (text: string) => text as WorkspaceId
const careful = ["read_only", "plan", "ask", "auto_edit"]

describe("Workspaces", () => {
  it.effect("opens what is on the list by its id, as its real path", () =>
    Effect.gen(function* () {
      const root = yield* temporaryFolder
      const real = join(root, "real")
      mkdirSync(join(real, "inner"), { recursive: true })
      symlinkSync(real, join(root, "link"))
      const listed = [
        { id: "real", path: real },
        { id: "link", path: join(root, "link", "inner", "..") },
        { id: "trusted", path: real, grants: ["full_access"] as const },
        { id: "settings", path: real, grants: ["project_settings"] as const }
      ]
      yield* withWorkspaces(listed, ({ open }) =>
        Effect.gen(function* () {
          const ignored = {
            path: real,
            modes: careful,
            projectSettings: "ignored",
            isolation: undefined,
            allowsCopy: false
          }
          assert.deepStrictEqual(yield* open(id("real")), ignored as never) // modes by name
          const enabled = { ...ignored, projectSettings: "enabled" }
          assert.deepStrictEqual(yield* open(id("settings")), enabled as never) // the same
          assert.strictEqual((yield* open(id("link"))).path, real)
          assert.deepStrictEqual((yield* open(id("trusted"))).modes, [...careful, "full_access"] as never) // the same
        })
      )
    })
  )

  it.effect("opens nothing else, under any name", () =>
    Effect.gen(function* () {
      const root = yield* temporaryFolder
      const names = ["other", root, "..", ".", "/", "api/", "API", "api\0", "__proto__", "constructor", ""]
      yield* withWorkspaces([{ id: "api", path: root }], ({ open }) =>
        Effect.forEach(names, (name) =>
          Effect.map(Effect.flip(open(id(name))), ({ code }) =>
            assert.strictEqual(code, "workspace_outside_allowlist", name)
          )
        )
      )
    })
  )

  it.effect("opens no folder that is gone, and no file", () =>
    Effect.gen(function* () {
      const root = yield* temporaryFolder
      writeFileSync(join(root, "file"), "")
      symlinkSync(join(root, "nothing"), join(root, "dangling"))
      symlinkSync(join(root, "loop"), join(root, "loop"))
      const names = ["gone", "file", "dangling", "loop"]
      const listed = names.map((name) => ({ id: name, path: join(root, name) }))
      yield* withWorkspaces(listed, ({ open, list }) =>
        Effect.gen(function* () {
          for (const name of names) yield* Effect.flip(open(id(name)))
          assert.deepStrictEqual(
            (yield* list).map(({ available }) => available),
            [false, false, false, false]
          )
        })
      )
    })
  )

  it.effect("sees a link that was moved, and a folder that came back", () =>
    Effect.gen(function* () {
      const root = yield* temporaryFolder
      const [one, two, link] = [join(root, "one"), join(root, "two"), join(root, "link")]
      mkdirSync(one)
      mkdirSync(two)
      symlinkSync(one, link)
      yield* withWorkspaces([{ id: "link", path: link }], ({ open }) =>
        Effect.gen(function* () {
          assert.strictEqual((yield* open(id("link"))).path, one)
          unlinkSync(link)
          symlinkSync(two, link)
          assert.strictEqual((yield* open(id("link"))).path, two)
          rmSync(two, { recursive: true })
          yield* Effect.flip(open(id("link")))
          mkdirSync(two)
          assert.strictEqual((yield* open(id("link"))).path, two)
        })
      )
    })
  )

  it.effect("lists what is there, in the order of the list, and keeps the paths to itself", () =>
    Effect.gen(function* () {
      const root = yield* temporaryFolder
      mkdirSync(join(root, "web", ".git"), { recursive: true })
      const listed = [
        { id: "web", path: join(root, "web"), grants: ["full_access"] as const },
        { id: "gone", path: join(root, "gone") },
        { id: "all", path: root }
      ]
      yield* withWorkspaces(listed, ({ list }) =>
        Effect.map(list, (found) => {
          assert.deepStrictEqual(JSON.parse(JSON.stringify(found)), [
            { id: "web", name: "web", modes: [...careful, "full_access"], git: true, available: true },
            { id: "gone", name: "gone", modes: careful, git: false, available: false },
            { id: "all", name: root.split("/").at(-1), modes: careful, git: false, available: true }
          ])
          assert.notInclude(JSON.stringify(found), `${root}/`)
        })
      )
    })
  )
})
