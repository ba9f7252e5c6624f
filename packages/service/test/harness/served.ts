/** A service that waits, to be started as a process: it says when it is ready, and when it was taken down. */
import { Effect, Layer } from "effect"
import { runService } from "../../src/runService.ts"

const waiting = Effect.acquireRelease(
  Effect.sync(() => setInterval(() => undefined, 60_000)),
  (timer) =>
    Effect.sync(() => {
      clearInterval(timer)
      process.stdout.write("taken down\n")
    })
)

runService(Layer.effectDiscard(waiting), Effect.succeed({ ready: true, pid: process.pid }))
