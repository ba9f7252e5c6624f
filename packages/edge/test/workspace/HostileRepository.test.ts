/**
 * A repository that would like to run programs: none of them runs for a snapshot, or for a worktree from its start to its forced end. And a run
 * that would like to change the repository of its workspace.
 */
import type { WorkspaceId } from "@corral/domain/identity/Ids"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { spawnSync } from "node:child_process"
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync
} from "node:fs"
import { join } from "node:path"
import { Store } from "../../src/store/Store.ts"
import { Snapshots } from "../../src/workspace/Snapshots.ts"
import { Worktrees } from "../../src/workspace/Worktrees.ts"
import { canConfine } from "../confinement/CanConfine.ts"
import { users } from "../confinement/HostileRun.ts"
import { writeProgram } from "../Folder.ts"
import { configLayer, newRunId } from "../Samples.ts"
import { assertRefused, assertUnchanged } from "./HostileWorktree.ts"
import { commitAll, git, place, type Place, repository } from "./Repository.ts"
import { allAttacks, plantedRepositories } from "./RepositoryAttacks.ts"
import { runConfined } from "./RunInWorktree.ts"

const workspace = "ws" as WorkspaceId

const hooks = [
  "post-checkout",
  "post-index-change",
  "reference-transaction",
  "pre-commit",
  "post-commit",
  "pre-auto-gc",
  "fsmonitor-watchman"
]

/** Everything that a repository's files and settings can name as a program; each would write to `traces`. */
const arm = (root: string, traces: string): void => {
  const program = writeProgram(
    join(traces, "evil"),
    `echo "$@" >> '${join(traces, "ran")}'; cat 2>/dev/null || true`
  )
  writeFileSync(join(root, ".gitattributes"), "* filter=evil diff=evil merge=evil\n")
  const settings: Record<string, string> = {
    "core.fsmonitor": program,
    "core.hooksPath": join(traces, "hooks"),
    "core.sshCommand": program,
    "core.pager": program,
    "core.editor": program,
    "core.askPass": program,
    "core.gitProxy": program,
    "core.alternateRefsCommand": program,
    "credential.helper": program,
    "diff.external": program,
    "diff.evil.command": program,
    "diff.evil.textconv": program,
    "filter.evil.clean": program,
    "filter.evil.smudge": program,
    "filter.evil.process": program,
    "filter.evil.required": "true",
    "merge.evil.driver": program,
    "gpg.program": program,
    "commit.gpgSign": "true",
    "gc.auto": "1",
    "submodule.recurse": "true",
    "protocol.ext.allow": "always",
    "remote.origin.url": `ext::${program}`,
    "remote.origin.promisor": "true",
    "remote.origin.partialclonefilter": "blob:none",
    "extensions.partialClone": "origin"
  }
  const config = Object.entries(settings).map(([key, value]) => {
    const [section = "", ...rest] = key.split(".")
    const last = rest.pop() ?? ""
    return `[${section}${rest.length === 0 ? "" : ` "${rest.join(".")}"`}]\n\t${last} = ${value}\n`
  })
  writeFileSync(join(root, ".git/config"), `[core]\n\trepositoryformatversion = 1\n${config.join("")}`)
  for (const hook of hooks) {
    writeProgram(join(traces, "hooks", hook), `echo ${hook} >> '${join(traces, "ran")}'`)
    writeProgram(join(root, ".git/hooks", hook), `echo ${hook} >> '${join(traces, "ran")}'`)
  }
}

const servicesIn = ({ home }: Place) =>
  Worktrees.layer.pipe(Layer.provide(configLayer(home)), Layer.provideMerge(Store.layerMemory))

const ran = (traces: string): string =>
  existsSync(join(traces, "ran")) ? readFileSync(join(traces, "ran"), "utf8") : ""

/** A committed repository, and where its programs would leave a trace. */
const armed = Effect.map(place, (prepared) => {
  const traces = join(prepared.home, "..", "traces")
  mkdirSync(traces)
  repository(prepared.root)
  for (const name of ["a.txt", "b.txt"]) writeFileSync(join(prepared.root, name), "one\ntwo\n")
  const sub = join(prepared.root, "sub")
  mkdirSync(sub)
  repository(sub)
  writeFileSync(join(sub, "file"), "1\n")
  commitAll(sub)
  commitAll(prepared.root)
  arm(prepared.root, traces)
  arm(sub, traces)
  return { made: prepared, traces }
})

