/**
 * Contents of artifacts that were read lately, in memory, as many as `MAX_BYTES` hold; the ones that were not asked for longest go first.
 *
 * Kept by the artifact of its target and not by its hash alone: an Edge that names a hash has not shown that it has the content.
 */
import type { Artifact } from "@corral/domain/run/Artifact"
import type { DeviceId } from "@corral/domain/identity/Ids"

export class ArtifactCache {
  private readonly kept = new Map<string, Buffer>()
  private bytes = 0

  get(targetId: DeviceId, artifact: Artifact): Buffer | undefined {
    const key = keyOf(targetId, artifact)
    const content = this.kept.get(key)
    if (content === undefined) return undefined
    this.kept.delete(key)
    this.kept.set(key, content)
    return content
  }

  /** What is too large for it is not kept. */
  put(targetId: DeviceId, artifact: Artifact, content: Buffer): void {
    const key = keyOf(targetId, artifact)
    if (!isCacheable(artifact) || this.kept.has(key)) return
    this.kept.set(key, content)
    this.bytes += content.length
    for (const [oldest, { length }] of this.kept) {
      if (this.bytes <= MAX_CACHE_BYTES) break
      this.kept.delete(oldest)
      this.bytes -= length
    }
  }
}

export const MAX_CACHE_BYTES = 64 * 1_048_576
const MAX_ENTRY = 4 * 1_048_576

/** Whether it is worth holding together while it is read. */
export const isCacheable = ({ size }: Artifact): boolean => size <= MAX_ENTRY

const keyOf = (targetId: DeviceId, { id, runId, sha256 }: Artifact): string =>
  `${targetId} ${runId} ${id} ${sha256}`
