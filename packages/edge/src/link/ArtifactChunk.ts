/** Some bytes of an artifact, as one answer carries them. */
import { type CommandSuccess, MAX_CHUNK_BYTES } from "@corral/domain/link/EdgeCommand"
import { NotFound } from "@corral/domain/errors/Failures"
import type { ArtifactId, RunId } from "@corral/domain/identity/Ids"
import { Effect, Stream } from "effect"
import type { Artifacts } from "../artifact/Artifacts.ts"

/** From `offset` on; no bytes at the end of it and beyond. An artifact of another run is not found. */
export const readChunk = Effect.fnUntraced(function* (
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
