/** Artifacts on a real store and a real disk: durable before told, each content once, nothing lost to a crash or to another run. */
import { assert, describe, it } from "@effect/vitest"
import type { RunId } from "@corral/domain/identity/Ids"
import { Effect, Layer, Stream } from "effect"
import { createHash } from "node:crypto"
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync
} from "node:fs"
import { join } from "node:path"
import {
  Artifacts,
  type ArtifactOptions,
  type NewArtifact,
  MAX_ARTIFACT_BYTES
} from "../../src/artifact/Artifacts.ts"
import { Store } from "../../src/store/Store.ts"
import { temporaryFolder } from "../Folder.ts"
import { at, runIdOf } from "../Samples.ts"

const create = (content: string | Uint8Array, more: Partial<NewArtifact> = {}): NewArtifact => ({
  runId: runIdOf(1),
  name: "report.txt",
  mediaType: "text/plain",
  content,
  createdAt: at,
  ...more
})

const sha256 = (content: string | Uint8Array) => createHash("sha256").update(content).digest("hex")

/** One start of an Edge's artifacts in that home. */
const started = (home: string, more: Partial<ArtifactOptions> = {}) =>
  Artifacts.layer({ home, minFreeBytes: 0, ...more }).pipe(
    Layer.provideMerge(Store.layer(join(home, "edge.db")))
  )

const keep = Effect.fnUntraced(function* (content: string | Uint8Array, more: Partial<NewArtifact> = {}) {
  const { artifact, row } = yield* (yield* Artifacts).store(create(content, more))
  yield* (yield* Store).commit([row])
  return artifact
})

const bytesOf = Effect.fnUntraced(function* (id: Parameters<Artifacts["Service"]["open"]>[0]) {
  const { bytes } = yield* (yield* Artifacts).open(id)
  return Buffer.concat(yield* Stream.runCollect(bytes()))
})

const contentsIn = (home: string): ReadonlyArray<string> =>
  readdirSync(join(home, "artifacts"))
    .flatMap((folder) => readdirSync(join(home, "artifacts", folder)))
    .sort()

/** As if it had been written an hour ago. */
const age = (home: string, hash: string): void => {
  const hourAgo = new Date(Date.now() - 3_600_000)
  utimesSync(join(home, "artifacts", hash.slice(0, 2), hash), hourAgo, hourAgo)
}

const inHome = <A, E>(test: (home: string) => Effect.Effect<A, E>) =>
  Effect.scoped(Effect.flatMap(temporaryFolder, test))

