/** Repositories that a run makes in a folder without one: all is reported, and none of them leads to the objects of another one. */
import { assert, describe, it } from "@effect/vitest"
import type { WorkspaceId } from "@corral/domain/identity/Ids"
import { Effect, Layer } from "effect"
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { removeLeftLists, RepositoryWatch } from "../../src/confinement/RepositoryWatch.ts"
import { Store } from "../../src/store/Store.ts"
import { Worktrees } from "../../src/workspace/Worktrees.ts"
import { RepositoryRecord } from "../../src/confinement/RepositoryRecord.ts"
import { gitFolderOf, objectFoldersOf } from "../../src/workspace/WorkspaceRepository.ts"
import { openFolder } from "../Folder.ts"
import { configLayer, newRunId, request, runIdOf } from "../Samples.ts"
import { commitAll, git, sampleRepository } from "../workspace/Repository.ts"

interface NewRepository {
  readonly root: string
  readonly home: string
  /** The `.git` of another workspace. */
  readonly foreign: string
  readonly watch: RepositoryWatch
}

const started = (): NewRepository => {
  const folder = openFolder()
  const [home, root, other] = [join(folder, "home"), join(folder, "work"), join(folder, "other")]
  for (const each of [root, other]) mkdirSync(each)
  sampleRepository(other)
  const watch = new RepositoryWatch(root, new RepositoryRecord(home, runIdOf(1)))
  watch.start()
  return { root, home, foreign: join(other, ".git"), watch }
}

const write = (path: string, content: string): void => {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
}

/** Ways to name another repository. */
const plants: Readonly<Record<string, (place: NewRepository) => string>> = {
  "a list of further objects": ({ foreign, root }) => {
    git(root, "init", "-q")
    write(join(root, ".git/objects/info/alternates"), `${foreign}/objects\n`)
    return "objects/info/alternates"
  },
  "a relative list": ({ root }) => {
    git(root, "init", "-q")
    write(join(root, ".git/objects/info/alternates"), "../../../other/.git/objects\n")
    return "objects/info/alternates"
  },
  "a clone": ({ foreign, root }) => {
    git(root, "clone", "-q", "--shared", foreign, ".")
    return "objects/info/alternates"
  },
  "a list that is a link": ({ foreign, root }) => {
    git(root, "init", "-q")
    symlinkSync(join(foreign, "list"), join(root, ".git/objects/info/alternates"))
    return "objects/info/alternates"
  },
  "a list of addresses": ({ foreign, root }) => {
    git(root, "init", "-q")
    write(join(root, ".git/objects/info/http-alternates"), `${foreign}/objects\n`)
    return "objects/info/http-alternates"
  },
  "a common folder": ({ foreign, root }) => {
    git(root, "init", "-q")
    write(join(root, ".git/commondir"), `${foreign}\n`)
    return "commondir"
  },
  "a file that leads there": ({ foreign, root }) => {
    write(join(root, ".git"), `gitdir: ${foreign}\n`)
    return ".git"
  },
  "a link": ({ foreign, root }) => {
    symlinkSync(foreign, join(root, ".git"))
    return ".git"
  },
  "a linked worktree": ({ foreign, root }) => {
    write(join(root, ".git"), `gitdir: ${foreign}/worktrees/work\n`)
    return ".git"
  },
  "a folder of objects": ({ foreign, root }) => {
    git(root, "init", "-q")
    rmSync(join(root, ".git/objects"), { recursive: true })
    symlinkSync(join(foreign, "objects"), join(root, ".git/objects"))
    return "objects"
  }
}

