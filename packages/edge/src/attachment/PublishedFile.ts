/**
 * A file of a run's folder that a tool of the owner publishes as an artifact.
 *
 * Guarantees: what is stored is read from one opened file inside the folder. Files of git and files that hold credentials are refused.
 */
import { NotFound, Overloaded, PayloadTooLarge } from "@corral/domain/errors/Failures"
import type { RunId } from "@corral/domain/identity/Ids"
import type { PublishArtifact } from "@corral/domain/run/Artifact"
import { Clock, Effect } from "effect"
import { read } from "node:fs"
import { basename } from "node:path"
import { promisify } from "node:util"
import { type FileFailure, fileMediaType, openInside } from "../workspace/WorkspaceFiles.ts"
import { type Artifacts, MAX_ARTIFACT_BYTES, type StoredArtifact } from "../artifact/Artifacts.ts"

const readInto = promisify(read)

/** Reads as many bytes as the file had when it was opened, fewer if it has shrunk. */
const readAll = async (descriptor: number, size: number): Promise<Buffer> => {
  const bytes = Buffer.alloc(size)
  let at = 0
  while (at < size) {
    const { bytesRead } = await readInto(descriptor, bytes, at, size - at, at)
    if (bytesRead === 0) break
    at += bytesRead
  }
  return bytes.subarray(0, at)
}

/** Stores the content. It is an artifact once the run has committed its row. `root`: real path of the run's folder. */
export const storeFile = Effect.fn("PublishedFile.storeFile")(function* (
  artifacts: Artifacts["Service"],
  runId: RunId,
  root: string,
  { mediaType, name, path }: PublishArtifact
): Effect.fn.Return<StoredArtifact, FileFailure | PayloadTooLarge | Overloaded> {
  const content = yield* openInside(root, path).pipe(
    Effect.flatMap(({ descriptor, stats }): Effect.Effect<Buffer, NotFound | PayloadTooLarge> => {
      if (!stats.isFile()) return Effect.fail(new NotFound({ message: "The path is not a file." }))
      return stats.size > MAX_ARTIFACT_BYTES
        ? Effect.fail(new PayloadTooLarge({ message: "The file is larger than 50 MiB." }))
        : // A started read is completed: the file closes after it.
          Effect.uninterruptible(
            Effect.tryPromise({ try: () => readAll(descriptor, stats.size), catch: () => new NotFound() })
          )
    }),
    Effect.scoped
  )
  const createdAt = new Date(yield* Clock.currentTimeMillis).toISOString()
  const artifact = {
    runId,
    name: name ?? basename(path),
    mediaType: mediaType ?? fileMediaType(path, content)
  }
  return yield* artifacts
    .store({ ...artifact, content, createdAt })
    .pipe(
      Effect.mapError(({ message, reason }) =>
        reason === "too_large" ? new PayloadTooLarge({ message }) : new Overloaded({ message })
      )
    )
})