describe("Artifacts", () => {
  it.live("keep text and bytes with their size and hash, in private files", () =>
    inHome((home) =>
      Effect.gen(function* () {
        const artifacts = yield* Artifacts
        const bytes = new Uint8Array(3_000_000).map((_, i) => i * 7)
        for (const content of ["grüße\n", "", bytes]) {
          const whole = Buffer.from(content)
          const artifact = yield* keep(content)
          assert.match(artifact.id, /^art_/)
          assert.deepStrictEqual(artifact, {
            id: artifact.id,
            runId: runIdOf(1),
            name: "report.txt",
            mediaType: "text/plain",
            size: whole.length,
            sha256: sha256(whole),
            createdAt: at
          })
          assert.deepStrictEqual(yield* artifacts.get(artifact.id), artifact)
          assert.isTrue((yield* bytesOf(artifact.id)).equals(whole))
          const file = join(home, "artifacts", artifact.sha256.slice(0, 2), artifact.sha256)
          assert.strictEqual(statSync(file).mode & 0o777, 0o600)
          assert.strictEqual(statSync(join(file, "..")).mode & 0o777, 0o700)
        }
      }).pipe(Effect.provide(started(home)))
    )
  )

  it.live("give parts of a content", () =>
    inHome((home) =>
      Effect.gen(function* () {
        const { id } = yield* keep("0123456789")
        const { bytes } = yield* (yield* Artifacts).open(id)
        const part = Buffer.concat(yield* Stream.runCollect(bytes({ start: 3, end: 5 })))
        assert.strictEqual(part.toString(), "345")
      }).pipe(Effect.provide(started(home)))
    )
  )

  it.live("hold the same content once, also where it is kept twice at once", () =>
    inHome((home) =>
      Effect.gen(function* () {
        const all = yield* Effect.forEach([1, 2, 3, 4], () => keep("same"), { concurrency: "unbounded" })
        assert.strictEqual(new Set(all.map(({ id }) => id)).size, 4)
        assert.deepStrictEqual(contentsIn(home), [sha256("same")])
      }).pipe(Effect.provide(started(home)))
    )
  )

  it.live("write a content again that is there in part", () =>
    inHome((home) =>
      Effect.gen(function* () {
        const hash = sha256("whole")
        mkdirSync(join(home, "artifacts", hash.slice(0, 2)))
        writeFileSync(join(home, "artifacts", hash.slice(0, 2), hash), "who")
        const { id } = yield* keep("whole")
        assert.strictEqual((yield* bytesOf(id)).toString(), "whole")
      }).pipe(Effect.provide(started(home)))
    )
  )

  it.live("page through a run's own, oldest first", () =>
    inHome((home) =>
      Effect.gen(function* () {
        const artifacts = yield* Artifacts
        const ids: Array<string> = []
        for (let n = 0; n < 7; n++) ids.push((yield* keep(`${n}`)).id)
        yield* keep("of another", { runId: runIdOf(2) })
        ids.sort()
        const seen: Array<string> = []
        for (let after: string | undefined; ; after = seen.at(-1)) {
          const page = artifacts.page(runIdOf(1), after, 3)
          if (page.length === 0) break
          seen.push(...page.map(({ id }) => id))
        }
        assert.deepStrictEqual(seen, ids)
        assert.deepStrictEqual(artifacts.page(runIdOf(3), undefined, 10), [])
      }).pipe(Effect.provide(started(home)))
    )
  )

  it.live("refuse what is too large or what the disk has no room for, and leave nothing behind", () =>
    inHome((home) =>
      Effect.gen(function* () {
        const reasonOf = (content: Uint8Array) =>
          Effect.match(keep(content), {
            onSuccess: () => "kept",
            onFailure: (error) => ("reason" in error ? error.reason : "store")
          })
        const large = new Uint8Array(MAX_ARTIFACT_BYTES + 1)
        assert.strictEqual(yield* reasonOf(large).pipe(Effect.provide(started(home))), "too_large")
        const full = started(home, { minFreeBytes: 2 ** 60 })
        assert.strictEqual(yield* reasonOf(new Uint8Array(1)).pipe(Effect.provide(full)), "disk_full")
        assert.deepStrictEqual(contentsIn(home), [])
        const broken = Effect.gen(function* () {
          rmSync(join(home, "artifacts"), { recursive: true })
          writeFileSync(join(home, "artifacts"), "")
          return yield* reasonOf(new Uint8Array(1))
        })
        assert.strictEqual(yield* broken.pipe(Effect.provide(started(home))), "failed")
      })
    )
  )

  it.live("have plain names and media types, regardless of what a runtime calls them", () =>
    inHome((home) =>
      Effect.gen(function* () {
        const names: ReadonlyArray<readonly [string, string]> = [
          ["../../etc/passwd", ".. .. etc passwd"],
          ["a\r\nSet-Cookie: x", "a Set-Cookie: x"],
          ["exe\u202Egnp.txt", "exe gnp.txt"],
          ["", "artifact"],
          ["..", "artifact"],
          ["字".repeat(1_000), "字".repeat(200)],
          ["\ud83d", "\ufffd"]
        ]
        for (const [name, plain] of names) assert.strictEqual((yield* keep("x", { name })).name, plain)
        const types: ReadonlyArray<readonly [string, string]> = [
          ["text/html; charset=utf-8", "text/html; charset=utf-8"],
          ["image/svg+xml", "image/svg+xml"],
          ["text/html\r\nX: y", "application/octet-stream"],
          ["", "application/octet-stream"]
        ]
        for (const [mediaType, plain] of types)
          assert.strictEqual((yield* keep("x", { mediaType })).mediaType, plain)
      }).pipe(Effect.provide(started(home)))
    )
  )

  it.live("are there after a restart, and contents that a crash left without a row are swept", () =>
    inHome((home) =>
      Effect.gen(function* () {
        const stored = yield* keep("kept").pipe(Effect.provide(started(home)))
        yield* Effect.flatMap(Artifacts, (artifacts) => artifacts.store(create("its row never came"))).pipe(
          Effect.provide(started(home))
        )
        writeFileSync(join(home, "artifacts", "incoming", "half"), "ha")
        assert.include(contentsIn(home), sha256("its row never came"))
        // Asked for in the very millisecond of the start it would be spared, as one on its way.
        age(home, sha256("its row never came"))
        yield* Effect.gen(function* () {
          yield* Effect.repeat(Effect.yieldNow, { until: () => contentsIn(home).length === 1 })
          assert.deepStrictEqual(contentsIn(home), [stored.sha256])
          assert.strictEqual((yield* bytesOf(stored.id)).toString(), "kept")
        }).pipe(Effect.provide(started(home)))
      })
    )
  )

  it.live(
    "are forgotten with their run, but for contents that another run names or that are on their way",
    () =>
      inHome((home) =>
        Effect.gen(function* () {
          const artifacts = yield* Artifacts
          const [one, two]: ReadonlyArray<RunId> = [runIdOf(1), runIdOf(2)]
          assert(one !== undefined && two !== undefined)
          const ofRun = yield* keep("own", { runId: one })
          const shared = yield* keep("shared", { runId: one })
          const other = yield* keep("shared", { runId: two })
          const again = yield* keep("again", { runId: one })
          for (const { sha256 } of [ofRun, shared, again]) age(home, sha256)
          const onItsWay = yield* artifacts.store(create("again", { runId: two }))
          yield* artifacts.forgetRun(one)
          assert.strictEqual((yield* Effect.flip(artifacts.get(ofRun.id)))._tag, "NotFound")
          assert.deepStrictEqual(artifacts.page(one, undefined, 10), [])
          assert.isFalse(existsSync(join(home, "artifacts", ofRun.sha256.slice(0, 2), ofRun.sha256)))
          assert.strictEqual((yield* bytesOf(other.id)).toString(), "shared")
          yield* (yield* Store).commit([onItsWay.row])
          assert.strictEqual((yield* bytesOf(onItsWay.artifact.id)).toString(), "again")
          yield* artifacts.forgetRun(one)
        }).pipe(Effect.provide(started(home)))
      )
  )

  it.live("are not found after their content was removed", () =>
    inHome((home) =>
      Effect.gen(function* () {
        const { id, sha256 } = yield* keep("gone")
        const file = join(home, "artifacts", sha256.slice(0, 2), sha256)
        assert.strictEqual(readFileSync(file, "utf8"), "gone")
        rmSync(file)
        assert.strictEqual((yield* Effect.flip((yield* Artifacts).open(id)))._tag, "NotFound")
      }).pipe(Effect.provide(started(home)))
    )
  )
})
