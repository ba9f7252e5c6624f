/**
 * Contents of artifacts, read piece by piece from the Edge that has them.
 *
 * Which artifacts a run has is the Edge's word, asked for each time; that a content is the one that was named is checked here, before its
 * last piece is given. A stream that fails in the middle is to be cut: what came of it is not the artifact.
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
import { createHash, type Hash } from "node:crypto"
import { ArtifactCache, isCacheable } from "./ArtifactCache.ts"
import { EdgeRouter } from "./EdgeRouter.ts"

type Refused = Overloaded | PermissionDenied | SqlError.SqlError | TargetOffline

export interface RelayedArtifact {
  readonly artifact: Artifact
  readonly bytes: Stream.Stream<Uint8Array, Refused>
}

export class ArtifactContents extends Context.Service<
  ArtifactContents,
  {
    /** Succeeds when the first piece is there. `mayGoOn` is asked before each further one. */
    readonly open: (
      run: { readonly id: RunId; readonly targetId: DeviceId },
      artifactId: ArtifactId,
      mayGoOn: Effect.Effect<boolean, SqlError.SqlError>
    ) => Effect.Effect<RelayedArtifact, PayloadTooLarge | Refused>
  }
>()("corral/hub/ArtifactContents") {
  static readonly layer = Layer.effect(
    ArtifactContents,
    Effect.gen(function* () {
      const router = yield* EdgeRouter
      const cache = new ArtifactCache()

      return ArtifactContents.of({
        open: Effect.fnUntraced(function* ({ id: runId, targetId }, artifactId, mayGoOn) {
          const artifacts = yield* router.listArtifacts(targetId, { runId })
          const artifact = artifacts.find(({ id }) => id === artifactId)
          if (artifact === undefined) return yield* new PermissionDenied()
          if (artifact.size > MAX_RELAYED_ARTIFACT_BYTES) return yield* new PayloadTooLarge()
          const known = cache.get(targetId, artifact)
          if (known !== undefined) return { artifact, bytes: Stream.make(known) }
          if (artifact.size === 0) return { artifact, bytes: Stream.empty }

          const hash = createHash("sha256")
          const parts: Array<Buffer> = []
          const read = Effect.fnUntraced(function* (offset: number) {
            const { base64, size } = yield* router.readArtifact(targetId, { runId, artifactId, offset })
            const part = Buffer.from(base64, "base64")
            const end = offset + part.length
            if (part.length === 0 || size !== artifact.size || end > size) return yield* broken(artifact)
            hash.update(part)
            if (isCacheable(artifact)) parts.push(part)
            if (end === size) {
              if (!isOf(artifact, hash)) return yield* broken(artifact)
              cache.put(targetId, artifact, Buffer.concat(parts))
            }
            return { part, end }
          })

          const first = yield* read(0)
          const rest = Stream.paginate(first.end, (offset) =>
            Effect.gen(function* () {
              if (offset === artifact.size) return [[], Option.none<number>()] as const
              if (!(yield* mayGoOn)) return yield* new PermissionDenied()
              const { end, part } = yield* read(offset)
              return [[part], Option.some(end)] as const
            })
          )
          return { artifact, bytes: Stream.concat(Stream.make<Array<Uint8Array>>(first.part), rest) }
        })
      })
    })
  )
}

/** A larger one is left where it is. */
export const MAX_RELAYED_ARTIFACT_BYTES = 50 * 1_048_576

const isOf = ({ sha256 }: Artifact, hash: Hash): boolean => hash.digest("hex") === sha256

/** An Edge that gives something else than what it named. */
const broken = ({ id }: Artifact) =>
  Effect.die(new Error(`The Edge does not give the content of ${id} as it named it.`))
