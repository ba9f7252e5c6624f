/** Memory that a protocol holds after output without end: one line at most, however much came before it. */
import { MAX_LINE_BYTES } from "@corral/adapters/text/Lines"
import type { Protocol, RuntimeAdapter, RunStart } from "@corral/domain/run/RuntimeAdapter"
import { Buffer } from "node:buffer"
import { getHeapStatistics, setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { catching, type Finding, findingsOf } from "./Rules.ts"

setFlagsFromString("--expose-gc")
const collect: unknown = runInNewContext("gc")

/** Bytes that this thread uses: at least what it holds. */
const usedBytes = (): number => {
  const { external_memory, used_heap_size } = getHeapStatistics()
  return external_memory + used_heap_size
}

/** Bytes that this thread holds, after a collection of the others. Memory outside the heap is released after a collection: the next one waits for it, also a minor one. */
const held = (): number => {
  if (typeof collect === "function") {
    collect()
    collect({ type: "minor" })
  }
  return usedBytes()
}

const READS = 320
const READ_BYTES = 65_536
/** A line at its limit, its copy as text, and what a collection leaves. */
const LIMIT = 1.75 * MAX_LINE_BYTES

const endless = Buffer.alloc(READ_BYTES, '{"type":"')
const lines = Buffer.alloc(READ_BYTES, `{"type":"corral_conformance","text":"${"x".repeat(460)}"}\n`)

/** Bytes held since then, or an upper bound below the limit. A collection takes many times as long as the reads between two of them. */
const heldSince = (before: number): number => {
  const most = usedBytes() - before
  if (most < LIMIT) return most
  if (typeof collect === "function") collect({ type: "minor" })
  const fewer = usedBytes() - before
  return fewer < LIMIT ? fewer : held() - before
}

/** 20 MiB in reads. The most that was held: a little below the limit of a line, and long after. */
const mostHeld = (protocol: Protocol, read: Uint8Array, before: number): number => {
  let most = 0
  for (let at = 1; at <= READS; at++) {
    protocol.step(read)
    if (at === 120 || at === READS - 4) most = Math.max(most, heldSince(before))
  }
  // Alive until here.
  protocol.cancel()
  return most
}

export const memoryFindings = (adapter: RuntimeAdapter, start: RunStart): ReadonlyArray<Finding> =>
  catching("throws", "20 MiB of output", () => {
    const before = held()
    return findingsOf(
      "memory",
      (
        [
          ["without a line end", endless],
          ["of unknown lines", lines]
        ] as const
      ).flatMap(([name, read]) => {
        const most = mostHeld(adapter.protocol(start), read, before)
        return most < LIMIT ? [] : [`it holds ${Math.round(most / 1e6)} MB after 20 MiB ${name}`]
      })
    )
  })
