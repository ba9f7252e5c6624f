/**
 * Contents of artifacts, read piece by piece from the Edge that has them. The latest contents are in a bounded cache in memory.
 *
 * Guarantees: the last piece is emitted only after the whole content matches the artifact's hash. A stream that fails halfway is not the
 * artifact, and its consumer must discard it.
 * Does not store which artifacts a run has; the Edge is asked each time.
 */
import type { Artifact } from "@corral/domain/run/Artifact"
import {
  type Overloaded,
  PayloadTooLarge,
  PermissionDenied,
  type TargetOffline
} from "@corral/domain/errors/Failures"
import type { ArtifactId, DeviceId, RunId } from "@corral/domain/identity/Ids"
import { Context, Effect, Layer, Option, Stream } from "effect"
import type { SqlError } from "effect/sql"
import { type Hash, createHash } from "node:crypto"
import { EdgeRouter } from "./EdgeRouter.ts"

// In-memory cache of artifact contents. Holds up to `MAX_CACHE_BYTES`; the least recently used content is evicted first.
//
// The key is the artifact of its target, not the hash alone: an Edge that names a hash has not shown that it has the content.

export class ArtifactCache {
  private readonly contents = new Map<string, Buffer>()
  private bytes = 0

  get(targetId: DeviceId, artifact: Artifact): Buffer | undefined {
    const key = keyOf(targetId, artifact)
    const content = this.contents.get(key)
    if (content === undefined) return undefined
    this.contents.delete(key)
    this.contents.set(key, content)
    return content
  }

  /** Ignores artifacts that are too large for the cache. */
  put(targetId: DeviceId, artifact: Artifact, content: Buffer): void {
    const key = keyOf(targetId, artifact)
    if (!isCacheable(artifact) || this.contents.has(key)) return
    this.contents.set(key, content)
    this.bytes += content.length
    for (const [oldest, { length }] of this.contents) {
      if (this.bytes <= MAX_CACHE_BYTES) break
      this.contents.delete(oldest)
      this.bytes -= length
    }
  }
}

export const MAX_CACHE_BYTES = 64 * 1_048_576
const MAX_ENTRY_BYTES = 4 * 1_048_576

/** Whether the content is small enough to be collected while it is read. */
export const isCacheable = ({ size }: Artifact): boolean => size <= MAX_ENTRY_BYTES

const keyOf = (targetId: DeviceId, { id, runId, sha256 }: Artifact): string =>
  `${targetId} ${runId} ${id} ${sha256}`

type ReadFailure = Overloaded | PermissionDenied | SqlError.SqlError | TargetOffline

/** Artifact of an Edge that the Hub passes on. */
export interface RelayedArtifact {
  readonly artifact: Artifact
  readonly bytes: Stream.Stream<Uint8Array, ReadFailure>
}

interface ArtifactRun {
  readonly id: RunId
  readonly targetId: DeviceId
}

export class ArtifactContents extends Context.Service<
  ArtifactContents,
  {
    /** Succeeds with the first piece. `mayContinue` is evaluated before each later piece. */
    readonly open: (
      run: ArtifactRun,
      artifactId: ArtifactId,
      mayContinue: Effect.Effect<boolean, SqlError.SqlError>
    ) => Effect.Effect<RelayedArtifact, PayloadTooLarge | ReadFailure>
  }
>()("corral/hub/ArtifactContents") {
  static readonly layer = Layer.effect(
    ArtifactContents,
    Effect.gen(function* () {
      const router = yield* EdgeRouter
      const cache = new ArtifactCache()

      return ArtifactContents.of({
        open: Effect.fn("ArtifactContents.open")(function* (run, artifactId, mayContinue) {
          const { id: runId, targetId } = run
          const artifacts = yield* router.listArtifacts(targetId, { runId })
          const artifact = artifacts.find(({ id }) => id === artifactId)
          if (artifact === undefined) return yield* new PermissionDenied()
          if (artifact.size > MAX_RELAYED_ARTIFACT_BYTES) return yield* new PayloadTooLarge()
          const cached = cache.get(targetId, artifact)
          if (cached !== undefined) return { artifact, bytes: Stream.make(cached) }
          if (artifact.size === 0) return { artifact, bytes: Stream.empty }

          const readPiece = pieceReader(router, cache, run, artifact)
          const first = yield* readPiece(0)
          const rest = Stream.paginate(first.end, (offset) =>
            Effect.gen(function* () {
              if (offset === artifact.size) return [[], Option.none<number>()] as const
              if (!(yield* mayContinue)) return yield* new PermissionDenied()
              const { end, piece } = yield* readPiece(offset)
              return [[piece], Option.some(end)] as const
            })
          )
          return { artifact, bytes: Stream.concat(Stream.make<Array<Uint8Array>>(first.piece), rest) }
        })
      })
    })
  )
}

/** Larger artifacts stay on their Edge. */
export const MAX_RELAYED_ARTIFACT_BYTES = 50 * 1_048_576

/** Reader of consecutive pieces. Hashes them, and caches the content once it is whole. */
const pieceReader = (
  router: EdgeRouter["Service"],
  cache: ArtifactCache,
  { id: runId, targetId }: ArtifactRun,
  artifact: Artifact
) => {
  const hash = createHash("sha256")
  const pieces: Array<Buffer> = []
  return Effect.fnUntraced(function* (offset: number) {
    const { base64, size } = yield* router.readArtifact(targetId, { runId, artifactId: artifact.id, offset })
    const piece = Buffer.from(base64, "base64")
    const end = offset + piece.length
    if (piece.length === 0 || size !== artifact.size || end > size) return yield* contentMismatch(artifact)
    hash.update(piece)
    if (isCacheable(artifact)) pieces.push(piece)
    if (end === size) {
      if (!hasHash(artifact, hash)) return yield* contentMismatch(artifact)
      cache.put(targetId, artifact, Buffer.concat(pieces))
    }
    return { piece, end }
  })
}

const hasHash = ({ sha256 }: Artifact, hash: Hash): boolean => hash.digest("hex") === sha256

const contentMismatch = ({ id }: Artifact) =>
  Effect.die(new Error(`The content of ${id} does not match the artifact that its Edge listed.`))