describe("A hostile repository", () => {
  it.effect("would run its programs for a person's git: the trap works", () =>
    Effect.gen(function* () {
      const { made, traces } = yield* armed
      // However it ends.
      spawnSync("git", ["status"], { cwd: made.root, stdio: "ignore", timeout: 30_000 })
      assert.notStrictEqual(ran(traces), "")
    }).pipe(Effect.scoped)
  )

  it.effect("runs nothing", () =>
    Effect.gen(function* () {
      const { made, traces } = yield* armed
      const { root } = made
      // The checkout is looked through as well: one file is changed, one only touched.
      writeFileSync(join(root, "a.txt"), "not committed\n")
      utimesSync(join(root, "b.txt"), 1, 1)
      writeFileSync(join(root, "sub/file"), "2\n")
      yield* Effect.gen(function* () {
        const worktrees = yield* Worktrees
        const runId = newRunId()
        const { row, start } = yield* worktrees.plan(runId, workspace, root)
        assert.include(start.leftOut?.paths ?? [], "a.txt")
        yield* (yield* Store).commit([row])
        yield* worktrees.make(runId, {})
        const path = worktrees.pathOf(runId)
        assert.strictEqual(readFileSync(join(path, "a.txt"), "utf8"), "one\ntwo\n")
        writeFileSync(join(path, "new.txt"), "work\n")
        writeFileSync(join(path, "a.txt"), "work\n")
        assert.deepInclude(yield* worktrees.get(runId), { uncommitted: true })
        yield* worktrees.remove(runId, true)
        assert.deepInclude(yield* worktrees.get(runId), { state: "removed" })
        // A commit that is not there would be fetched from the remote.
        rmSync(join(root, ".git/objects"), { recursive: true })
        mkdirSync(join(root, ".git/objects"))
        assert.strictEqual(
          (yield* Effect.flip(worktrees.plan(newRunId(), workspace, root))).code,
          "schema_validation_failed"
        )
      }).pipe(Effect.provide(servicesIn(made)), Effect.scoped)
      assert.strictEqual(ran(traces), "")
    }).pipe(Effect.scoped)
  )

  it.live.each([true, false])("runs nothing for a snapshot of what it lies in, repository: %s", (outer) =>
    Effect.gen(function* () {
      const { made, traces } = yield* armed
      const { home, root } = made
      for (const name of [".git", ".gitattributes"]) rmSync(join(root, name), { recursive: true })
      if (outer) {
        repository(root)
        git(root, "commit", "-q", "--allow-empty", "-m", "empty")
      }
      rmSync(join(traces, "ran"), { force: true })
      yield* Effect.gen(function* () {
        const snapshots = yield* Snapshots
        for (const n of [2, 3]) {
          const runId = newRunId()
          yield* snapshots.before(runId, root)
          // As long as it was: git has to look at the content.
          writeFileSync(join(root, "sub/file"), `${n}\n`)
          writeFileSync(join(root, "a.txt"), `${n}\n`)
          assert.strictEqual((yield* snapshots.after(runId, root)).files, 2)
        }
      }).pipe(Effect.provide(Layer.provide(Snapshots.layer, configLayer(home))))
      assert.strictEqual(ran(traces), "")
    }).pipe(Effect.scoped)
  )

  it.effect("is refused where its parts lie elsewhere", () =>
    Effect.gen(function* () {
      const created = yield* place
      const elsewhere = join(created.home, "..", "elsewhere")
      mkdirSync(elsewhere)
      repository(elsewhere)
      writeFileSync(join(elsewhere, "secret"), "of another\n")
      commitAll(elsewhere)
      const at = join(created.root, ".git")
      const disguises: ReadonlyArray<() => void> = [
        () => symlinkSync(join(elsewhere, ".git"), at),
        () => writeFileSync(at, `gitdir: ${join(elsewhere, ".git")}\n`),
        ...["objects", "refs", "refs/heads", "worktrees"].map((part) => () => {
          repository(created.root)
          writeFileSync(join(created.root, "a"), "1\n")
          commitAll(created.root)
          rmSync(join(at, part), { recursive: true, force: true })
          symlinkSync(join(elsewhere, ".git", part === "worktrees" ? "." : part), join(at, part))
        }),
        () => {
          repository(created.root)
          writeFileSync(join(at, "commondir"), join(elsewhere, ".git"))
        }
      ]
      const seen = () =>
        [git(elsewhere, "for-each-ref"), ...readdirSync(elsewhere, { recursive: true })].toSorted()
      const before = seen()
      yield* Effect.gen(function* () {
        const worktrees = yield* Worktrees
        for (const disguise of disguises) {
          rmSync(at, { recursive: true, force: true })
          disguise()
          const failure = yield* Effect.flip(worktrees.plan(newRunId(), workspace, created.root))
          if (failure._tag !== "SchemaValidationFailed") return assert.fail(failure.message)
          assert.strictEqual(failure.details?.issues[0]?.path, "isolation")
          assert.notInclude(JSON.stringify(failure), created.root)
        }
      }).pipe(Effect.provide(servicesIn(created)), Effect.scoped)
      assert.deepStrictEqual(seen(), before)
    }).pipe(Effect.scoped)
  )
})

describe.skipIf(!canConfine)("A hostile run in a worktree", () => {
  for (const [who, user] of users)
    it.live(`changes nothing of the workspace's repository, as ${who}`, () =>
      assertUnchanged((owned, runId) => runConfined(owned, runId, allAttacks, user))
    )

  // The soak test has all of them.
  const planted = Object.entries(plantedRepositories).filter((_, at) => at % 4 === 0)
  it.live.each(planted)("leaves %s: none of it arrives", ([what, script]) => assertRefused(what, script))
})