describe("A repository that a run has made", () => {
  it.each(Object.entries(plants))("is reported with %s, which leads nowhere afterwards", (_, plant) => {
    const place = started()
    const name = plant(place)
    const found = place.watch.compare(true)
    assert.include(
      (found?.files ?? []).map(({ path }) => path),
      name
    )
    const foreign = join(place.foreign, "objects")
    // Nothing else has a worktree.
    if (gitFolderOf(place.root)?.inside === true)
      assert.notInclude(
        objectFoldersOf(join(place.root, ".git")).map(({ real }) => real),
        foreign
      )
    assert.deepStrictEqual(
      place.watch.compare(true)?.files,
      found?.files,
      "a repeated comparison finds the same"
    )
    assert.isTrue(existsSync(join(foreign, "info")), "the other repository is as before")
    git(dirname(place.foreign), "fsck", "--strict")
  })

  it("loses its list of further objects although the command was approved", () => {
    const place = started()
    const approved = request({ action: "shell", command: "git clone --shared ../other ." })
    place.watch.allow(approved, { decision: "allow", scope: "run" })
    git(place.root, "clone", "-q", "--shared", place.foreign, ".")
    assert.isUndefined(place.watch.compare(false), "the command explains it while the run is live")
    assert.deepStrictEqual(place.watch.compare(true), {
      refs: [],
      count: 0,
      files: [{ path: "objects/info/alternates", change: "created", discarded: true }],
      fileCount: 1
    })
    assert.isFalse(existsSync(join(place.root, ".git/objects/info/alternates")))
  })

  it.effect("has no worktree while it borrows objects and its run is live, and has one afterwards", () =>
    Effect.gen(function* () {
      const { foreign, home, root, watch } = started()
      git(root, "clone", "-q", "--shared", foreign, ".")
      const worktrees = yield* Effect.provide(
        Worktrees,
        Worktrees.layer.pipe(
          Layer.provide(configLayer(home, { environment: { PATH: process.env.PATH ?? "" } })),
          Layer.provide(Store.layerMemory)
        )
      )
      const plan = worktrees.plan(newRunId(), "ws" as WorkspaceId, root)
      assert.strictEqual((yield* Effect.flip(plan)).code, "schema_validation_failed")
      removeLeftLists(home, new Set([runIdOf(1)]))
      assert.strictEqual((yield* Effect.flip(plan)).code, "schema_validation_failed", "the run is live")
      assert.isDefined(watch.compare(true))
      rmSync(join(root, ".git"), { recursive: true })
      sampleRepository(root)
      yield* plan
      watch.close()
      yield* plan
    }).pipe(Effect.scoped)
  )

  it("loses its list at the next start if the Edge was killed, and if no other run is live", () => {
    const { foreign, home, root } = started()
    const list = join(root, ".git/objects/info/alternates")
    git(root, "clone", "-q", "--shared", foreign, ".")
    removeLeftLists(home, new Set([runIdOf(1)]))
    assert.isTrue(existsSync(list))
    removeLeftLists(home, new Set([runIdOf(2)]))
    assert.isFalse(existsSync(list))
    writeFileSync(list, `${foreign}/objects\n`)
    removeLeftLists(home, new Set())
    assert.isTrue(existsSync(list), "a person has written it since")
  })

  it("keeps its own objects, and an approved one is not reported", () => {
    const { root, watch } = started()
    watch.allow(request({ action: "shell", command: "git init" }), { decision: "allow", scope: "once" })
    sampleRepository(root)
    assert.isUndefined(watch.compare(true))
    git(root, "fsck", "--strict")
  })

  it.effect("is not put back, with a sentence that says why", () =>
    Effect.gen(function* () {
      const { home, root, watch } = started()
      sampleRepository(root)
      assert.isDefined(watch.compare(true))
      const failure = yield* Effect.flip(new RepositoryRecord(home, runIdOf(1)).restore("git"))
      assert.deepInclude(failure, { code: "conflict", details: { reason: "repository_made" } })
      commitAll(root)
    })
  )

  it("is one that exists when its list was there before", () => {
    const folder = openFolder()
    const [root, other] = [join(folder, "work"), join(folder, "other")]
    for (const each of [root, other]) mkdirSync(each)
    sampleRepository(other)
    git(root, "clone", "-q", "--shared", join(other, ".git"), ".")
    const list = readFileSync(join(root, ".git/objects/info/alternates"), "utf8")
    const watch = new RepositoryWatch(root)
    watch.start()
    assert.isUndefined(watch.compare(true))
    assert.strictEqual(readFileSync(join(root, ".git/objects/info/alternates"), "utf8"), list)
  })
})
