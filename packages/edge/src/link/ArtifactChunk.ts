/** Chunk of an artifact for one answer. */
import { type CommandSuccess, MAX_CHUNK_BYTES } from "@corral/domain/link/EdgeCommand"
import { NotFound } from "@corral/domain/errors/Failures"
import type { ArtifactId, RunId } from "@corral/domain/identity/Ids"
import { Effect, Stream } from "effect"
import type { Artifacts } from "../artifact/Artifacts.ts"

/** The chunk from `offset`; empty at or beyond the end. Artifacts of other runs are not found. */
export const readChunk = Effect.fn("ArtifactChunk.read")(function* (
  artifacts: Artifacts["Service"],
  runId: RunId,
  artifactId: ArtifactId,
  offset: number
): Effect.fn.Return<CommandSuccess<"ReadArtifact">, NotFound> {
  const { artifact, bytes } = yield* artifacts.open(artifactId)
  if (artifact.runId !== runId) return yield* new NotFound()
  const { size } = artifact
  const end = Math.min(offset + MAX_CHUNK_BYTES, size) - 1
  const parts = offset >= size ? [] : yield* Stream.runCollect(bytes({ start: offset, end }))
  return { artifact, base64: Buffer.concat([...parts]).toString("base64"), size }
})
