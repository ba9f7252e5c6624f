/** Bytes between two sockets, at the pace of the slower one. */
import { Effect } from "effect"
import type { Duplex } from "node:stream"

/** Connects two sockets. When one closes, the other closes too. */
export const carryBytes = (client: Duplex, upstream: Duplex): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const end = () => resume(Effect.void)
    upstream.on("error", end)
    upstream.once("close", end)
    client.once("close", end)
    client.pipe(upstream)
    upstream.pipe(client)
    return Effect.void
  }).pipe(
    Effect.ensuring(
      Effect.sync(() => {
        upstream.destroy()
        client.destroy()
      })
    )
  )
