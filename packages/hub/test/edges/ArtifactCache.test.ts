import { assert, describe, it } from "@effect/vitest"
import type { Artifact } from "@corral/domain/run/Artifact"
import type { ArtifactId, DeviceId, RunId } from "@corral/domain/identity/Ids"
import { ArtifactCache, MAX_CACHE_BYTES } from "../../src/edges/ArtifactContents.ts"

const MEBIBYTE = 1_048_576
const target = "dev_1" as DeviceId
const artifact = (n: number, size = 2 * MEBIBYTE): Artifact => ({
  id: `art_${n}` as ArtifactId,
  runId: "run_1" as RunId,
  name: "a",
  mediaType: "text/plain",
  size,
  sha256: "0".repeat(64),
  createdAt: "2026-11-21T12:00:00.000Z"
})

describe("ArtifactCache", () => {
  it("evicts the least recently used content beyond its limit", () => {
    const cache = new ArtifactCache()
    const most = MAX_CACHE_BYTES / (2 * MEBIBYTE)
    for (let n = 0; n < most; n++) cache.put(target, artifact(n), Buffer.alloc(2 * MEBIBYTE))
    assert.isDefined(cache.get(target, artifact(0)))
    cache.put(target, artifact(most), Buffer.alloc(2 * MEBIBYTE))
    assert.isUndefined(cache.get(target, artifact(1)))
    for (const n of [0, 2, most]) assert.isDefined(cache.get(target, artifact(n)), `${n}`)
  })

  it("separates targets that name the same hash, and ignores large contents", () => {
    const cache = new ArtifactCache()
    cache.put(target, artifact(1), Buffer.alloc(1))
    assert.isUndefined(cache.get("dev_2" as DeviceId, artifact(1)))
    assert.isUndefined(cache.get(target, artifact(2)))
    cache.put(target, artifact(3, 5 * MEBIBYTE), Buffer.alloc(1))
    assert.isUndefined(cache.get(target, artifact(3, 5 * MEBIBYTE)))
  })
})
