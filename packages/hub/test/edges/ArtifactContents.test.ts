import { assert, describe, it } from "@effect/vitest"
import type { Artifact } from "@corral/domain/run/Artifact"
import { PayloadTooLarge, PermissionDenied } from "@corral/domain/errors/Failures"
import type { ArtifactId, DeviceId, RunId } from "@corral/domain/identity/Ids"
import { Effect, Exit, Layer, Stream } from "effect"
import { createHash } from "node:crypto"
import { ArtifactContents, MAX_RELAYED_ARTIFACT_BYTES } from "../../src/edges/ArtifactContents.ts"
import { EdgeRouter } from "../../src/edges/EdgeRouter.ts"

const run = { id: "run_1" as RunId, targetId: "dev_1" as DeviceId }
const CHUNK = 1_000

const artifactOf = (content: Buffer, change: Partial<Artifact> = {}): Artifact => ({
  id: "art_1" as ArtifactId,
  runId: run.id,
  name: "report.txt",
  mediaType: "text/plain",
  size: content.length,
  sha256: createHash("sha256").update(content).digest("hex"),
  createdAt: "2026-11-21T12:00:00.000Z",
  ...change
})

/** An Edge with that one artifact, and the offsets that it was asked for. */
const edgeWith = (artifact: Artifact, content: Buffer) => {
  const offsets: Array<number> = []
  const never = () => Effect.die("not asked here")
  const router = Layer.succeed(EdgeRouter, {
    checkOffer: never,
    start: never,
    cancel: never,
    changePause: never,
    sendInput: never,
    decide: never,
    answerInput: never,
    finish: never,
    readDiff: never,
    readChanges: never,
    readChangedFile: never,
    decideChanges: never,
    undoChanges: never,
    discardChanges: never,
    openPreview: never,
    listFiles: never,
    readFile: never,
    findFiles: never,
    listPresets: never,
    changePreset: never,
    listArtifacts: () => Effect.succeed([artifact]),
    readArtifact: (_, { offset }) => {
      offsets.push(offset)
      const base64 = content.subarray(offset, offset + CHUNK).toString("base64")
      return Effect.succeed({ artifact, base64, size: content.length })
    }
  })
  return { offsets, layer: ArtifactContents.layer.pipe(Layer.provide(router)) }
}

const open = (id = "art_1", mayGoOn: Effect.Effect<boolean> = Effect.succeed(true)) =>
  Effect.flatMap(ArtifactContents, (contents) => contents.open(run, id as ArtifactId, mayGoOn))
const bytesOf = (id?: string, mayGoOn?: Effect.Effect<boolean>) =>
  Effect.flatMap(open(id, mayGoOn), ({ bytes }) => Effect.map(Stream.runCollect(bytes), Buffer.concat))

const content = Buffer.from(Array.from({ length: 2_500 }, (_, i) => i % 251))

describe("ArtifactContents", () => {
  it.effect("streams the whole content in pieces, and caches it", () => {
    const { layer, offsets } = edgeWith(artifactOf(content), content)
    return Effect.gen(function* () {
      assert.isTrue((yield* bytesOf()).equals(content))
      assert.isTrue((yield* bytesOf()).equals(content))
      assert.deepStrictEqual(offsets, [0, 1_000, 2_000])
    }).pipe(Effect.provide(layer))
  })

  it.effect("serves an empty artifact without reading from the Edge", () => {
    const { layer, offsets } = edgeWith(artifactOf(Buffer.alloc(0)), Buffer.alloc(0))
    return Effect.gen(function* () {
      assert.strictEqual((yield* bytesOf()).length, 0)
      assert.deepStrictEqual(offsets, [])
    }).pipe(Effect.provide(layer))
  })

  it.effect("refuses artifacts that the run does not have or that are too large", () =>
    Effect.gen(function* () {
      const { layer } = edgeWith(artifactOf(content), content)
      assert.instanceOf(yield* Effect.flip(open("art_2")).pipe(Effect.provide(layer)), PermissionDenied)
      const large = edgeWith(artifactOf(content, { size: MAX_RELAYED_ARTIFACT_BYTES + 1 }), content)
      assert.instanceOf(yield* Effect.flip(open()).pipe(Effect.provide(large.layer)), PayloadTooLarge)
    })
  )

  it.effect("fails when the reader loses access during the stream", () => {
    const { layer, offsets } = edgeWith(artifactOf(content), content)
    return Effect.gen(function* () {
      const denied = yield* Effect.flip(
        bytesOf(
          "art_1",
          Effect.sync(() => offsets.length < 2)
        )
      )
      assert.instanceOf(denied, PermissionDenied)
      assert.deepStrictEqual(offsets, [0, 1_000])
    }).pipe(Effect.provide(layer))
  })

  it.each([
    ["another hash", { sha256: "0".repeat(64) }, content],
    ["another size", { size: 2_400 }, content],
    ["less than it named", { size: 2_501 }, content]
  ] as const)("gives no last piece of what has %s, and keeps nothing of it", (_, change, content) => {
    const { layer, offsets } = edgeWith(artifactOf(content, change), content)
    const taken: Array<number> = []
    const reading = Effect.flatMap(open(), ({ bytes }) =>
      Stream.runForEach(bytes, (part) => Effect.sync(() => taken.push(part.length)))
    )
    return Effect.gen(function* () {
      assert.isTrue(Exit.isFailure(yield* Effect.exit(reading)))
      assert.isBelow(
        taken.reduce((sum, length) => sum + length, 0),
        content.length
      )
      const offsetCount = offsets.length
      yield* Effect.exit(reading)
      assert.strictEqual(offsets.length, 2 * offsetCount)
    }).pipe(Effect.provide(layer), Effect.runPromise)
  })
})
