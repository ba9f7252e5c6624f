/**
 * In-memory cache of artifact contents. Holds up to `MAX_CACHE_BYTES`; the least recently used content is evicted first.
 *
 * The key is the artifact of its target, not the hash alone: an Edge that names a hash has not shown that it has the content.
 */
import type { Artifact } from "@corral/domain/run/Artifact"
import type { DeviceId } from "@corral/domain/identity/Ids"

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
